// Jobs and reminders: what runs by itself, when, for whom, and how it went.

import { html } from "../../vendor/preact.js";
import { get, path, post } from "../api.js";
import { useLoad } from "../load.js";
import { Button } from "../parts/button.js";
import { Empty } from "../parts/empty.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { toast, trouble } from "../parts/toast.js";
import { View } from "../parts/view.js";
import { talkPath } from "../router.js";
import { useStore } from "../store.js";
import { day, clock, shortTime, t, wholeTime } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").Job} Job */
/** @typedef {import("../../../../../docs/openapi.js").Occurrence} Occurrence */

// outcomes are how an occurrence ended: how good that is, and the word for it.
const outcomes = () => /** @type {Record<string, [string, string]>} */ ({
  fired: ["busy", t("Running")], waiting: ["busy", t("Being delivered")], ran: ["good", t("Sent")], silent: ["quiet", t("Nothing to say")],
  failed: ["bad", t("Failed")], skipped: ["quiet", t("Skipped")], missed: ["warn", t("Missed")],
});

export function Jobs() {
  const scope = useStore((s) => s.me?.scope ?? "chat");
  const jobs = useLoad(() => get("jobs"), [], ["job_done", "job_change"]);
  const run = (/** @type {Job} */ job) => post(path`jobs/${job.name}/run`).then(() => toast(t("It runs now.")), trouble).then(jobs.again);
  return html`<${View} title=${t("Jobs and reminders")} of=${jobs} say=${t("What Dragoman does without being asked. Reminders are made by talking, jobs are in the configuration.")}>
    ${(/** @type {{data: Job[]}} */ page) => {
      const reminders = page.data.filter((j) => /\/r\d+$/.test(j.name));
      const planned = page.data.filter((j) => !reminders.includes(j));
      const mayRun = scope === "operate" || scope === "admin";
      if (!page.data.length) return html`<${Empty} icon="calendar-clock" title=${t("Nothing is planned")} actions=${html`<a class="button" href="/talk/new">${t("Talk")}</a>`}>${t("Say “remind me tomorrow at nine” in any conversation.")}<//>`;
      return html`
        ${planned.length > 0 && html`<section><header><h2>${t("Jobs")}</h2></header><${Table} label=${t("Jobs")} rows=${planned} name=${name} columns=${columns(mayRun && run)} /></section>`}
        ${reminders.length > 0 && html`<section><header><h2>${t("Reminders")}</h2></header><${Table} label=${t("Reminders")} rows=${reminders} name=${name} columns=${columns(false)} /></section>`}`;
    }}
  <//>`;
}

/** @param {Job} j */
const name = (j) => j.name;

/** @param {false | ((job: Job) => void)} run */
const columns = (run) => [
  { title: t("Name"), kind: "wide", cell: (/** @type {Job} */ j) => html`<b dir="auto">${j.name}</b>${j.paused && html`<br /><${State} of="warn">${t("Paused: {0}", j.paused)}<//>`}` },
  { title: t("When"), cell: (/** @type {Job} */ j) => j.schedule },
  { title: t("To"), cell: (/** @type {Job} */ j) => (j.target.includes(":") ? html`<a href=${talkPath(j.target)} dir="auto">${j.target}</a>` : j.target) },
  { title: t("Last"), cell: (/** @type {Job} */ j) => j.last && html`<${Last} of=${j.last} />` },
  { title: t("Next"), kind: "num", label: true, cell: (/** @type {Job} */ j) => (j.next ? html`<time title=${wholeTime(j.next)}>${day(j.next)}, ${clock(j.next)}</time>` : t("not due")) },
  { title: t("Actions"), kind: "act", hidden: true, cell: (/** @type {Job} */ j) => run && html`<${Button} icon="play" kind="quiet" label=${t("Run {0} now", j.name)} onClick=${() => run(j)} />` },
];

/** @param {{of: Occurrence}} props */
function Last({ of: o }) {
  const [state, word] = outcomes()[o.outcome] ?? ["quiet", o.outcome];
  return html`<${State} of=${state}>${word}, <time title=${wholeTime(o.at)}>${shortTime(o.at)}</time><//>${o.why && html`<br /><span class="soft">${o.why}</span>`}`;
}
