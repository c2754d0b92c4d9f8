// What can be done, for the menus: in an open conversation, and on the page.

import { closeFind, openFind } from "./find.js";
import { focusSoon } from "./focus.js";
import { pin } from "./list.js";
import { toast, trouble } from "./parts/toast.js";
import { go, talkPath } from "./router.js";
import { now } from "./store.js";
import { again, beginAnew, isClosed, markUnread, may, stop } from "./talk.js";
import { t } from "./text.js";
import { exportURL } from "./views/chathead.js";
import { switchTheme } from "./views/nav.js";

/** @typedef {{icon: string, text: string, act: () => void}} Action */

// actionsOf are those in a conversation.
/**
 * @param {import("./types.js").Conversation} c
 * @returns {Action[]}
 */
export function actionsOf(c) {
  if (isClosed(c)) return [];
  const changes = c.own || may("operate");
  const running = now().talks[c.key]?.running?.turn;
  const all = /** @type {(Action | false | "" | undefined)[]} */ ([
    running && { icon: "square", text: t("Stop the answer"), act: () => stop(c.key).catch(trouble) },
    { icon: "search", text: t("Search in this conversation"), act: () => openFind(c.key) },
    { icon: "panel-right", text: t("Details"), act: () => go(talkPath(c.key, "details")) },
    changes && { icon: "pencil", text: t("Rename"), act: () => rename(c.key) },
    { icon: "pin", text: c.pinned ? t("Unpin") : t("Pin"), act: () => pin(c.key, !c.pinned).catch(trouble) },
    c.own && { icon: "bell", text: t("Mark as unread"), act: () => leaveUnread(c.key) },
    c.own && !running && { icon: "rotate-cw", text: t("Retry the last answer"), act: () => again(c.key).catch(trouble) },
    changes && { icon: "undo-2", text: t("Start anew"), act: () => beginAnew(c.key).then(() => toast(t("A new start. What was said before is kept.")), trouble) },
    { icon: "download", text: t("Export"), act: () => location.assign(exportURL(c.key)) },
  ]);
  return all.flatMap((one) => (one ? [one] : []));
}

// actionsHere are those that are there in each view.
/**
 * @param {() => void} keys
 * @returns {Action[]}
 */
export const actionsHere = (keys) => [
  { icon: "plus", text: t("New conversation"), act: () => go("/talk/new") },
  { icon: "sun-moon", text: t("Light, dark or as the system"), act: switchTheme },
  { icon: "keyboard", text: t("Show all keys"), act: keys },
];

/** @param {string} key */
export function rename(key) {
  go(talkPath(key, "details"));
  focusSoon("title");
}

// leaveUnread makes a conversation new again, and leaves it: open, it would be read.
/** @param {string} key */
export async function leaveUnread(key) {
  closeFind();
  go("/talk");
  try {
    await markUnread(key);
    toast(t("It is unread again."));
  } catch (problem) {
    trouble(problem);
  }
}
