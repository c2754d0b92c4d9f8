// The queue: every message that is not finished, why it waits, and what can be done with it.

import { html, useState } from "../../vendor/preact.js";
import { path, post } from "../api.js";
import { removeLater } from "../later.js";
import { More, usePages } from "../pages.js";
import { Button } from "../parts/button.js";
import { Conversation } from "../parts/conversation.js";
import { Empty } from "../parts/empty.js";
import { Menu } from "../parts/menu.js";
import { Said } from "../parts/said.js";
import { Search } from "../parts/search.js";
import { Segments } from "../parts/segments.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { toast, trouble } from "../parts/toast.js";
import { View } from "../parts/view.js";
import { go, talkPath } from "../router.js";
import { useStore } from "../store.js";
import { clock, number, since, size, t, wholeTime } from "../text.js";
import { Settled } from "./request.js";

/** @typedef {import("../types.js").QueueItem} QueueItem */

const changes = ["message_accepted", "delivery_changed", "delivery_dead", "settled", "turn_begun", "turn_done", "approval_change"];

// kinds are the lanes of the queue, as people read them.
const kinds = () => /** @type {Record<string, string>} */ ({ in: t("Coming in"), out: t("Going out"), aside: t("Put aside") });

// isForm: the question of a server waits, and not one about a call.
/** @param {QueueItem} item */
const isForm = (item) => Boolean(item.error?.startsWith("it waits for an answer to a server"));

// isYes: somebody must allow a call. Else a rule keeps the message for later, and says why.
/** @param {QueueItem} item */
const isYes = (item) => Boolean(item.error?.startsWith("it waits for a yes"));

/** @param {QueueItem} item */
const parked = (item) => (isForm(item) ? t("Waits for a form") : isYes(item) ? t("Waits for a yes") : t("Kept for later"));

/** @param {QueueItem} item */
function parkedFor(item) {
  if (isForm(item)) return t("Somebody must fill in a form");
  return isYes(item) ? t("Somebody must allow a call") : t("Looked at again at {0}", clock(item.not_before ?? ""));
}

/** @param {QueueItem} item */
function state(item) {
  if (item.state === "dead" || item.kind === "aside") return html`<${State} of="bad">${item.kind === "aside" ? t("Not readable") : t("Given up")}<//>`;
  if (item.state === "parked") return html`<${State} of="warn" icon="hand">${parked(item)}<//>`;
  if (item.error) return html`<${State} of="warn">${t("Will be tried again")}<//>`;
  return html`<${State} of=${item.state === "sending" ? "busy" : "quiet"}>${item.kind === "in" ? t("Waits for its answer") : t("On its way")}<//>`;
}

// next says what it waits for. before are those of the list that are older.
/**
 * @param {QueueItem} item
 * @param {QueueItem[]} before
 */
function next(item, before) {
  if (item.kind === "aside") return t("Nothing, until you drop it");
  if (item.state === "dead") return t("Nothing, until you try or drop it");
  if (item.state === "parked") return parkedFor(item);
  if (item.not_before && Date.parse(item.not_before) > Date.now()) return t("Tried again at {0}", clock(item.not_before));
  if (before.some((one) => one.key === item.key && one.kind === item.kind && one.state !== "dead")) return item.kind === "in" ? t("After the answer before it") : t("After the message before it");
  return item.kind === "in" ? t("The model answers") : t("Sent now");
}

const filters = /** @type {Record<string, Record<string, string>>} */ ({ "": {}, in: { kind: "in" }, out: { kind: "out" }, dead: { state: "dead" }, aside: { kind: "aside" } });

export function Queue() {
  const [filter, choose] = useState("");
  const [words, look] = useState("");
  const [gone, hide] = useState(/** @type {string[]} */ ([]));
  const settled = useStore((s) => s.waiting?.settled) ?? [];
  const queue = usePages("queue", { ...filters[filter], text: words }, changes);
  const back = (/** @type {string} */ id) => hide((ids) => ids.filter((one) => one !== id));
  const act = (/** @type {Promise<any>} */ done, /** @type {string} */ said) => done.then(() => toast(said), trouble).then(queue.again);
  const drop = (/** @type {QueueItem} */ item) => {
    hide((ids) => [...ids, item.id]);
    const stop = removeLater(path`queue/${item.id}`, (problem) => {
      if (problem) trouble(problem);
      if (problem) back(item.id);
      queue.again();
    });
    toast(t("Dropped."), () => {
      stop();
      back(item.id);
    });
  };
  const choices = /** @type {[string, string][]} */ ([["", t("All")], ["in", kinds().in], ["out", kinds().out], ["dead", t("Given up")], ["aside", kinds().aside]]);
  return html`<${View} title=${t("Queue")} say=${t("Every message that is not finished: coming in, being answered, going out.")} of=${queue}
    tools=${html`<${Segments} label=${t("Show")} of=${choices} value=${filter} set=${choose} />`}>
    ${(/** @type {{data: QueueItem[], next?: string}} */ page) => {
      const rows = page.data.filter((i) => !gone.includes(i.id));
      return html`${settled.map((a) => html`<${Settled} key=${a.id} of=${a} />`)}${(words || page.next || rows.length > 12) && html`<${Search} label=${t("Search the queue")} value=${words} onInput=${(/** @type {any} */ e) => look(e.currentTarget.value)} />`}
        ${rows.length ? html`<${Table} label=${t("Queue")} rows=${rows} name=${(/** @type {QueueItem} */ i) => i.id} columns=${columns(rows, act, drop)} /><${More} of=${queue} />`
        : html`<${Empty} icon="inbox" title=${words || filter ? t("Nothing of this kind") : t("The queue is empty")}>${t("Every message has its answer, and every answer has arrived.")}<//>`}`;
    }}
  <//>`;
}

/**
 * @param {QueueItem[]} rows
 * @param {(done: Promise<any>, said: string) => void} act
 * @param {(item: QueueItem) => void} drop
 */
const columns = (rows, act, drop) => [
  { title: t("State"), cell: state },
  { title: t("Conversation"), cell: (/** @type {QueueItem} */ i) => html`<b><${Conversation} of=${i.key} /></b>` },
  { title: t("What"), kind: "wide", cell: (/** @type {QueueItem} */ i) => html`${kinds()[i.kind]}, ${size(i.bytes)}${i.error && html`<br /><span class="soft"><${Said} of=${i.error} /></span>`}` },
  { title: t("Age"), kind: "num", label: true, cell: (/** @type {QueueItem} */ i) => html`<time title=${wholeTime(i.at)}>${since(i.at)}</time>` },
  { title: t("Tries"), kind: "num", label: true, cell: (/** @type {QueueItem} */ i) => number(i.attempts) },
  { title: t("Waits for"), cell: (/** @type {QueueItem} */ i) => html`<span class="soft">${next(i, rows.slice(0, rows.indexOf(i)))}</span>` },
  {
    title: t("Actions"), kind: "act", hidden: true, cell: (/** @type {QueueItem} */ i) => html`<${Menu} label=${t("Message")}
      button=${(/** @type {(e: Event) => void} */ open) => html`<${Button} icon="ellipsis" kind="quiet" label=${t("Actions for {0}", i.key)} onClick=${open} />`}
      items=${[
        i.kind !== "aside" && { icon: "rotate-cw", text: t("Try now"), act: () => act(post(path`queue/${i.id}/retry`), t("It is tried now.")) },
        i.key.includes(":") && { icon: "message-circle", text: t("Open the conversation"), act: () => go(talkPath(i.key)) },
        { icon: "trash-2", text: t("Drop it"), danger: true, act: () => drop(i) },
      ]} />`,
  },
];
