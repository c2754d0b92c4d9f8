// A new conversation, before its first message.

import { html, useState } from "../../vendor/preact.js";
import { randomID } from "../api.js";
import { say } from "../outbox.js";
import { Icon } from "../parts/icon.js";
import { go, talkPath } from "../router.js";
import { useStore } from "../store.js";
import { t } from "../text.js";
import { Composer } from "./composer.js";

const mark = new URL("../../mark.svg", import.meta.url).pathname;
const tries = ["What can you do?", "What did we decide last week?", "Remind me tomorrow at nine", "Remember that I like short answers"];

// Hello makes a room whose name nobody has used, and goes there with the first message.
export function Hello() {
  const me = useStore((s) => s.me);
  const [room] = useState(() => "c" + randomID().slice(0, 10));
  if (!me?.home) return html`<main class="chat" id="main" tabindex="-1" />`;
  const key = `${me.home.slice(0, me.home.length - "default".length)}${room}`;
  const head = /** @type {import("../types.js").Conversation} */ ({ key, network: "web", own: true, message_count: 0 });
  return html`<main class="chat" id="main" tabindex="-1" aria-label=${t("New conversation")}>
    <header><a class="button quiet icononly back" href="/talk" aria-label=${t("Back to the list")}><${Icon} name="arrow-left" small flip /></a><h1 class="grow">${t("New conversation")}</h1></header>
    <div class="scroll"><${Tries} of=${key} /></div>
    <${Composer} of=${head} growing=${false} sent=${() => go(talkPath(key), true)} />
  </main>`;
}

// Tries greets, and offers things to say.
/** @param {{of: string}} props */
export function Tries({ of: key }) {
  const name = useStore((s) => s.me?.name) ?? "";
  const begin = (/** @type {string} */ text) => {
    say(key, text);
    go(talkPath(key), true);
  };
  return html`<div class="hello"><img src=${mark} alt="" width="44" height="44" /><h2>${greeting(name)}</h2>
    <p class="soft">${t("Ask anything, in any language. The conversation is kept when you close this page.")}</p>
    <div class="tries">${tries.map((text) => html`<button type="button" class="chip" onClick=${() => begin(t(text))}>${t(text)}</button>`)}</div></div>`;
}

// greeting names whoever has a name: the operator's links have none.
/** @param {string} name */
function greeting(name) {
  if (!name || name === "operator") return t("Welcome.");
  const hour = new Date().getHours();
  if (hour < 5 || hour >= 18) return t("Good evening, {0}.", name);
  return hour < 12 ? t("Good morning, {0}.", name) : t("Good afternoon, {0}.", name);
}
