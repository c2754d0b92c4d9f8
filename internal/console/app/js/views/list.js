// The list of conversations: search, filters, pinned ones first, fifty at a time.

import { html } from "../../vendor/preact.js";
import { now, useStore } from "../store.js";
import { choose, filters, loadList, moreOfList, searchList } from "../list.js";
import { Bones } from "../parts/bones.js";
import { Button } from "../parts/button.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { Notice } from "../parts/notice.js";
import { Search } from "../parts/search.js";
import { may } from "../talk.js";
import { t } from "../text.js";
import { Row } from "./row.js";

/** @param {{current?: string}} props */
export function List({ current }) {
  const list = useStore((s) => s.list);
  const open = useStore((s) => (current ? s.talks[current]?.head : undefined));
  const Frame = current ? "aside" : "main"; // without an open conversation, the page is about the list
  return html`<${Frame} class="list" id=${current ? null : "main"} tabindex=${current ? null : "-1"} aria-label=${t("Conversations")}>
    <header><h1 class="grow">${t("Talk")}</h1><a class="button primary round icononly" href="/talk/new" data-key="n" aria-label=${t("New conversation")} title=${`${t("New conversation")} (N)`}><${Icon} name="plus" small /></a></header>
    <div class="tools">
      <${Search} label=${t("Search conversations")} id="search" value=${list.words} onInput=${(/** @type {any} */ e) => searchList(e.currentTarget.value)} />
      <div class="filters" role="group" aria-label=${t("Show")}>
        ${Object.keys(filters).map((name) => html`<button type="button" class="chip" aria-pressed=${String(name === list.filter)} onClick=${() => choose(name)}>${t(name)}</button>`)}
      </div>
    </div>
    <div class="rows" onScroll=${near}><${Rows} list=${withBeginning(list, open)} current=${current} /></div>
  <//>`;
}

// withBeginning is the list with the conversation that is open, while its first answer is not
// there yet. The server lists those that have a transcript.
/**
 * @param {import("../types.js").List} list
 * @param {import("../types.js").Conversation} [open]
 */
function withBeginning(list, open) {
  const begins = open && open.message_count === 0 && open.waiting && !list.words;
  return !begins || [...list.rows, ...list.pinned].some((c) => c.key === open.key) ? list : { ...list, rows: [open, ...list.rows] };
}

// near loads the next page before the reader comes to the end.
/** @param {Event} event */
function near(event) {
  const box = /** @type {Element} */ (event.currentTarget);
  if (box.scrollHeight - box.scrollTop - box.clientHeight < 400) moreOfList();
}

/** @param {{list: import("../types.js").List, current?: string}} props */
function Rows({ list, current }) {
  if (list.problem && list.rows.length === 0) return html`<${Failed} problem=${list.problem} />`;
  if (!list.loaded) return html`<${Bones} />`;
  const chosen = filters[list.filter];
  const pinned = new Set(list.pinned.map((c) => c.key));
  const first = list.words ? [] : list.pinned.filter(chosen);
  const rest = list.rows.filter((c) => (list.words || !pinned.has(c.key)) && chosen(c));
  if (first.length + rest.length === 0 && list.of !== list.filter && list.loading) return html`<${Bones} />`;
  if (first.length + rest.length === 0 && !list.next) return html`<${Nothing} words=${list.words} filter=${list.filter} />`;
  return html`
    <${Part} title=${t("Pinned")} rows=${first} current=${current} words=${list.words} />
    <${Part} title=${list.words ? t("Found") : t("Recent")} rows=${rest} current=${current} words=${list.words} />
    ${list.next && html`<p class="more"><${Button} kind="quiet" disabled=${list.loading} onClick=${moreOfList}>${t("More conversations")}<//></p>`}`;
}

/** @param {{title: string, rows: import("../types.js").Row[], current?: string, words: string}} props */
const Part = ({ title, rows, current, words }) => rows.length > 0 && html`<h2>${title}</h2>
  <ul>${rows.map((c) => html`<li key=${c.key}><${Row} of=${c} current=${c.key === current} words=${words} /></li>`)}</ul>`;

/** @param {{problem: Error}} props */
const Failed = ({ problem }) => html`<${Notice} of="bad"><b>${t("The list could not be loaded.")}</b> ${"status" in problem ? problem.message : t("Dragoman cannot be reached.")}
  <div class="actions"><${Button} onClick=${loadList}>${t("Retry")}<//></div><//>`;

// Nothing says why there are no rows, and how to leave what hides them.
/** @param {{words: string, filter: string}} props */
function Nothing({ words, filter }) {
  const all = filter !== "All" && html`<${Button} onClick=${() => choose("All")}>${t("Show all conversations")}<//>`;
  if (words) return html`<${Empty} icon="search" title=${t("Nothing found")} actions=${all}>${t("No conversation fits. Search also looks into the words of messages.")} ${may("read") && t("It does not look into the talks of others.")}<//>`;
  if (all) return html`<${Empty} icon="search" title=${t("Nothing under “{0}”", t(filter))} actions=${all}>${t("No conversation is of this kind now.")}<//>`;
  return html`<${Empty} icon="message-circle" title=${t("Nobody has written yet")} actions=${html`<a class="button primary" href="/talk/new">${t("Say hello")}</a>${now().me && may("operate") && html`<a class="button" href="/channels">${t("Add a channel")}</a>`}`}>${t("Conversations from every channel appear here, the newest first.")}<//>`;
}
