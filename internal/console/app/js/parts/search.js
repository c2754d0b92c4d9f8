import { html } from "../../vendor/preact.js";
import { Icon } from "./icon.js";

// Search is a box whose label is its placeholder. More properties go to the input.
/** @param {{label: string, [more: string]: any}} props */
export const Search = ({ label, ...more }) => html`<label class="search"><span class="unseen">${label}</span><${Icon} name="search" small /><input class="input" type="search" placeholder=${label} ...${more} /></label>`;
