// The queue: every message that is not finished, and what can be done with it.

import { html, useState } from "../../vendor/preact.js";
import { get, path, post, remove } from "../api.js";
import { useLoad } from "../load.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Empty } from "../parts/empty.js";
import { Menu } from "../parts/menu.js";
import { Segments } from "../parts/segments.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { toast, trouble } from "../parts/toast.js";
import { View } from "../parts/view.js";
import { go, talkPath } from "../router.js";
import { number, since, size, t, wholeTime } from "../text.js";

/** @typedef {import("../types.js").QueueItem} QueueItem */

// kinds are the lanes of the queue, as people read them.
const kinds = () => /** @type {Record<string, string>} */ ({ in: t("Coming in"), out: t("Going out"), aside: t("Put aside") });

/** @param {QueueItem} item */
function state(item) {
  if (item.state === "dead" || item.kind === "aside") return html`<${State} of="bad">${item.kind === "aside" ? t("Not readable") : t("Given up")}<//>`;
  if (item.state === "parked") return html`<${State} of="warn" icon="hand">${t("Waits for a yes")}<//>`;
  if (item.error) return html`<${State} of="warn">${t("Will be tried again")}<//>`;
  return html`<${State} of=${item.state === "sending" ? "busy" : "quiet"}>${item.kind === "in" ? t("Waits for its answer") : t("On its way")}<//>`;
}

const changes = ["message_accepted", "delivery_changed", "delivery_dead", "settled", "turn_begun", "turn_done", "approval_change"];

export function Queue() {
  const queue = useLoad(() => get("queue", { limit: 200 }), [], changes);
  const [kind, setKind] = useState("");
  const [dropping, drop] = useState(/** @type {QueueItem | null} */ (null));
  const act = (/** @type {Promise<any>} */ done, /** @type {string} */ said) => done.then(() => toast(said), trouble).then(queue.again);
  const choices = /** @type {[string, string][]} */ ([["", t("All")], ...Object.entries(kinds())]);
  return html`<${View} title=${t("Queue")} say=${t("Every message that is not finished: coming in, being answered, going out.")} of=${queue}
    tools=${html`<${Segments} label=${t("Show")} of=${choices} value=${kind} set=${setKind} />`}>
    ${(/** @type {{data: QueueItem[], next?: string}} */ page) => {
      const rows = page.data.filter((i) => !kind || i.kind === kind);
      if (!rows.length) return html`<${Empty} icon="inbox" title=${page.data.length ? t("Nothing of this kind") : t("The queue is empty")}>${t("Every message has its answer, and every answer has arrived.")}<//>`;
      return html`<${Table} label=${t("Queue")} rows=${rows} name=${(/** @type {QueueItem} */ i) => i.id} columns=${columns(act, drop)} />
        ${page.next && html`<p class="meta">${t("These are the oldest {0}. More follow when they are done.", number(page.data.length))}</p>`}
        <${Dialog} title=${t("Drop this message?")} open=${dropping !== null} close=${() => drop(null)}>
          <p>${t("It will not be answered or sent, and it cannot be brought back.")}</p>
          <div class="actions"><${Button} kind="danger" onClick=${() => { act(remove(path`queue/${dropping?.id ?? ""}`), t("Dropped.")); drop(null); }}>${t("Drop it")}<//><${Button} onClick=${() => drop(null)}>${t("Keep it")}<//></div><//>`;
    }}
  <//>`;
}

/**
 * @param {(done: Promise<any>, said: string) => void} act
 * @param {(item: QueueItem) => void} drop
 */
const columns = (act, drop) => [
  { title: t("State"), cell: state },
  { title: t("Conversation"), cell: (/** @type {QueueItem} */ i) => html`<b dir="auto">${i.key}</b>` },
  { title: t("What"), kind: "wide", cell: (/** @type {QueueItem} */ i) => html`${kinds()[i.kind]}, ${size(i.bytes)}${i.error && html`<br /><span class="soft">${i.error}</span>`}` },
  { title: t("Age"), kind: "num", label: true, cell: (/** @type {QueueItem} */ i) => html`<time title=${wholeTime(i.at)}>${since(i.at)}</time>` },
  { title: t("Tries"), kind: "num", label: true, cell: (/** @type {QueueItem} */ i) => number(i.attempts) },
  {
    title: t("Actions"), kind: "act", hidden: true, cell: (/** @type {QueueItem} */ i) => html`<${Menu} label=${t("Message")}
      button=${(/** @type {(e: Event) => void} */ open) => html`<${Button} icon="ellipsis" kind="quiet" label=${t("Actions for {0}", i.key)} onClick=${open} />`}
      items=${[
        i.kind === "out" && { icon: "rotate-cw", text: t("Try now"), act: () => act(post(path`queue/${i.id}/retry`), t("It is tried now.")) },
        i.key.includes(":") && { icon: "message-circle", text: t("Open the conversation"), act: () => go(talkPath(i.key)) },
        { icon: "trash-2", text: t("Drop it …"), danger: true, act: () => drop(i) },
      ]} />`,
  },
];
