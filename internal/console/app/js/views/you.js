// For you: what waits for this person, and what was decided.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { keep, kept } from "../kept.js";
import { choose } from "../list.js";
import { canAsk } from "../notify.js";
import { network } from "../parts/avatar.js";
import { Button } from "../parts/button.js";
import { Empty } from "../parts/empty.js";
import { Notice } from "../parts/notice.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { View } from "../parts/view.js";
import { now, useStore } from "../store.js";
import { plural, shortTime, t, wholeTime } from "../text.js";
import { begin, loadWaiting, takeAllBack } from "../waiting.js";
import { ended, shapeOf } from "./approval.js";
import { Request, Settled } from "./request.js";
import { Row } from "./row.js";
import { beginning, plain } from "./arguments.js";
import { nameOf } from "./whose.js";

/** @typedef {import("../types.js").Waiting} Waiting */
/** @typedef {{what: string, who: string, how: string, at: string, shape: string[]}} Decided */

const mostDecided = 20;
const mostUnread = 12;
const offered = "notifications.offered";

export function You() {
  const waiting = useStore((s) => s.waiting);
  const fresh = useStore((s) => s.list);
  useEffect(() => {
    if (now().waiting) loadWaiting();
    if (now().list.filter !== "All") choose("All"); // a filter of Talk hides what is new
    begin();
  }, []);
  const rows = fresh.rows.filter((c) => c.own && (c.unread || c.waiting && !c.answering && !["question", "form"].includes(c.last?.kind ?? ""))).slice(0, mostUnread);
  const [open, setOpen] = useState(canAsk() && !kept(offered));
  const offers = open && Boolean(waiting?.decided.length || waiting?.items.some((i) => i.kind === "approval")); // after the first question
  const close = () => {
    keep(offered, true);
    setOpen(false);
  };
  const known = waiting && (waiting.items.length || waiting.decided.length || !waiting.problem) ? waiting : undefined;
  return html`<${View} title=${t("For you")} of=${{ data: known, problem: waiting?.problem, again: loadWaiting }} tools=${!offers && html`<${Notify} />`} say=${t("What waits for your decision. Nothing here goes on by itself, except that approvals are denied in the end.")}>
    ${(/** @type {Waiting} */ w) => html`<${Cards} of=${w} unread=${rows.length} />${offers && html`<${Offer} close=${close} />`}
      ${rows.length > 0 && html`<section><header><h2 class="grow">${t("Unread and unanswered")}</h2></header>
        <ul class="card rows plain">${rows.map((c) => html`<li key=${c.key}><${Row} of=${c} current=${false} words="" /></li>`)}</ul></section>`}
      <${Before} of=${w} />`}
  <//>`;
}

/** @param {{of: Waiting, unread: number}} props */
function Cards({ of: w, unread }) {
  const shown = w.items.filter((i) => !w.later.includes(i.id));
  const off = w.items.length - shown.length;
  if (!shown.length && !w.settled.length && !off && !unread) return html`<${Empty} icon="bell" title=${t("Nothing waits for you")}>${t("Approvals, people who want to talk, and channels that need a hand will appear here.")}<//>`;
  return html`<section aria-label=${t("Waiting")}>
    ${!shown.length && !w.settled.length && html`<p class="soft">${t("Nothing waits for you")}.</p>`}
    <div class="cards">${shown.map((i) => html`<${Request} key=${i.id} of=${i} />`)}${w.settled.map((a) => html`<${Settled} key=${a.id} of=${a} />`)}</div>
    ${off > 0 && html`<p class="meta rowline">${plural(off, "{0} thing was put off.", "{0} things were put off.")} <button type="button" class="textbutton" onClick=${takeAllBack}>${t("Show")}</button></p>`}
  </section>`;
}

// Notify offers notifications, where the browser has them and was not asked before.
function Notify() {
  const [asked, ask] = useState(!canAsk());
  if (asked) return null;
  return html`<${Button} icon="bell" onClick=${() => Notification.requestPermission().then(() => ask(true))}>${t("Allow notifications")}<//>`;
}

// Offer says once what notifications are good for.
/** @param {{close: () => void}} props */
const Offer = ({ close }) => html`<${Notice} icon="bell">${t("Dragoman can tell you when something waits, while this page is open in the background. It says for whom, and never what.")}
  <div class="actions"><${Button} onClick=${() => Notification.requestPermission().then(close)}>${t("Allow notifications")}<//><${Button} kind="quiet" onClick=${close}>${t("No, thanks")}<//></div><//>`;

// Before is what was decided, the newest first.
/** @param {{of: Waiting}} props */
function Before({ of: w }) {
  /** @type {Decided[]} */
  const rows = [
    ...w.decided.map((a) => ({ what: [a.tool, plain(beginning(a.parts?.[0]?.value ?? a.arguments))].filter(Boolean).join(": "), who: nameOf(a.key), how: ended(a), at: a.decided ?? a.until, shape: shapeOf(a) })),
    ...w.paired.map((p) => ({ what: t("Pairing: {0} on {1}", p.name || p.person_id, t(network(p.channel)[1])), who: p.name || p.person_id, how: t("Let in"), at: p.approved ?? "", shape: ["good", "check"] })),
  ].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, mostDecided);
  if (!rows.length) return null;
  const columns = [
    { title: t("What"), kind: "wide", cell: (/** @type {Decided} */ d) => html`<span class="mono" dir="auto">${d.what}</span>` },
    { title: t("For"), cell: (/** @type {Decided} */ d) => html`<span dir="auto">${d.who}</span>` },
    { title: t("Decision"), cell: (/** @type {Decided} */ d) => html`<${State} of=${d.shape[0]} icon=${d.shape[1]}>${d.how}<//>` },
    { title: t("When"), cell: (/** @type {Decided} */ d) => html`<time class="soft" datetime=${d.at} title=${wholeTime(d.at)}>${shortTime(d.at)}</time>` },
  ];
  return html`<section><header><h2 class="grow">${t("Decided")}</h2></header><${Table} label=${t("Decided")} columns=${columns} rows=${rows} name=${(/** @type {Decided} */ d) => d.at + d.what} /></section>`;
}

