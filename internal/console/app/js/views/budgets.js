// Budgets: how much of each is used, and what happens when all of it is.

import { html, useState } from "../../vendor/preact.js";
import { Button } from "../parts/button.js";
import { Meter } from "../parts/meter.js";
import { clock, cost, day, number, t } from "../text.js";
import { nameOf } from "./whose.js";

/** @typedef {import("../../../../../docs/openapi.js").Budget} Budget */

const atFirst = 6; // they come with the most used first

/** @param {{of: Budget[], names: Record<string, string>, money: boolean}} props */
export function Budgets({ of: list, names, money }) {
  const [all, showAll] = useState(false);
  if (!list.length) return null;
  const shown = all ? list : list.slice(0, atFirst);
  return html`<section><header><h2>${t("Budgets")}</h2></header><div class="card stack">
    ${shown.map((b) => html`<${Meter} key=${`${b.of} ${b.name} ${b.period}`} name=${title(b, names)} share=${b.share}>${sum(b, money)} ${b.share >= 1 ? over(b) : ""}<//>`)}
    ${list.length > shown.length && html`<div><${Button} onClick=${() => showAll(true)}>${t("Show all {0}", list.length)}<//></div>`}
    <p class="meta">${t("At 100 % no model is asked for it any more until it begins anew. Whoever asks is told when.")}</p></div></section>`;
}

/**
 * @param {Budget} b
 * @param {Record<string, string>} names
 */
function title(b, names) {
  const name = names[b.name ?? ""] || b.name || "";
  const who = /** @type {Record<string, string>} */ ({ all: t("Everybody"), chat: t("Conversation {0}", b.name ? nameOf(b.name) : ""), job: t("Job {0}", name) })[b.of] ?? name;
  return b.period === "day" ? t("{0}, today", who) : t("{0}, this month", who);
}

/**
 * @param {Budget} b
 * @param {boolean} money
 */
function sum(b, money) {
  if (b.unit === "tokens") return t("{0} of {1} tokens.", number(b.used), number(b.limit));
  return money ? t("{0} of {1}.", cost(b.used), cost(b.limit)) : "";
}

// over says what a budget that is used up does.
/** @param {Budget} b */
function over(b) {
  const until = `${day(b.until)}, ${clock(b.until)}`;
  if (b.of === "job") return t("Used up: the job does not run until {0}.", until);
  if (b.of === "person") return t("Used up: they get no answer until {0}, and are told so.", until);
  if (b.of === "chat") return t("Used up: nothing is answered there until {0}.", until);
  return t("Used up: nobody is answered until {0}.", until);
}
