import { html } from "../../vendor/preact.js";
import { styled } from "../styled.js";
import { t } from "../text.js";

styled("meter");

// Meter is how much of something is used: share is 1 for all of it.
/** @param {{name: string, share: number, children?: any}} props */
export function Meter({ name, share, children }) {
  const used = Math.round(share * 100);
  const state = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "";
  return html`<div class=${`meter ${state}`}>
    <div><span dir="auto">${name}</span><span class="soft num">${t("{0} %", used)}</span></div>
    <svg role="img" aria-label=${`${name}: ${t("{0} %", used)}`} preserveAspectRatio="none"><rect width=${`${Math.min(100, used)}%`} height="100%" /></svg>
    <span class="meta">${children}</span></div>`;
}
