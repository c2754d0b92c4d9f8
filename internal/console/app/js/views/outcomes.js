// What became of the due times of a job.

import { html } from "../../vendor/preact.js";
import { More, usePages } from "../pages.js";
import { Bones } from "../parts/bones.js";
import { Notice } from "../parts/notice.js";
import { Said } from "../parts/said.js";
import { State } from "../parts/state.js";
import { shortTime, t, wholeTime } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").Occurrence} Occurrence */

// outcomes are how an occurrence ended: how good that is, and the word for it.
const outcomes = () => /** @type {Record<string, [string, string]>} */ ({
  fired: ["busy", t("Running")], waiting: ["busy", t("Being delivered")], ran: ["good", t("Sent")], silent: ["quiet", t("Nothing to say")],
  failed: ["bad", t("Failed")], skipped: ["quiet", t("Skipped")], missed: ["warn", t("Missed")],
});

/** @param {{of: Occurrence}} props */
export function Last({ of: o }) {
  const [state, word] = outcomes()[o.outcome] ?? ["quiet", o.outcome];
  return html`<${State} of=${state}>${word}, <time title=${wholeTime(o.at)}>${shortTime(o.at)}</time><//>${o.why && html`<br /><span class="soft"><${Said} of=${o.why} part /></span>`}`;
}

/** @param {{job: string}} props */
export function Outcomes({ job }) {
  const list = usePages("occurrences", { job, limit: 20 }, ["job_done"]);
  if (list.problem) return html`<${Notice} of="bad">${t("This could not be loaded.")}<//>`;
  if (!list.data) return html`<${Bones} of=${3} />`;
  if (!list.data.data.length) return html`<p class="soft">${t("It was not due yet.")}</p>`;
  return html`<ul class="soon">${list.data.data.map((/** @type {Occurrence} */ o) => html`<li key=${o.due}><time title=${wholeTime(o.due)}>${shortTime(o.due)}</time><div class="grow"><${Last} of=${o} /></div></li>`)}</ul><${More} of=${list} />`;
}
