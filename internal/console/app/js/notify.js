// Notifications, while a tab or the installed page is open and nobody looks at it. They say
// who, never what: others may see the screen. Tabs of one browser use the same tags, so that
// one of them is shown.

import { known } from "./list.js";
import { hear } from "./live.js";
import { go, talkPath } from "./router.js";
import { network } from "./parts/avatar.js";
import { now } from "./store.js";
import { t } from "./text.js";

// canAsk: the browser has notifications here, and was not asked yet. On plain http under a
// name that is not the machine's own it has none.
export const canAsk = () => "Notification" in window && isSecureContext && Notification.permission === "default";

/**
 * @param {string} body
 * @param {string} path where a click leads
 * @param {string} tag
 */
function tell(body, path, tag) {
  if (!("Notification" in window) || Notification.permission !== "granted" || !document.hidden) return;
  try {
    const shown = new Notification("Dragoman", { body, tag, icon: new URL("../mark.svg", import.meta.url).pathname });
    shown.onclick = () => {
      window.focus();
      go(path);
      shown.close();
    };
  } catch {
    // Phones want a worker for it, which the policy does not allow.
  }
}

// notifyAnswers tells of answers in conversations of this person.
export function notifyAnswers() {
  hear((e) => {
    if (e.event === "turn_done" && e.outcome === "answered" && e.key && known(e.key)?.own) tell(answerIn(e.key), talkPath(e.key), `answer ${e.key}`);
  });
}

// notifyWaiting tells of things that wait since the last time.
/**
 * @param {import("./types.js").WaitingItem[]} before
 * @param {import("./types.js").WaitingItem[]} items
 */
export function notifyWaiting(before, items) {
  const known = new Set(before.map((i) => i.id));
  for (const i of items) {
    if (known.has(i.id)) continue;
    if (i.kind === "approval") tell(askedFor(i.of), "/you", i.id);
    else if (i.kind === "pairing") tell(t("{0} wants to talk", i.of.name || i.of.person_id), "/you", i.id);
    else if (i.kind === "channel") tell(t("The channel {0} needs a hand.", i.of.name), "/you", i.id);
    else if (i.kind === "dead") tell(t("An answer could not be delivered: {0}", whose(i.of.key)), "/you", i.id);
    else tell(t("Something waits for you."), "/you", i.id);
  }
}

// whose says whose conversation it is: the person, or the network. Titles may say what it is
// about.
/** @param {string} key */
function whose(key) {
  const person = now().names?.[key];
  return person ?? t(network(known(key)?.network ?? key.split(":")[0])[1]);
}

/** @param {string} key */
export const answerIn = (key) => t("Dragoman has answered: {0}", whose(key));

// askedFor names who wants something done, if the page knows them.
/** @param {import("./types.js").Approval} a */
export function askedFor(a) {
  return t("Dragoman asks whether it may do something for {0}.", now().names?.[a.requester] ?? whose(a.key));
}
