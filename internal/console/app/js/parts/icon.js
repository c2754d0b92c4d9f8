import { html } from "../../vendor/preact.js";

const sprite = new URL("../../icons.svg", import.meta.url).pathname;

// Icon is a shape of the sprite. Without a label it is decoration.
/** @param {{name: string, small?: boolean, flip?: boolean, spin?: boolean, label?: string}} props */
export function Icon({ name, small, flip, spin, label }) {
  const classes = ["icon", small && "small", flip && "flip", spin && "spin"].filter(Boolean).join(" ");
  return html`<svg class=${classes} aria-hidden=${label ? null : "true"} role=${label ? "img" : null} aria-label=${label}><use href=${`${sprite}#${name}`} /></svg>`;
}
