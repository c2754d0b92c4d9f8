import { html } from "../../vendor/preact.js";

const border = 4; // the light edge that scanners need, in modules

// QR is a code in black on white, whatever the page's colours, with the same whole number
// of pixels for each module. room is how wide it may be.
/** @param {{of: {size: number, path: string}, label: string, room: number}} props */
export function QR({ of: { size, path }, label, room }) {
  const whole = size + 2 * border;
  const side = Math.max(3, Math.floor(room / whole)) * whole;
  return html`<svg class="qr" viewBox=${`${-border} ${-border} ${whole} ${whole}`} width=${side} height=${side} role="img" aria-label=${label} shape-rendering="crispEdges">
    <rect x=${-border} y=${-border} width=${whole} height=${whole} fill="#fff" /><path d=${path} fill="#000" /></svg>`;
}
