// Settings: what dragoman check finds, and every setting with its value and origin. The file
// is the place to change it; this view never does.

import { html, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { Empty } from "../parts/empty.js";
import { Search } from "../parts/search.js";
import { Table } from "../parts/table.js";
import { View } from "../parts/view.js";
import { t } from "../text.js";
import { Findings } from "./findings.js";

/** @typedef {import("../../../../../docs/openapi.js").Configuration} Configuration */
/** @typedef {import("../../../../../docs/openapi.js").SettingNow} SettingNow */

export function Settings() {
  const settings = useLoad(() => get("settings"), [], ["settings_change"]);
  return html`<${View} title=${t("Settings")} of=${settings} say=${t("What is in force, and where it comes from. The file is the place to change it; this page never writes it.")}
    tools=${html`<a class="button" href="/first">${t("First steps")}</a>`}>
    ${(/** @type {Configuration} */ c) => html`<${Findings} of=${c} /><${Values} of=${c} />`}
  <//>`;
}

/** @param {{of: Configuration}} props */
function Values({ of: c }) {
  const [words, look] = useState("");
  const rows = c.settings.filter((s) => `${s.path} ${s.value}`.toLowerCase().includes(words.toLowerCase()));
  const origins = /** @type {Record<string, string>} */ ({ file: t("file"), environment: t("environment"), default: t("default") });
  const columns = [
    { title: t("Setting"), kind: "wide", cell: (/** @type {SettingNow} */ s) => html`<bdi class="mono" dir="ltr">${s.path}</bdi>` },
    { title: t("Value"), kind: "wide", cell: (/** @type {SettingNow} */ s) => html`<bdi class="mono" dir="ltr">${s.value}</bdi>${c.restart.includes(s.path) && html` <span class="chip">${t("needs a restart")}</span>`}` },
    { title: t("From"), cell: (/** @type {SettingNow} */ s) => html`<span class="soft">${origins[s.source] ?? s.source}${s.line ? `, ${t("line {0}", s.line)}` : ""}</span>` },
  ];
  return html`<section><header><h2>${t("Values")}</h2></header>
    <${Search} label=${t("Search the settings")} value=${words} onInput=${(/** @type {any} */ e) => look(e.currentTarget.value)} />
    ${rows.length ? html`<${Table} label=${t("Settings")} columns=${columns} rows=${rows} name=${(/** @type {SettingNow} */ s) => s.path} />` : html`<${Empty} icon="settings" title=${t("Nothing found")}>${t("No setting has these words.")}<//>`}
  </section>`;
}
