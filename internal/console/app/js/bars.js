// Bars in SVG: what was used on each day, stacked by who or what used it. The style sheet
// colours them, and the table below has the same numbers.

import { html, useState } from "../vendor/preact.js";
import { nice } from "./plot.js";
import { t } from "./text.js";

/** @typedef {{name: string, values: number[]}} Part */

const width = 300;
const height = 100;
const widest = 30; // of a bar: the first of a month is one day

// daysFrom are the days of a range that begins when anything is known: bars begin at the left.
/**
 * @param {string} from like 2026-11-01
 * @param {string} to
 * @param {string} [since] the first day of which anything is known
 */
export function daysFrom(from, to, since) {
  const first = since && since > from && since <= to ? since : from;
  const days = [];
  for (let at = Date.parse(first); at <= Date.parse(to); at += 86_400_000) days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

// parted makes bars of the rows of a report: the greatest ones by themselves, the others in
// one part. pick chooses what is shown.
/**
 * @param {{name: string, days?: {day: string}[]}[]} rows
 * @param {string[]} days
 * @param {(used: any) => number} pick
 * @param {number} [most]
 */
export function parted(rows, days, pick, most = 3) {
  const values = (/** @type {{days?: {day: string}[]}} */ row) => days.map((day) => {
    const found = row.days?.find((d) => d.day === day);
    return found ? pick(found) : 0;
  });
  const all = rows.map((row) => ({ name: row.name, values: values(row) }));
  const sum = (/** @type {Part} */ part) => part.values.reduce((a, b) => a + b, 0);
  all.sort((a, b) => sum(b) - sum(a));
  const rest = all.slice(most);
  if (rest.some(sum)) all.splice(most, rest.length, { name: "", values: days.map((_, i) => rest.reduce((n, part) => n + part.values[i], 0)) });
  return all.slice(0, most + 1).filter(sum);
}

// Bars draws parts over days. A finger, a mouse or the arrow keys read a day off. There is room
// for slots days; what is still to come is empty, on the right.
/** @param {{title: string, days: string[], parts: Part[], shown: (v: number) => string, said: (day: string) => string, slots: number}} props */
export function Bars({ title, days, parts, shown, said, slots }) {
  const [at, read] = useState(/** @type {number | null} */ (null));
  const sums = days.map((_, i) => parts.reduce((n, part) => n + part.values[i], 0));
  const top = nice(Math.max(0, ...sums));
  const step = width / Math.max(1, slots);
  const wide = Math.min(step * 0.84, widest);
  const last = days.length - 1;
  const here = at === null ? last : Math.min(at, last);
  const words = (/** @type {number} */ i) => `${said(days[i])}: ${shown(sums[i])}${parts.length > 1 ? ` (${parts.filter((p) => p.values[i]).map((p) => `${p.name || t("others")} ${shown(p.values[i])}`).join(", ")})` : ""}`;
  const point = (/** @type {PointerEvent} */ event) => {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    read(Math.max(0, Math.min(last, Math.floor(((event.clientX - box.left) / box.width) * slots))));
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -last, End: last }[event.key];
    if (by !== undefined) read(Math.max(0, Math.min(last, here + by)));
    else if (event.key === "Escape") read(null);
    else return;
    event.preventDefault();
  };
  return html`<figure class="card plot bars">
    <header><h3>${title}</h3><span class=${at === null ? "now" : "read"}>${at === null ? shown(sums.reduce((a, b) => a + b, 0)) : words(here)}</span><span class="top">${t("up to {0}", shown(top))}</span></header>
    <svg viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" role="slider" tabindex="0" aria-label=${title}
      aria-valuemin="0" aria-valuemax=${last} aria-valuenow=${here} aria-valuetext=${words(here)}
      onPointerMove=${point} onPointerDown=${point} onPointerLeave=${() => read(null)} onKeyDown=${key} onBlur=${() => read(null)}>
      ${[0, 0.5, 1].map((part) => html`<line class="grid" x1="0" x2=${width} y1=${part * height} y2=${part * height} />`)}
      ${days.map((_, i) => {
        let below = 0;
        return parts.map((part, k) => {
          const tall = (part.values[i] / top) * height;
          below += tall;
          return tall > 0 && html`<rect class=${`f${k + 1}`} x=${(i + 0.5) * step - wide / 2} y=${height - below} width=${wide} height=${Math.max(0.4, tall - 0.6)} />`;
        });
      })}
      ${at !== null && html`<line class="cursor" x1=${(here + 0.5) * step} x2=${(here + 0.5) * step} y1="0" y2=${height} />`}
    </svg>
    <div class="axis" dir="ltr"><span>${said(days[0])}</span><span>${slots > days.length || last === 0 ? "" : said(days[last])}</span></div>
    ${parts.length > 1 && html`<figcaption class="legend">${parts.map((part, i) => html`<span><svg viewBox="0 0 20 8" aria-hidden="true"><rect class=${`f${i + 1}`} width="20" height="8" /></svg><span dir="auto">${part.name || t("others")}</span></span>`)}</figcaption>`}
  </figure>`;
}
