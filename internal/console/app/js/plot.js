// Plots in SVG: the style sheet colours them, they print, and they work in forced colours.

import { html, useState } from "../vendor/preact.js";
import { clock, t } from "./text.js";

/** @typedef {(number | null)[]} Values */
/** @typedef {{name: string, values: Values}} Series */

const width = 300;
const height = 100;

// nice rounds a maximum up to 1, 2 or 5 times a power of ten.
/** @param {number} value */
export function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((step) => step * power >= value) ?? 10) * power;
}

// line is the path of values. Where nothing was measured it has a gap; a value alone between
// two gaps becomes a dot.
/**
 * @param {Values} values
 * @param {number} top
 */
export function line(values, top) {
  let path = "";
  for (const [i, v] of values.entries()) {
    if (v === null) continue;
    const x = (i / Math.max(1, values.length - 1)) * width;
    const y = height - (v / top) * height;
    const begins = i === 0 || values[i - 1] === null;
    path += `${begins ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    if (begins && (values[i + 1] ?? null) === null) path += "h0.1";
  }
  return path;
}

// newest is the last value that was measured, or null.
/** @param {Values} values */
export const newest = (values) => values.findLast((v) => v !== null) ?? null;

// leading is how many places are empty before the first value that was measured.
/** @param {Values} values */
export function leading(values) {
  const first = values.findIndex((v) => v !== null);
  return first < 0 ? values.length : first;
}

// Plot draws one or two lines over time. A finger, a mouse or the arrow keys read values off.
// shown writes a value with its unit; from and every say when each was measured. The last
// places, as many as ahead says, are for what is still to come.
/** @param {{title: string, series: Series[], shown: (v: number) => string, from: string, every: number, ahead?: number}} props */
export function Plot({ title, series, shown, from, every, ahead = 0 }) {
  const [at, read] = useState(/** @type {number | null} */ (null));
  const end = Math.max(1, series[0].values.length - 1);
  const last = Math.max(0, series[0].values.length - 1 - ahead);
  const top = nice(Math.max(...series.flatMap((s) => s.values.map((v) => v ?? 0))));
  const here = at === null ? last : Math.min(at, last);
  const time = (/** @type {number} */ place) => clock(new Date(Date.parse(from) + place * every * 1000).toISOString());
  const when = time(here);
  const words = (/** @type {(values: Values) => number | null} */ pick) => series.flatMap((s) => {
    const v = pick(s.values);
    return v === null ? [] : [`${series.length > 1 ? `${s.name} ` : ""}${shown(v)}`];
  }).join(", ") || t("nothing");
  const said = at === null ? words(newest) : words((values) => values[here]);
  const point = (/** @type {PointerEvent} */ event) => {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    read(Math.max(0, Math.min(last, Math.round(((event.clientX - box.left) / box.width) * end))));
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -last, End: last }[event.key];
    if (step !== undefined) read(Math.max(0, Math.min(last, here + step)));
    else if (event.key === "Escape") read(null);
    else return;
    event.preventDefault();
  };
  return html`<figure class="card plot">
    <header><h3>${title}</h3><span class=${at === null ? "now" : "read"}>${at === null ? said : `${when}: ${said}`}</span><span class="top">${t("up to {0}", shown(top))}</span></header>
    <svg viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" role="slider" tabindex="0" aria-label=${title}
      aria-valuemin="0" aria-valuemax=${last} aria-valuenow=${here} aria-valuetext=${`${when}: ${said}`}
      onPointerMove=${point} onPointerDown=${point} onPointerLeave=${() => read(null)} onKeyDown=${key} onBlur=${() => read(null)}>
      ${[0, 0.5, 1].map((part) => html`<line class="grid" x1="0" x2=${width} y1=${part * height} y2=${part * height} />`)}
      ${series.map((s, i) => html`<path class=${`line k${i + 1}`} d=${line(s.values, top)} />`)}
      ${at !== null && html`<line class="cursor" x1=${(here / end) * width} x2=${(here / end) * width} y1="0" y2=${height} />`}
    </svg>
    <div class="axis" dir="ltr"><span>${clock(from)}</span><span>${ahead ? time(end) : t("now")}</span></div>
    ${series.length > 1 && html`<figcaption class="legend">${series.map((s, i) => html`<span><svg viewBox="0 0 20 8" aria-hidden="true"><line class=${`line k${i + 1}`} x1="0" x2="20" y1="4" y2="4" /></svg>${s.name}</span>`)}</figcaption>`}
  </figure>`;
}
