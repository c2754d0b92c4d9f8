// Usage and budgets: what answers used, by day, model, person, conversation and job.

import { html, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { Bars, daysFrom, parted } from "../bars.js";
import { useLoad } from "../load.js";
import { Button } from "../parts/button.js";
import { Conversation } from "../parts/conversation.js";
import { Empty } from "../parts/empty.js";
import { Segments } from "../parts/segments.js";
import { Table } from "../parts/table.js";
import { View } from "../parts/view.js";
import { useStore } from "../store.js";
import { may } from "../talk.js";
import { cost, number, t } from "../text.js";
import { Budgets } from "./budgets.js";
import { nameOf } from "./whose.js";

/** @typedef {import("../../../../../docs/openapi.js").UsageReport} UsageReport */
/** @typedef {import("../../../../../docs/openapi.js").UsedRow} UsedRow */
/** @typedef {import("../../../../../docs/openapi.js").Used} Used */
/** @typedef {import("../../../../../docs/openapi.js").Budget} Budget */
/** @typedef {{report: UsageReport, today: Used, budgets: Budget[], names: Record<string, string>}} Loaded */

const pageSize = 50;
const iso = (/** @type {Date} */ at) => `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, "0")}-${String(at.getDate()).padStart(2, "0")}`;

// rangeOf is the first day of a range that ends today.
/** @param {string} range */
function rangeOf(range) {
  const at = new Date();
  if (range === "month") at.setDate(1);
  else at.setDate(at.getDate() - Number(range) + 1);
  return iso(at);
}

// read asks for as many pages of rows as are shown, for the budgets, and for the names of people.
/**
 * @param {string} by
 * @param {string} range
 * @param {number} pages
 * @returns {Promise<Loaded>}
 */
async function read(by, range, pages) {
  const query = { by, from: rangeOf(range), days: by !== "day", limit: pageSize };
  const [report, days, budgets, known] = await Promise.all([
    get("statistics/usage", query),
    get("statistics/usage", { by: "day", from: iso(new Date()) }),
    get("statistics/budgets", { limit: 100 }),
    may("operate") ? get("people", { limit: 200 }).catch(() => ({ data: [] })) : { data: [] }, // only operators see who they are
  ]);
  for (let n = 1; n < pages && report.next; n++) {
    const page = await get("statistics/usage", { ...query, after: report.next });
    Object.assign(report, { rows: [...report.rows, ...page.rows], next: page.next, others: page.others });
  }
  const names = Object.fromEntries(known.data.map((/** @type {any} */ p) => [p.id, p.name || (p.id === "operator" ? t("Whoever runs Dragoman") : p.identities.join(", "))]));
  return { report, today: days.total, budgets: budgets.data, names };
}

export function Usage() {
  const money = useStore((s) => s.me?.scope === "operate" || s.me?.scope === "admin");
  useStore((s) => s.names); // the bars name people and conversations, which may be known later
  useStore((s) => s.list.rows);
  const [by, choose] = useState("model");
  const [range, span] = useState("month");
  const [shown, show] = useState({ about: "", pages: 1 });
  const about = `${by} ${range}`;
  const pages = shown.about === about ? shown.pages : 1;
  const usage = useLoad(() => read(by, range, pages), [by, range, pages], ["turn_done"], 5000);
  const kinds = /** @type {[string, string][]} */ ([["day", t("By day")], ["model", t("By model")], ["person", t("By person")], ["chat", t("By conversation")], ["job", t("By job")]]);
  const ranges = /** @type {[string, string][]} */ ([["7", t("7 days")], ["30", t("30 days")], ["month", t("This month")]]);
  return html`<${View} title=${t("Usage and budgets")} of=${usage} say=${money ? t("Costs are in the currency of the prices in your configuration. Without prices they are what the provider says, as OpenRouter does in US dollars, or there are tokens only.") : t("Costs are for those who run Dragoman.")}
    tools=${html`<${Segments} label=${t("Time")} of=${ranges} value=${range} set=${span} />`}>
    ${(/** @type {Loaded} */ { report, today, budgets, names }) => html`
      <${Figures} of=${report.total} today=${today} money=${money} />
      <${Budgets} of=${budgets} names=${names} money=${money} />
      ${report.total.turns === 0 && !report.rows.length
        ? html`<${Empty} icon="wallet" title=${t("Nothing was used yet")}>${t("After the first answer you see tokens and costs here, by day, model, person and conversation.")}<//>`
        : html`<section><header><h2 class="grow">${kinds.find(([kind]) => kind === by)?.[1]}</h2><${Segments} label=${t("Rows")} of=${kinds} value=${by} set=${choose} /></header>
          <${Days} of=${report} by=${by} names=${names} money=${money} />
          <${Rows} of=${report} by=${by} names=${names} money=${money} />
          ${report.next && html`<p class="rowline"><${Button} onClick=${() => show({ about, pages: pages + 1 })}>${t("More")}<//></p>`}</section>`}`}
  <//>`;
}

/** @param {Used} used */
const tokens = (used) => used.input + used.output;

/** @param {{of: Used, today: Used, money: boolean}} props */
function Figures({ of: total, today, money }) {
  const priced = money && total.cost;
  const cached = total.input ? Math.round(((total.cached ?? 0) / total.input) * 100) : 0;
  const figures = [
    priced ? [t("Cost"), cost(total.cost ?? 0)] : [t("Tokens"), number(tokens(total))],
    priced ? [t("Today"), cost(today.cost ?? 0)] : [t("Tokens today"), number(tokens(today))],
    [t("Answers"), number(total.turns)], [t("From the cache"), t("{0} %", cached)],
  ];
  return html`<div class="figures">${figures.map(([name, value]) => html`<div class="figure"><b>${value}</b><span class="meta">${name}</span></div>`)}</div>`;
}

/** @param {{of: UsageReport, by: string, names: Record<string, string>, money: boolean}} props */
function Days({ of: report, by, names, money }) {
  const priced = money && report.total.cost;
  const pick = (/** @type {Used} */ used) => (priced ? used.cost ?? 0 : tokens(used));
  const days = daysFrom(report.from, report.to, report.since);
  const rows = by === "day" ? [{ name: "", days: report.rows.map((r) => ({ ...r, day: r.name })) }] : report.rows.map((r) => ({ ...r, name: by === "chat" ? nameOf(r.name) : names[r.name] ?? r.name }));
  const said = (/** @type {string} */ day) => new Date(`${day}T00:00`).toLocaleDateString(document.documentElement.lang, { day: "numeric", month: "short" });
  return html`<${Bars} title=${priced ? t("Cost by day") : t("Tokens by day")} days=${days} parts=${parted(rows, days, pick)} said=${said} slots=${Math.max(days.length, daysFrom(report.from, report.to).length)}
    shown=${(/** @type {number} */ v) => (priced ? cost(v) : number(Math.round(v)))} />`;
}

/** @param {{of: UsageReport, by: string, names: Record<string, string>, money: boolean}} props */
function Rows({ of: { rows, others }, by, names, money }) {
  const all = others ? [...rows, { ...others, name: "" }] : rows;
  const name = (/** @type {UsedRow} */ r) => {
    if (by === "chat" && r.name) return html`<b><${Conversation} of=${r.name} link /></b>`;
    const text = names[r.name] || r.name || t("All others");
    const to = r.name && by === "person" && money ? `/people/${encodeURIComponent(r.name)}` : "";
    return to ? html`<b><a href=${to} dir="auto">${text}</a></b>` : html`<b dir="auto">${text}</b>`;
  };
  const count = (/** @type {string} */ title, /** @type {(row: UsedRow) => number | undefined} */ pick) => ({ title, kind: "num", label: true, cell: (/** @type {UsedRow} */ r) => number(pick(r) ?? 0) });
  const columns = [
    { title: t("Name"), kind: "wide", cell: name },
    count(t("Answers"), (r) => r.turns), count(t("Tokens in"), (r) => r.input),
    { title: t("From the cache"), kind: "num", label: true, cell: (/** @type {UsedRow} */ r) => t("{0} %", r.input ? Math.round(((r.cached ?? 0) / r.input) * 100) : 0) },
    count(t("Tokens out"), (r) => r.output), count(t("Calls of tools"), (r) => r.tool_calls),
    ...(money ? [{ title: t("Cost"), kind: "num", label: true, cell: (/** @type {UsedRow} */ r) => (r.cost ? cost(r.cost) : "–") }] : []),
  ];
  return html`<${Table} label=${t("Usage")} columns=${columns} rows=${all} name=${(/** @type {UsedRow} */ r) => r.name} />`;
}
