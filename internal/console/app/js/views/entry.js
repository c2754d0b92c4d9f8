// One thing in a conversation, by its kind.

import { html } from "../../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { Lazily } from "../parts/lazily.js";
import { Markdown } from "../parts/markdown.js";
import { day, plural, t } from "../text.js";
import { Answer } from "./answer.js";
import { Person } from "./person.js";

const failure = () => import("./failure.js").then((m) => m.Failure);
const undelivered = () => import("./failure.js").then((m) => m.Undelivered);

/**
 * Say is what an entry can do with the conversation around it.
 * @typedef {object} Say
 * @property {(text: string) => void} quote
 * @property {(message: {seq: number, text: string}) => void} edit
 * @property {string} talkKey
 * @property {boolean} own
 * @property {boolean} answering
 * @property {string} net the network's type
 * @property {string} [last] the id of the newest answer, question or failure
 */

/** @param {{of: import("../turns.js").Entry, say: Say}} props */
export function Entry({ of: e, say }) {
  switch (e.kind) {
    case "day":
      return html`<p class="day">${day(e.at)}</p>`;
    case "new":
      return html`<p class="day new">${t("New")}</p>`;
    case "person":
      return html`<${Person} of=${e} say=${say} />`;
    case "again":
      return html`<p class="meta rowline" data-seq=${e.seq}><${Icon} name="rotate-cw" small />${e.who ? t("{0} asked for another answer.", e.who) : t("You asked for another answer.")}</p>`;
    case "answer":
      return html`<${Answer} of=${e} say=${say} />`;
    case "failure":
      return html`<${Lazily} load=${failure} props=${{ of: e, say }} />`;
    case "dead":
      return html`<${Lazily} load=${undelivered} props=${{ of: e }} />`;
    case "replaced":
      return html`<details class="replaced"><summary>${plural(e.entries?.length ?? 0, "Earlier version, {0} message", "Earlier version, {0} messages")}</summary>
        ${e.entries?.map((old) => html`<${Entry} key=${old.id} of=${old} say=${say} />`)}</details>`;
    default:
      return html`<article class="message aside" aria-label=${t("Notice")}><${Markdown} text=${e.text ?? ""} /></article>`;
  }
}
