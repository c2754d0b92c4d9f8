import { html } from "../../vendor/preact.js";
import { Icon } from "./icon.js";

// Empty says what will be here, and what to do.
/** @param {{icon: string, title: string, children?: any, actions?: any}} props */
export const Empty = ({ icon, title, children, actions }) => html`<div class="empty"><${Icon} name=${icon} /><h2>${title}</h2><p>${children}</p>${actions && html`<div class="actions">${actions}</div>`}</div>`;
