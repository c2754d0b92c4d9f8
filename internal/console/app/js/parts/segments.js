import { html } from "../../vendor/preact.js";

// Segments are a few choices of which one is chosen: of is [value, text] for each.
/** @param {{label: string, of: [string, string][], value: string, set: (value: string) => void}} props */
export const Segments = ({ label, of, value, set }) => html`<div class="segments" role="group" aria-label=${label}>
  ${of.map(([one, text]) => html`<button type="button" aria-pressed=${String(one === value)} onClick=${() => set(one)}>${text}</button>`)}
</div>`;
