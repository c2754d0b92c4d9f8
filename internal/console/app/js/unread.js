// Where the mark "New" is drawn when a conversation is opened.

import { now } from "./store.js";

/** @type {Set<string>} */
const wrote = new Set();

// writesIn says that this person writes in a conversation that the page has yet to open: they
// see the answer come, so it is not new.
/** @param {string} key */
export function writesIn(key) {
  if (!now().talks[key]?.loaded) wrote.add(key);
}

// firstNew is the seq at which the mark is drawn.
/**
 * @param {import("./types.js").Conversation | undefined} head
 * @param {import("./types.js").Message[]} messages
 */
export function firstNew(head, messages) {
  const seen = Boolean(head && wrote.delete(head.key));
  if (seen || !head?.own || !head.unread || head.unread >= head.message_count) return undefined;
  const fresh = messages.filter((m) => counts(m, head)).slice(-head.unread);
  return fresh.length === head.unread ? fresh[0].seq : undefined; // else all that is here is new
}

// counts says whether a message counts as unread, as the server has it: the steps to an answer
// do not, nor what this person wrote.
/**
 * @param {import("./types.js").Message} m
 * @param {import("./types.js").Conversation} head
 */
function counts(m, head) {
  if (m.role === "tool" || m.tool_calls?.length) return false;
  if (m.role !== "user" || m.via === "reply") return true;
  const me = now().me;
  const mine = m.sender === me?.person || me?.identities.includes(`${head.key.split(":")[0]}:${m.sender}`);
  return head.group && !mine;
}
