// The next 24 hours of jobs and reminders: a lane for each job on wide screens, a list on
// phones. The tables below have the same times.

import { html } from "../../vendor/preact.js";
import { clock, t } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").Job} Job */

const width = 890;
const from = 170; // where the names end
const edge = 8; // so that the last mark is whole
const lane = 30;
const day = 24 * 3600_000;
const mostLanes = 10;
const soonest = 8;

/** @param {string} name */
const short = (name) => (name.length > 22 ? `${name.slice(0, 21)}…` : name);

/** @param {{jobs: Job[], reminders: Job[], title: (j: Job) => string}} props */
export function Timeline({ jobs, reminders, title }) {
  const now = Date.now();
  const mirrored = document.documentElement.dir === "rtl";
  const side = (/** @type {number} */ x) => (mirrored ? width - x : x);
  const anchor = mirrored ? "end" : "start";
  const x = (/** @type {string | number} */ at) => side(from + ((new Date(at).getTime() - now) / day) * (width - from - edge));
  const coming = (/** @type {Job} */ j) => (j.upcoming ?? []).filter((at) => Date.parse(at) >= now && Date.parse(at) < now + day);
  const lanes = jobs.filter((j) => coming(j).length).slice(0, mostLanes);
  const marks = reminders.flatMap((j) => coming(j).map((at) => /** @type {[string, Job]} */ ([at, j])));
  const soon = [...lanes, ...reminders].flatMap((j) => coming(j).slice(0, 3).map((at) => ({ at, j }))).sort((a, b) => Date.parse(a.at) - Date.parse(b.at)).slice(0, soonest);
  if (!soon.length) return html`<h2>${t("The next 24 hours")}</h2><p class="soft">${t("Nothing is due.")}</p>`;
  const rows = lanes.length + (marks.length ? 1 : 0);
  const high = 34 + rows * lane;
  const first = new Date(now);
  first.setHours(Math.ceil((first.getHours() + 0.01) / 3) * 3, 0, 0, 0);
  const ticks = Array.from({ length: 8 }, (_, i) => first.getTime() + i * 3 * 3600_000).filter((at) => at < now + day - 3600_000 / 2);
  return html`<h2>${t("The next 24 hours")}</h2>
    <svg class="timeline" viewBox=${`0 0 ${width} ${high}`} role="img" aria-label=${t("The next 24 hours. The tables below list the same times.")}>
      ${ticks.map((at) => html`<line class="tick" x1=${x(at)} x2=${x(at)} y1="20" y2=${high} /><text x=${x(at)} y="12" text-anchor="middle">${clock(new Date(at).toISOString())}</text>`)}
      ${lanes.map((j, i) => html`<text class="name" x=${side(0)} text-anchor=${anchor} y=${44 + i * lane}><title>${title(j)}</title>${short(title(j))}</text>
        ${coming(j).map((at) => html`<circle cx=${x(at)} cy=${40 + i * lane} r=${coming(j).length > 8 ? 3 : 5.5} />`)}`)}
      ${marks.length > 0 && html`<text class="name" x=${side(0)} text-anchor=${anchor} y=${44 + lanes.length * lane}>${t("Reminders")}</text>`}
      ${marks.map(([at, j]) => html`<rect class="mark" x=${x(at) - 5} y=${35 + lanes.length * lane} width="10" height="10" transform=${`rotate(45 ${x(at)} ${40 + lanes.length * lane})`}><title>${title(j)}</title></rect>`)}
      <line class="nowline" x1=${side(from)} x2=${side(from)} y1="18" y2=${high} />
    </svg>
    <ul class="soon phone">${soon.map(({ at, j }) => html`<li><time datetime=${at}>${clock(at)}</time><span class="grow cut" dir="auto">${title(j)}</span></li>`)}</ul>`;
}
