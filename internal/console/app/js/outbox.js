// Messages that are not known to be on the server's disk. They survive the page, and are
// sent in order under ids that make a repeat safe. They and drafts belong to whoever wrote
// them: somebody else who logs in here neither sees nor sends them.

import { path, post, randomID, Refused } from "./api.js";
import { keep, kept, keptNames } from "./kept.js";
import { change, now } from "./store.js";
import { reload } from "./talk.js";
import { t } from "./text.js";
import { writesIn } from "./dated.js";

const entry = (/** @type {string} */ id) => "unsent." + id; // one for each, so that two tabs do not overwrite each other's
/** @type {Record<string, string>} */
const places = { message: "messages", reply: "replies", me: "replies" };
let busy = false;
let tries = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

// who writes here: until the server has said so, whoever did last.
/** @returns {string} */
const who = () => now().me?.person ?? kept("person") ?? "";
const draft = () => `draft.${encodeURIComponent(who())} `; // a space is in no name that is encoded

// restore finds what an earlier page could not send, and drafts.
export function restore() {
  const unsent = keptNames("unsent.").map(kept).filter((m) => m && typeof m.id === "string" && typeof m.text === "string" && (m.person ?? who()) === who());
  change({
    unsent: unsent.sort((a, b) => (a.at < b.at ? -1 : 1)),
    drafts: Object.fromEntries(keptNames(draft()).map((name) => [name.slice(draft().length), kept(name)])),
  });
}

// arrive is called when the server has said who writes here.
export function arrive() {
  const before = kept("person");
  keep("person", who());
  if (before !== who()) restore();
}

// Somebody else has logged in in another tab, so this one would write in their name.
addEventListener("storage", (event) => {
  if (event.key === "dragoman.person" && now().me && kept("person") !== who()) location.reload();
});

/**
 * @param {string} key
 * @param {string} text
 */
export function keepDraft(key, text) {
  keep(draft() + key, text);
  change((s) => ({ drafts: { ...s.drafts, [key]: text } }));
}

// say keeps a message and sends it. as: "message", or in the talk of others "reply", in the
// assistant's name, or "me".
/**
 * @param {string} key
 * @param {string} text
 * @param {{id?: string, as?: string, model?: string, edits?: {seq: number}, files?: import("./types.js").Unsent["files"]}} [how]
 */
export function say(key, text, how = {}) {
  const message = { id: randomID(), key, text, at: new Date().toISOString(), as: "message", person: who(), ...how };
  if (!now().talks[key]?.loaded) writesIn(key);
  keep(entry(message.id), message);
  change((s) => ({ unsent: [...s.unsent, message] }));
  flush();
}

// takeBack removes a message that was refused, and returns its text.
/** @param {string} id */
export function takeBack(id) {
  const found = now().unsent.find((m) => m.id === id);
  forget(id);
  return found?.text ?? "";
}

/** @param {string} id */
function forget(id) {
  keep(entry(id), undefined);
  change((s) => ({ unsent: s.unsent.filter((m) => m.id !== id) }));
}

/**
 * @param {string} id
 * @param {Partial<import("./types.js").Unsent>} parts
 */
const mark = (id, parts) => change((s) => ({ unsent: s.unsent.map((m) => (m.id === id ? { ...m, ...parts } : m)) }));

// flush sends what waits. What is refused for good is marked; after any other failure it
// tries again, and later messages wait.
export async function flush() {
  clearTimeout(timer);
  if (busy) return;
  busy = true;
  for (let next; (next = now().unsent.find((m) => !m.refused)); ) {
    try {
      await send(next);
      tries = 0;
      await reload(next.key);
      forget(next.id);
    } catch (problem) {
      if (problem instanceof Refused && !problem.again) {
        const { sentence } = await import("./told.js");
        mark(next.id, { problem: sentence(problem.message), refused: true });
        continue;
      }
      mark(next.id, { problem: problem instanceof Refused ? problem.message : t("Not sent yet. It is saved and will be sent.") });
      timer = setTimeout(flush, Math.min(10_000, 500 * 2 ** tries++));
      break;
    }
  }
  busy = false;
}

/** @param {import("./types.js").Unsent} m */
function send(m) {
  if (m.edits) return post(path`conversations/${m.key}/messages/${m.edits.seq}/edit`, { id: m.id, text: m.text, model: m.model });
  const files = m.files?.length ? m.files.map(({ ref, name, type, seconds }) => ({ ref, name, type, seconds })) : undefined;
  return post(path`conversations/${m.key}/${places[m.as ?? "message"]}`, { id: m.id, text: m.text, model: m.model, files, as: m.as === "me" ? "me" : undefined });
}
