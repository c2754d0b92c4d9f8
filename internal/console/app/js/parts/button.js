import { html } from "../../vendor/preact.js";
import { Icon } from "./icon.js";

// Button: kind is primary, quiet, danger or nothing, and "round" beside it. With an icon
// alone it needs a label; with words, a label says more than they do, and has them in it.
// More properties go to the element.
/** @param {{icon?: string, flip?: boolean, kind?: string, label?: string, children?: any, [more: string]: any}} props */
export function Button({ icon, flip, kind = "", label, children, ...more }) {
  const alone = icon && !hasText(children);
  return html`<button type="button" class=${`button ${kind}${alone ? " icononly" : ""}`} aria-label=${label ?? null} title=${label ?? null} ...${more}>
    ${icon && html`<${Icon} name=${icon} small flip=${flip} />`}${children}
  </button>`;
}

/** @param {any} children */
const hasText = (children) => (Array.isArray(children) ? children.length > 0 : Boolean(children));
