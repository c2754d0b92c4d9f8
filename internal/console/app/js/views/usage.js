// Usage: what answers used, by day, model, person and conversation.

import { html, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { Empty } from "../parts/empty.js";
import { Segments } from "../parts/segments.js";
import { Table } from "../parts/table.js";
import { View } from "../parts/view.js";
import { cost, number, t } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").UsageReport} UsageReport */
/** @typedef {import("../../../../../docs/openapi.js").UsedRow} UsedRow */

export function Usage() {
  const [by, choose] = useState("day");
  const usage = useLoad(() => get("statistics/usage", { by, limit: 100 }), [by], ["turn_done"], 5000);
  const choices = /** @type {[string, string][]} */ ([["day", t("By day")], ["model", t("By model")], ["person", t("By person")], ["chat", t("By conversation")]]);
  return html`<${View} title=${t("Usage")} of=${usage} say=${t("Costs come from the prices in your configuration, or from the provider. Without either there are tokens only.")}
    tools=${html`<${Segments} label=${t("Rows")} of=${choices} value=${by} set=${choose} />`}>
    ${(/** @type {UsageReport} */ report) => report.total.turns === 0
      ? html`<${Empty} icon="wallet" title=${t("Nothing was used yet")}>${t("After the first answer you see tokens and costs here, by day, model, person and conversation.")}<//>`
      : html`<${Figures} of=${report} /><${Rows} of=${report} title=${choices.find(([value]) => value === by)?.[1] ?? ""} />`}
  <//>`;
}

/** @param {{of: UsageReport}} props */
function Figures({ of: { total, from, to } }) {
  const figures = [[t("Answers"), number(total.turns)], [t("Tokens in"), number(total.input)], [t("Tokens out"), number(total.output)], [t("Cost"), total.cost ? cost(total.cost) : "–"]];
  return html`<section><header><h2>${t("{0} to {1}", from.slice(0, 10), to.slice(0, 10))}</h2></header>
    <div class="figures">${figures.map(([name, value]) => html`<div class="figure"><b>${value}</b><span class="meta">${name}</span></div>`)}</div></section>`;
}

/** @param {{of: UsageReport, title: string}} props */
function Rows({ of: { rows, others }, title }) {
  const all = others ? [...rows, { ...others, name: t("All others") }] : rows;
  const count = (/** @type {string} */ name, /** @type {(row: UsedRow) => number | undefined} */ pick) => ({ title: name, kind: "num", label: true, cell: (/** @type {UsedRow} */ r) => number(pick(r) ?? 0) });
  const columns = [
    { title, kind: "wide", cell: (/** @type {UsedRow} */ r) => html`<b dir="auto">${r.name || t("unknown")}</b>` },
    count(t("Answers"), (r) => r.turns), count(t("Tokens in"), (r) => r.input), count(t("From the cache"), (r) => r.cached), count(t("Tokens out"), (r) => r.output), count(t("Calls of tools"), (r) => r.tool_calls),
    { title: t("Cost"), kind: "num", label: true, cell: (/** @type {UsedRow} */ r) => (r.cost ? cost(r.cost) : "–") },
  ];
  return html`<section><header><h2>${title}</h2></header><${Table} label=${title} columns=${columns} rows=${all} name=${(/** @type {UsedRow} */ r) => r.name} /></section>`;
}
