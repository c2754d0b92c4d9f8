// What dragoman check finds in the configuration.

import { html } from "../../vendor/preact.js";
import { Notice } from "../parts/notice.js";
import { English } from "../parts/said.js";
import { t } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").Configuration} Configuration */
/** @typedef {import("../../../../../docs/openapi.js").Finding} Finding */

/** @param {{of: Configuration}} props */
export const Findings = ({ of: c }) => html`<section><header><h2 class="grow">${t("Findings")}</h2><span class="meta">${c.file ? html`<bdi dir="ltr">${c.file}</bdi>` : t("the built-in defaults")}</span></header><div class="stack">
  ${c.refused_reload && html`<${Notice} of="bad"><b>${t("A newer file was not taken.")}</b> ${c.refused_reload.why.map((why) => html`<br /><${English}>${why}<//>`)}<//>`}
  ${c.warnings.map((f) => html`<${Notice} of="warn"><b class="mono">${place(f)}</b> <${English}>${f.what}${f.want && html`<br />${f.want}`}<//><//>`)}
  ${!c.refused_reload && c.warnings.length === 0 && html`<${Notice} of="good">${t("The file is fine.")}<//>`}
</div></section>`;

/** @param {Finding} f */
const place = (f) => [f.path, f.line && t("line {0}", f.line)].filter(Boolean).join(", ");
