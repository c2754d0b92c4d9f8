import { html } from "../../vendor/preact.js";
import { Icon } from "./icon.js";

/** @type {Record<string, string>} */
export const shapes = { good: "circle-check", warn: "triangle-alert", bad: "circle-alert", quiet: "circle-dashed", busy: "loader-circle" };

// State tells a state by shape, word and colour.
/** @param {{of: string, icon?: string, children?: any}} props */
export const State = ({ of, icon = shapes[of], children }) => html`<span class=${`state ${of}`}><${Icon} name=${icon} small spin=${of === "busy"} /><span>${children}</span></span>`;
