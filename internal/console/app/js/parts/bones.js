import { html } from "../../vendor/preact.js";
import { t } from "../text.js";

// Bones are the shape of rows that are on their way.
/** @param {{of?: number}} props */
export const Bones = ({ of = 6 }) => html`<div class="bones" role="status" aria-label=${t("Loading")}>
  ${Array.from({ length: of }, () => html`<div class="bonerow"><div class="bone round" /><div class="bone" /><div class="bone short" /></div>`)}
</div>`;
