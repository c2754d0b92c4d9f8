import { html } from "../../vendor/preact.js";
import { Icon } from "./icon.js";
import { shapes } from "./state.js";

// Notice is a sentence across a view: of is warn, bad, good or nothing.
/** @param {{of?: string, icon?: string, children?: any}} props */
export const Notice = ({ of = "", icon = shapes[of] ?? "info", children }) => html`<div class=${`notice ${of}`} role=${of === "bad" ? "alert" : null}><${Icon} name=${icon} small /><div class="grow">${children}</div></div>`;
