// Health: a sentence, what was checked, and the last hour in plots.

import { html, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { network } from "../parts/avatar.js";
import { Icon } from "../parts/icon.js";
import { Said } from "../parts/said.js";
import { Segments } from "../parts/segments.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { View } from "../parts/view.js";
import { Plot, leading } from "../plot.js";
import { clock, number, plural, since, size, t, took } from "../text.js";
import { TokensByDay } from "./tokensbyday.js";

/** @typedef {import("../../../../../docs/openapi.js").HealthReport} HealthReport */
/** @typedef {import("../../../../../docs/openapi.js").Status} Status */
/** @typedef {import("../../../../../docs/openapi.js").NodeFigures} NodeFigures */
/** @typedef {import("../../../../../docs/openapi.js").Feature} Feature */
/** @typedef {{name: string, state: string, says: any, to?: string}} Check */

export function Health() {
  const health = useLoad(() => get("health"), [], ["measured", "channel_failed", "channel_back", "channel_change", "model_down", "model_back", "delivery_dead", "settings_change"]);
  const [minutes, setMinutes] = useState("60");
  const ranges = /** @type {[string, string][]} */ ([["15", t("15 minutes")], ["60", t("1 hour")]]);
  return html`<${View} title=${t("Health")} of=${health} tools=${html`<${Segments} label=${t("Time")} of=${ranges} value=${minutes} set=${setMinutes} />`}>
    ${(/** @type {HealthReport} */ report) => html`<${Report} of=${report} minutes=${Number(minutes)} />`}
  <//>`;
}

/** @param {{of: HealthReport, minutes: number}} props */
function Report({ of: { status, nodes, every_seconds: every }, minutes }) {
  const checks = checked(status);
  const bad = checks.filter((c) => c.state !== "good");
  const columns = [
    { title: t("State"), cell: (/** @type {Check} */ c) => html`<${State} of=${c.state}>${c.name}<//>` },
    { title: t("Finding"), kind: "wide", cell: (/** @type {Check} */ c) => html`${c.says}${c.to && html` <a href=${c.to}>${t("Open")}</a>`}` },
  ];
  return html`<div class=${bad.length ? "headline warn" : "headline good"}><${Icon} name=${bad.length ? "triangle-alert" : "circle-check"} />
      <div><h2>${bad.length === 0 ? t("All is well") : bad.length === 1 ? t("It works, but one thing needs you") : t("It works, but {0} things need you", bad.length)}</h2>
      <ul class="soft">${bad.map((c) => html`<li>${c.name}: ${c.says}</li>`)}</ul></div></div>
    ${nodes.map((node) => html`<${Hour} of=${node} every=${every} minutes=${minutes} started=${status.started} />`)}
    <${TokensByDay} />
    <section><header><h2>${t("Checks")}</h2></header><${Table} label=${t("Checks")} columns=${columns} rows=${checks} name=${(/** @type {Check} */ c) => c.name} /></section>
    <${Features} of=${status.features ?? []} />`;
}

// checked is what the daemon says of itself, one line a subject.
/**
 * @param {Status} s
 * @returns {Check[]}
 */
function checked(s) {
  const lines = [];
  lines.push({ name: t("Model"), state: s.model_trouble ? "bad" : "good", says: s.model_trouble ? html`<${Said} of=${s.model_trouble.why} />` : s.model || t("It answers.") });
  for (const [name, c] of Object.entries(s.channels ?? {})) {
    const good = c.state === "connected";
    lines.push({ name: t(network(name)[1]), state: good || c.unused ? "good" : c.state === "down" ? "bad" : "warn", says: good ? t("Connected for {0}.", since(c.since)) : html`<${Said} of=${c.detail || c.reason || c.state} />`, to: good ? undefined : "/channels" });
  }
  lines.push({
    name: t("Queue"), state: s.dead ? "warn" : "good", to: s.dead ? "/queue" : undefined,
    says: s.dead ? plural(s.dead, "One delivery was given up.", "{0} deliveries were given up.") : t("Unanswered: {0}. Undelivered: {1}.", number(s.waiting ?? 0), number(s.unsent ?? 0)),
  });
  for (const f of s.features ?? []) if (f.state === "failing") lines.push({ name: named(f.name), state: "warn", says: found(f) });
  for (const [i, words] of (s.warnings ?? []).entries()) lines.push({ name: i ? t("Warning {0}", i + 1) : t("Warning"), state: "warn", says: html`<${Said} of=${words} />` });
  return lines;
}

// found is how a feature is, and for how long it has failed.
/** @param {Feature} f */
const found = (f) => html`${f.since && `${t("For {0}:", since(f.since))} `}<${Said} of=${f.says} part=${f.since} />`;

// named is what people call a feature. One without a name here is a tool, or newer than the page.
/** @param {string} name */
function named(name) {
  /** @type {Record<string, string>} */
  const names = {
    exec: t("Commands"), drawing: t("Pictures"), hearing: t("Voice messages"), speaking: t("Spoken answers"), skills: t("Skills"), web_search: t("Web search"), mcp: t("Tools of servers"), pdf: t("PDFs"), send_message: t("Messages to other chats"), delegate: t("Helpers"),
  };
  return name.startsWith("mcp ") ? t("Tools of {0}", name.slice(4)) : names[name] ?? name;
}

// Features is what is on, and why the rest is not.
/** @param {{of: Feature[]}} props */
function Features({ of: list }) {
  if (list.length === 0) return null;
  /** @type {Record<string, [string, string]>} */
  const states = { on: ["good", t("on")], off: ["quiet", t("off")], failing: ["warn", t("does not work")] };
  const columns = [
    { title: t("Feature"), cell: (/** @type {Feature} */ f) => named(f.name) },
    { title: t("State"), cell: (/** @type {Feature} */ f) => html`<${State} of=${states[f.state]?.[0] ?? "quiet"}>${states[f.state]?.[1] ?? f.state}<//>` },
    { title: t("Finding"), kind: "wide", cell: found },
  ];
  return html`<section><header><h2>${t("What is on")}</h2></header><${Table} label=${t("What is on")} columns=${columns} rows=${list} name=${(/** @type {Feature} */ f) => f.name} /></section>`;
}

/** @param {{of: NodeFigures, every: number, minutes: number, started?: string}} props */
function Hour({ of: { host, node, self, problem, figures: f }, every, minutes, started }) {
  const title = host || node ? t("The last hour on {0}", host || node || "") : t("The last hour");
  if (!f) return html`<section><header><h2>${title}</h2></header><p class="soft">${problem || t("Nothing was measured yet.")}</p></section>`;
  const kept = Math.round((minutes * 60) / every);
  const empty = leading(f.memory_bytes.slice(-kept)); // a plot fills from the left
  const cut = (/** @type {(number | null)[]} */ values) => [...values.slice(-kept).slice(empty), ...Array(empty).fill(null)];
  const from = new Date(Date.parse(f.from) + (Math.max(0, f.memory_bytes.length - kept) + empty) * every * 1000).toISOString();
  const seconds = (/** @type {number} */ v) => took(v * 1000);
  const thousandths = (/** @type {number} */ v) => t("{0} ms", number(Math.round(v * 10_000) / 10));
  /** @type {[string, (v: number) => string, [string, (number | null)[]][]][]} */
  const plots = [
    [t("Answers being written"), number, [[t("running"), f.turns_running], [t("waiting for a place"), f.turns_waiting]]],
    [t("Queue"), number, [[t("unanswered"), f.waiting], [t("undelivered"), f.unsent]]],
    [t("Calls of the model"), seconds, [[t("half within"), f.model_p50], [t("95 % within"), f.model_p95]]],
    [t("Commits to the disk"), thousandths, [[t("half within"), f.commit_p50], [t("95 % within"), f.commit_p95]]],
    [t("Memory"), size, [[t("resident"), f.memory_bytes]]],
    [t("Processor"), (v) => t("{0} cores", number(Math.round(v * 100) / 100)), [[t("in use"), f.cpu]]],
  ];
  return html`<section><header><h2 class="grow">${title}</h2><p class="meta">${self && started && Date.now() - Date.parse(started) < 3_600_000 && t("Since the start at {0}.", clock(started))} ${t("Kept in memory. Prometheus can keep more: /metrics")}</p></header>
    <div class="plots">${plots.map(([name, shown, series]) => html`<${Plot} key=${name} title=${name} shown=${shown} from=${from} every=${every} ahead=${empty} series=${series.map(([of, values]) => ({ name: of, values: cut(values) }))} />`)}</div></section>`;
}
