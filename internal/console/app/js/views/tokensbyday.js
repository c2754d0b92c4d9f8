// The tokens of the last two weeks, by day. The store counts them, so a restart loses none.

import { html } from "../../vendor/preact.js";
import { get } from "../api.js";
import { Bars, daysFrom, parted } from "../bars.js";
import { useLoad } from "../load.js";
import { number, t } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").UsageReport} UsageReport */
/** @typedef {import("../../../../../docs/openapi.js").Used} Used */

const shownDays = 14;

// first is the first day that is shown.
function first() {
  const at = new Date();
  at.setDate(at.getDate() - shownDays + 1);
  return `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, "0")}-${String(at.getDate()).padStart(2, "0")}`;
}

export function TokensByDay() {
  const { data } = useLoad(() => get("statistics/usage", { by: "day", from: first() }), [], ["turn_done"], 5000);
  const report = /** @type {UsageReport | undefined} */ (data);
  if (!report?.rows.length) return null;
  const days = daysFrom(report.from, report.to, report.since);
  const rows = [{ name: "", days: report.rows.map((r) => ({ ...r, day: r.name })) }];
  const said = (/** @type {string} */ day) => new Date(`${day}T00:00`).toLocaleDateString(document.documentElement.lang, { day: "numeric", month: "short" });
  return html`<section><header><h2 class="grow">${t("The last two weeks")}</h2><p class="meta">${t("These counts are kept over restarts.")} <a href="/usage">${t("Open usage")}</a></p></header>
    <div class="plots"><${Bars} title=${t("Tokens by day")} days=${days} parts=${parted(rows, days, (/** @type {Used} */ used) => used.input + used.output)} said=${said}
      slots=${shownDays} shown=${(/** @type {number} */ v) => number(Math.round(v))} /></div></section>`;
}
