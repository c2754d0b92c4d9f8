// An open conversation: its head, its messages, its composer.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { known } from "../list.js";
import { Bones } from "../parts/bones.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Notice } from "../parts/notice.js";
import { useScroll } from "../scroll.js";
import { useStore } from "../store.js";
import { loadEarlier, markRead, openTalk, reload } from "../talk.js";
import { t } from "../text.js";
import { entriesOf } from "../turns.js";
import { ChatHead } from "./chathead.js";
import { Composer } from "./composer.js";
import { Entry } from "./entry.js";
import { Tries } from "./hello.js";
import { titleOf } from "./row.js";

/** @param {{of: string, details: boolean, hidden?: boolean}} props */
export function Chat({ of: key, details, hidden }) {
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
  const head = row ?? /** @type {import("../types.js").Conversation} */ ({ key, network: key.split(":")[0], own: !talk?.head, message_count: 0 });
  const entries = talk?.loaded && me ? entriesOf(talk, unsent.filter((m) => m.key === key), me) : [];
  const growing = entries.some((e) => e.growing);
  const scroll = useScroll(talk?.loaded ?? false, entries.at(-1)?.id ?? "");
  const Frame = hidden ? "section" : "main";
  const say = { quote: setQuote, edit: setEditing, talkKey: key, own: Boolean(head.own), answering: growing, net: head.network ?? "" };
  return html`<${Frame} class="chat" id=${hidden ? null : "main"} tabindex="-1" aria-label=${titleOf(head)}>
    <${ChatHead} of=${head} growing=${growing} details=${details} />
    ${talk?.head && !talk.head.own && html`<p class="readalong"><${Icon} name="eye" small /><span>${t("You read along. {0} does not see that, and nothing is marked as read.", head.group ? t("The group") : talk.messages.findLast((m) => m.role === "user" && m.name)?.name ?? titleOf(head))}</span></p>`}
    <div class="scroll" ref=${scroll.box} onScroll=${() => scroll.moved(() => loadEarlier(key))} tabindex="0" role="log" aria-label=${t("Messages")} aria-live="off">
      <div class="column">
        ${talk?.problem && html`<${Notice} of="bad"><b>${t("This conversation could not be loaded.")}</b> ${"status" in talk.problem ? talk.problem.message : t("Dragoman cannot be reached.")}<div class="actions"><${Button} onClick=${() => reload(key)}>${t("Retry")}<//></div><//>`}
        ${!talk?.loaded && html`<${Bones} of=${4} />`}
        ${talk?.earlier && html`<p class="earlier"><${Button} kind="quiet" disabled=${talk.loading} onClick=${() => loadEarlier(key)}>${t("Earlier messages")}<//></p>`}
        ${talk?.loaded && !talk.problem && entries.length === 0 && html`<${Tries} of=${key} />`}
        ${entries.map((e) => html`<${Entry} key=${e.id} of=${e} say=${say} />`)}
      </div>
    </div>
    <${Composer} of=${head} growing=${growing} quote=${quote} setQuote=${setQuote} editing=${editing} stopEditing=${() => setEditing(undefined)} jump=${scroll.away ? scroll.toEnd : undefined} sent=${scroll.toEnd} />
  <//>`;
}
