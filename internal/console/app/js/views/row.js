// A conversation in the list.

import { html } from "../../vendor/preact.js";
import { Avatar, network } from "../parts/avatar.js";
import { Count } from "../parts/count.js";
import { Icon } from "../parts/icon.js";
import { talkPath } from "../router.js";
import { now, useStore } from "../store.js";
import { shortTime, t, wholeTime } from "../text.js";

// titleOf is the name of a conversation for people: its title, else how it began, else the
// chat's own name. Of a group that is only a number, the end of it tells it from others.
/** @param {import("../types.js").Conversation} c */
export function titleOf(c) {
  if (c.title) return c.title;
  if (c.derived_title) return c.derived_title.replace(/\s*\[\w+ "[^"]*",.*$/, "") || t("A file"); // a line about a file is for the model
  const chat = c.key.slice(c.key.indexOf(":") + 1);
  const person = now().names?.[c.network === "web" ? chat.slice(0, chat.lastIndexOf("/")) : c.key];
  if (c.network === "web") return person ? t("{0}: {1}", person, roomOf(chat)) : roomOf(chat);
  const end = c.group && /^[-\d:]*?(\d{1,4})(@g\.us)?$/.exec(chat);
  return person ?? (end ? t("Group {0} on {1}", end[1], t(network(c.network)[1])) : chat || c.key);
}

// roomOf is what a room of the page is called that has no title.
/** @param {string} chat */
function roomOf(chat) {
  const room = chat.slice(chat.lastIndexOf("/") + 1);
  if (/^c[0-9a-f]{10}$/.test(room)) return t("New conversation");
  return room === "default" ? t("Main conversation") : room;
}

/** @param {{of: import("../types.js").Row, current: boolean, words: string}} props */
export function Row({ of: c, current, words }) {
  const draft = useStore((s) => s.drafts[c.key]);
  useStore((s) => s.names); // a title may be one
  const unread = c.own ? c.unread ?? 0 : 0;
  const name = titleOf(c);
  const asks = Boolean(c.waiting) && ["question", "form"].includes(c.last?.kind ?? "");
  const at = c.hit?.message.at ?? c.last?.at ?? c.updated;
  return html`<a class=${unread ? "row unread" : "row"} href=${talkPath(c.key, c.hit?.message.seq)} aria-current=${current ? "page" : null}>
    <${Avatar} name=${name} net=${c.network} />
    <span class="name cut" dir="auto"><${Marked} text=${name} words=${words} /><span class="unseen">, ${t(network(c.network)[1])}</span></span>
    ${at && html`<time datetime=${at} title=${wholeTime(at)}>${shortTime(at)}</time>`}
    <span class=${c.given_up ? "last cut bad" : "last cut"} dir="auto"><${Last} of=${c} draft=${current ? "" : draft} words=${words} /></span>
    <span class="marks">
      ${c.answering && !asks && html`<span class="good"><${Icon} name="loader-circle" spin label=${t("is answering")} /></span>`}
      ${asks && html`<span class="warn"><${Icon} name="hand" label=${t("waits for you")} /></span>`}
      ${c.given_up ? html`<span class="bad"><${Icon} name="circle-alert" label=${t("could not be delivered")} /></span>` : null}
      <${Count} of=${unread} label=${t("unread")} />
    </span>
  </a>`;
}

/** @param {{of: import("../types.js").Row, draft?: string, words: string}} props */
function Last({ of: c, draft, words }) {
  if (c.hit) return html`<${Found} hit=${c.hit} />`;
  if (draft) return html`<b class="warn">${t("Draft")}: </b>${draft.slice(0, 160)}`;
  if (!c.last) return c.own ? t("No messages") : c.readable ? t("Open it to read along") : t("A talk of others");
  const who = c.last.from === "person" && (c.group || !c.own) && c.last.name ? `${c.last.name}: ` : c.last.from === "person" && c.own ? `${t("You")}: ` : "";
  const [icon, word] = filed[c.last.file ?? ""] ?? [];
  if (icon) return html`${who}<${Icon} name=${icon} small /> ${t(word)}`;
  return html`${who}<${Marked} text=${c.last.text} words=${words} />`;
}

// filed are signs and words for a file that nothing was said with.
/** @type {Record<string, [string, string]>} */
const filed = {
  image: ["image", "Picture"], sticker: ["image", "Sticker"], voice: ["mic", "Voice message"], audio: ["volume-2", "Sound"], video: ["play", "Video"], document: ["paperclip", "File"],
};

// Found is the place of a message in which most of the words are.
/** @param {{hit: import("../types.js").Hit}} props */
export function Found({ hit }) {
  const { content } = hit.message;
  const near = (/** @type {{start: number}} */ m) => hit.marks.filter((o) => o.start >= m.start && o.start < m.start + 60).length;
  const first = hit.marks.reduce((best, m) => (near(m) > near(best) ? m : best), hit.marks[0]);
  if (!first) return content.slice(0, 120);
  const begin = Math.max(0, first.start - 12);
  const end = first.start + first.length;
  return html`${begin ? "… " : ""}${plain(content.slice(begin, first.start))}<mark>${content.slice(first.start, end)}</mark>${plain(content.slice(end, end + 120))}`;
}

// plain leaves out the signs of Markdown that are no words: one line has no use for them.
/** @param {string} text */
const plain = (text) => text.replace(/\*\*?|__|`+|\||^ {0,3}(#{1,6}|>) /gm, "");

/** @param {{text: string, words: string}} props */
function Marked({ text, words }) {
  const at = words ? text.toLowerCase().indexOf(words.toLowerCase()) : -1;
  return at < 0 ? text : html`${text.slice(0, at)}<mark>${text.slice(at, at + words.length)}</mark>${text.slice(at + words.length)}`;
}
