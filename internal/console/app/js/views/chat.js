// An open conversation: its head, its messages, its composer.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { known } from "../list.js";
import { Bones } from "../parts/bones.js";
import { Button } from "../parts/button.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { Lazily } from "../parts/lazily.js";
import { Notice } from "../parts/notice.js";
import { useScroll } from "../scroll.js";
import { useStore } from "../store.js";
import { styled } from "../styled.js";
import { isClosed, isRoom, loadEarlier, loadLater, markRead, openTalk, reload, toNewest, trim } from "../talk.js";
import { t } from "../text.js";
import { entriesOf, newestOf } from "../turns.js";
import { ChatHead } from "./chathead.js";
import { Composer } from "./composer.js";
import { Entry } from "./entry.js";
import { titleOf } from "./row.js";

const tries = () => import("./hello.js").then((m) => m.Tries);
const find = () => Promise.all([import("./find.js"), styled("find")]).then(([m]) => m.Find);

/** @param {{of: string, at?: number, details: boolean, hidden?: boolean}} props */
export function Chat({ of: key, at, details, hidden }) {
  const talk = useStore((s) => s.talks[key]);
  const me = useStore((s) => s.me);
  const unsent = useStore((s) => s.unsent);
  const row = useStore(() => known(key));
  const [quote, setQuote] = useState("");
  const [editing, setEditing] = useState(/** @type {{seq: number, text: string} | undefined} */ (undefined));
  useEffect(() => {
    openTalk(key);
    const seen = () => markRead(key);
    document.addEventListener("visibilitychange", seen);
    return () => document.removeEventListener("visibilitychange", seen);
  }, [key]);
  const finding = useStore((s) => (s.finding?.key === key ? s.finding : undefined));
  useEffect(() => {
    if (at !== undefined && talk?.loaded) import("../find.js").then((m) => m.arrive(key, at));
  }, [key, at, talk?.loaded]);
  const along = Boolean(talk?.head && !talk.head.own && !isClosed(talk.head));
  useEffect(() => {
    if (!along) return;
    let over = false;
    let leave = () => {};
    import("../along.js").then((m) => { if (!over) leave = m.readAlong(key); }, () => {});
    return () => {
      over = true;
      leave();
    };
  }, [key, along]);
  const head = row ?? /** @type {import("../types.js").Conversation} */ ({ key, network: key.split(":")[0], own: isRoom(key), message_count: 0 });
  const entries = talk?.loaded && me ? entriesOf(talk, unsent.filter((m) => m.key === key), me) : [];
  const growing = entries.some((e) => e.growing);
  const newest = entries.at(-1);
  const scroll = useScroll(talk?.loaded ?? false, (newest?.kind === "answer" ? newest.turn : newest?.id) ?? "", Boolean(talk?.later));
  useEffect(() => { if (scroll.atEnd.current) trim(key); }, [talk?.messages.length]);
  const them = head.group ? t("the group") : writerOf(talk) ?? titleOf(head);
  const end = () => (talk?.later ? toNewest(key).then(scroll.toEnd) : scroll.toEnd());
  const Frame = hidden ? "section" : "main";
  if (isClosed(row)) return html`<${Frame} class="chat" id=${hidden ? null : "main"} tabindex="-1" aria-label=${titleOf(head)}><${ChatHead} of=${head} growing=${false} details=${details} /><div class="scroll"><${Closed} /></div><//>`;
  const say = { quote: setQuote, edit: setEditing, talkKey: key, own: Boolean(head.own), answering: growing, net: head.network ?? "", last: newestOf(entries) };
  return html`<${Frame} class="chat" id=${hidden ? null : "main"} tabindex="-1" aria-label=${titleOf(head)}>
    <${ChatHead} of=${head} growing=${growing} details=${details} />
    ${along && html`<p class="readalong"><${Icon} name="eye" small /><span>${alongIn(head, writerOf(talk))}</span></p>`}
    ${finding && html`<${Lazily} load=${find} props=${{ of: finding }} />`}
    <div class="scroll" ref=${scroll.box} onScroll=${() => scroll.moved(() => loadEarlier(key), () => loadLater(key))} tabindex="0" role="log" aria-label=${t("Messages")} aria-live="off">
      <div class="column">
        ${talk?.problem && html`<${Notice} of="bad"><b>${t("This conversation could not be loaded.")}</b> ${"status" in talk.problem ? talk.problem.message : t("Dragoman cannot be reached.")}<div class="actions"><${Button} onClick=${() => reload(key)}>${t("Retry")}<//></div><//>`}
        ${!talk?.loaded && html`<${Bones} of=${4} />`}
        ${talk?.earlier && html`<p class="earlier"><${Button} kind="quiet" disabled=${talk.loading} onClick=${() => loadEarlier(key)}>${t("Earlier messages")}<//></p>`}
        ${talk?.loaded && !talk.problem && entries.length === 0 && html`<${Lazily} load=${tries} props=${{ of: key }} />`}
        ${entries.map((e) => html`<${Entry} key=${e.id} of=${e} say=${say} />`)}
        ${talk?.later && html`<p class="earlier"><${Button} kind="quiet" disabled=${talk.loading} onClick=${() => loadLater(key)}>${t("Later messages")}<//></p>`}
      </div>
    </div>
    <${Composer} of=${head} to=${them} growing=${growing} quote=${quote} setQuote=${setQuote} editing=${editing} stopEditing=${() => setEditing(undefined)} jump=${talk?.later || scroll.away || scroll.far ? end : undefined} news=${Boolean(talk?.later || scroll.away)} sent=${end} />
  <//>`;
}

// writerOf is the name of who wrote last, if anybody did.
/** @param {import("../types.js").Talk} [talk] */
const writerOf = (talk) => [...(talk?.messages ?? []), ...(talk?.running?.messages ?? [])].findLast((m) => m.role === "user" && m.name && m.via !== "reply")?.name;

// alongIn says what reading along means for those who talk there: they were told that it can
// happen, and not each time that it does.
/**
 * @param {import("../types.js").Conversation} head
 * @param {string} [writer]
 */
const alongIn = (head, writer) => (head.group || !writer
  ? t("You read along. Whoever talks here was told that you can, and does not see when you do. Nothing is marked as read.")
  : t("You read along. {0} was told that you can, and does not see when you do. Nothing is marked as read.", writer));

// Closed is a talk of others that nobody else may read.
const Closed = () => html`<${Empty} icon="eye" title=${t("This is a talk of others")}>${t("Only they read it. The setting people.read_along lets you read along, and tells them.")}<//>`;
