// An open conversation: its pages, and what can be done in it.

import { get, patch, path, post, put, randomID, remove, Refused } from "./api.js";
import { changeRow, known, listed, listSoon } from "./list.js";
import { route } from "./router.js";
import { place } from "./scroll.js";
import { change, changeTalk, now } from "./store.js";
import { firstNew } from "./dated.js";
import { withBeginning } from "./written.js";

const pageSize = 50;
const mostDrawn = 400; // messages; what is farther from the reader is forgotten, and read again when they come there
const keptLive = 30; // turns
const mostMessages = 300; // of a conversation that is read at its end

/** @type {() => import("./types.js").Talk} */
const blank = () => ({ messages: [], feed: [], approvals: [], dead: [], loaded: false, loading: false });

// openTalk loads a conversation that a view shows. Others that were open are forgotten.
/** @param {string} key */
export async function openTalk(key) {
  if (!now().talks[key]) change({ talks: { [key]: blank() } });
  if (!known(key) && !isRoom(key)) await listed; // it says whether it may be read
  await reload(key);
}

let readings = 0;
/** @type {Record<string, number>} */
const newest = {}; // the last reading of a conversation that is shown

// reload reads the newest page again, and leaves the pages above it. Of two readings at a
// time, the one that began later counts.
/** @param {string} key */
export async function reload(key) {
  const reading = ++readings;
  try {
    const met = known(key) || isRoom(key) ? undefined : await get(path`conversations/${key}`); // else all would be refused
    if (isClosed(met ?? known(key))) return changeTalk(key, { head: met ?? known(key), loaded: true });
    const [messages, feed, running, approvals, there] = await Promise.all([
      get(path`conversations/${key}/messages`, { limit: pageSize }),
      get(path`conversations/${key}/feed`, { limit: pageSize }).catch(nothing),
      get(path`conversations/${key}/running`),
      get("approvals", { key, limit: 20 }).catch(nothing),
      met ?? (known(key) && get(path`conversations/${key}`).catch(noConversation)),
    ]);
    const head = there || (messages.data.length === 0 && isRoom(key) ? undefined : await get(path`conversations/${key}`).catch(noConversation));
    const dead = await givenUp(key, head);
    const talk = now().talks[key];
    if (!talk || reading < newest[key]) return;
    newest[key] = reading;
    if (talk.later) { // an older place is shown, which stays
      changeTalk(key, { head, running, approvals: approvals.data, feed: merged(talk.feed, feed.data), problem: undefined });
      return;
    }
    const first = messages.data[0]?.seq ?? 0;
    const above = talk.messages.filter((m) => m.seq < first);
    const joined = above.length > 0 && above.at(-1)?.seq === first - 1;
    const all = joined ? [...above, ...messages.data] : messages.data;
    const kept = place.atEnd ? all.slice(-mostDrawn) : all;
    const cut = kept.length < all.length;
    changeTalk(key, {
      head, running, approvals: approvals.data, dead, loaded: true, problem: undefined,
      messages: kept,
      earlier: cut ? String(kept[0].seq) : joined ? talk.earlier : messages.next,
      feed: merged(cut ? talk.feed.filter((f) => Date.parse(f.at) >= Date.parse(kept[0].at)) : talk.feed, feed.data),
      newFrom: talk.loaded ? talk.newFrom : firstNew(head, messages.data, now().me),
    });
    dropLive(running);
    markRead(key);
  } catch (problem) {
    changeTalk(key, { loaded: true, problem: /** @type {Error} */ (problem) });
  }
}

// isClosed: it is a talk of others, and reading along is not allowed.
/** @param {import("./types.js").Conversation} [head] */
export const isClosed = (head) => Boolean(head && !head.own && !head.readable);

// isRoom: it is a room of this person's on the page, which need not be there yet.
/** @param {string} key */
export function isRoom(key) {
  const home = now().me?.home ?? "";
  const mine = home.slice(0, home.length - "default".length);
  return home !== "" && key.startsWith(mine) && !key.slice(mine.length).includes("/"); // rooms of others are web:PERSON/ROOM
}

const nothing = () => ({ data: [] });

// noConversation: a room in which nobody has written yet is empty, not missing.
/** @param {unknown} problem */
function noConversation(problem) {
  if (problem instanceof Refused && problem.status === 404) return undefined;
  throw problem;
}

// givenUp are the deliveries of a conversation that will not be tried again.
/**
 * @param {string} key
 * @param {import("./types.js").Conversation | undefined} head
 */
async function givenUp(key, head) {
  if (!head?.given_up || !may("operate")) return [];
  const page = await get("queue", { limit: 200 }).catch(nothing);
  return page.data.filter((/** @type {import("./types.js").QueueItem} */ q) => q.kind === "out" && q.key === key && q.state === "dead");
}

// merged is a feed with the items of a newer reading of it.
/**
 * @param {import("./types.js").FeedItem[]} old
 * @param {import("./types.js").FeedItem[]} fresh
 */
function merged(old, fresh) {
  const first = fresh[0]?.seq ?? 0;
  return [...old.filter((f) => f.seq < first), ...fresh];
}

// dropLive forgets answers that are written to their end, and takes what is written of the
// running one. The thoughts of the last ones are kept: the transcript has none.
/** @param {import("./types.js").Running} running */
function dropLive({ turn: running, text }) {
  change((s) => {
    const live = Object.fromEntries(Object.entries(s.live).slice(-keptLive).map(([turn, l]) => [turn, turn === running || !l.text ? l : { ...l, text: "", from: undefined }]));
    const now = live[running] ?? { text: "", thought: "", tools: [] };
    return { live: running ? { ...live, [running]: { ...now, ...withBeginning(now, text ?? "") } } : live };
  });
}

/** @type {Record<string, ReturnType<typeof setTimeout>>} */
const soon = {};

// reloadSoon reads a conversation again in a moment, once for many events.
/** @param {string} key */
export function reloadSoon(key) {
  if (!now().talks[key]) return;
  soon[key] ??= setTimeout(() => {
    delete soon[key];
    reload(key);
  }, 60);
}

// loadEarlier reads the page before.
/** @param {string} key */
export async function loadEarlier(key) {
  const talk = now().talks[key];
  if (!talk?.earlier || talk.loading) return;
  changeTalk(key, { loading: true });
  try {
    const page = await get(path`conversations/${key}/messages`, { before: talk.earlier, limit: pageSize });
    const before = talk.feed[0]?.seq;
    const feed = before > 1 ? await get(path`conversations/${key}/feed`, { before, limit: 100 }).catch(nothing) : nothing();
    const all = [...page.data, ...now().talks[key].messages];
    const kept = all.slice(0, mostDrawn);
    changeTalk(key, {
      messages: kept, earlier: page.next, later: kept.length < all.length ? String(kept.at(-1).seq) : talk.later, loading: false,
      feed: [...feed.data, ...now().talks[key].feed],
    });
  } catch {
    changeTalk(key, { loading: false }); // the button is still there
  }
}

// trim forgets the older half of many messages. They are read again when somebody goes there.
/** @param {string} key */
export function trim(key) {
  const talk = now().talks[key];
  if (!talk || talk.later || talk.messages.length <= mostMessages) return;
  const messages = talk.messages.slice(-mostMessages / 2);
  const { seq, at } = messages[0];
  changeTalk(key, { messages, earlier: String(seq), feed: talk.feed.filter((f) => f.at >= at) });
}

// jump loads the messages around one, unless it is there.
/**
 * @param {string} key
 * @param {number} seq
 */
export async function jump(key, seq) {
  const loaded = now().talks[key]?.messages ?? [];
  if (loaded.some((m) => m.seq === seq)) return;
  const page = await get(path`conversations/${key}/messages`, { after: Math.max(0, seq - pageSize / 2), limit: pageSize });
  const first = page.data[0]?.seq ?? 1;
  const feed = await get(path`conversations/${key}/feed`, { limit: pageSize }).catch(nothing);
  changeTalk(key, { messages: page.data, earlier: first > 1 ? String(first) : undefined, later: page.next, feed: feed.data, loaded: true, newFrom: undefined });
}

// loadLater reads the page after an older place.
/** @param {string} key */
export async function loadLater(key) {
  const talk = now().talks[key];
  if (!talk?.later || talk.loading) return;
  changeTalk(key, { loading: true });
  try {
    const page = await get(path`conversations/${key}/messages`, { after: talk.later, limit: pageSize });
    const all = [...now().talks[key].messages, ...page.data];
    const kept = all.slice(-mostDrawn);
    changeTalk(key, { messages: kept, earlier: kept.length < all.length ? String(kept[0].seq) : talk.earlier, later: page.next, loading: false });
    if (!page.next) await reload(key);
  } catch {
    changeTalk(key, { loading: false }); // the button is still there
  }
}

// toNewest leaves an older place.
/** @param {string} key */
export async function toNewest(key) {
  if (!now().talks[key]?.later) return;
  changeTalk(key, { messages: [], earlier: undefined, later: undefined });
  await reload(key);
}

// markRead says that what is in sight was read. Reading along marks nothing.
/** @param {string} key */
export function markRead(key) {
  const head = now().talks[key]?.head;
  if (document.hidden || !head?.own || !head.unread || route().key !== key) return;
  changeRow(key, { unread: 0 });
  changeTalk(key, { head: { ...head, unread: 0 } });
  put(path`conversations/${key}/read`, { messages: head.message_count }).catch(() => {});
}

// markUnread makes the last message of somebody else new again.
/** @param {string} key */
export async function markUnread(key) {
  await remove(path`conversations/${key}/read`);
  const talk = now().talks[key];
  if (talk?.head) changeTalk(key, { head: { ...talk.head, unread: 1 } });
  listSoon();
}

const ranks = ["chat", "read", "operate", "admin"];

// may says whether this person's token has a scope.
/** @param {string} scope */
export const may = (scope) => ranks.indexOf(now().me?.scope ?? "chat") >= ranks.indexOf(scope);

/** @type {(key: string) => Promise<void>} */
export const stop = (key) => post(path`conversations/${key}/stop`, { id: randomID() });

/** @type {(key: string, model?: string) => Promise<void>} */
export const again = (key, model) => post(path`conversations/${key}/again`, { id: randomID(), model });

/** @type {(key: string) => Promise<void>} */
export const beginAnew = (key) => post(path`conversations/${key}/new`, { id: randomID() });

// summarise makes room in the model's window.
/** @type {(key: string) => Promise<void>} */
export const summarise = (key) => post(path`conversations/${key}/compact`, { id: randomID() });

// feedback says or takes back what this person thinks of an answer.
/**
 * @param {string} key
 * @param {number} seq
 * @param {string} value up, down, or "" to take it back
 */
export async function feedback(key, seq, value) {
  const given = value ? { value, at: new Date().toISOString() } : undefined;
  changeTalk(key, { messages: now().talks[key].messages.map((m) => (m.seq === seq ? { ...m, feedback: given } : m)) });
  await (value ? put(path`conversations/${key}/messages/${seq}/feedback`, { value }) : remove(path`conversations/${key}/messages/${seq}/feedback`));
}

// decide answers a question about a call. It returns what became of it, in words.
/**
 * @param {import("./types.js").Approval} approval
 * @param {string} answer
 */
export async function decide(approval, answer) {
  const decision = await post(path`approvals/${approval.id}`, { answer });
  const talk = now().talks[approval.key];
  if (talk) changeTalk(approval.key, { approvals: talk.approvals.map((a) => (a.id === approval.id ? decision.approval : a)) });
  return decision;
}

// tryAgain and drop are for deliveries that were given up.
/** @type {(item: import("./types.js").QueueItem) => Promise<void>} */
export const tryAgain = (item) => post(path`queue/${item.id}/retry`);
/** @type {(item: import("./types.js").QueueItem) => Promise<void>} */
export const drop = (item) => remove(path`queue/${item.id}`);

/**
 * @param {string} key
 * @param {string} title
 */
export async function rename(key, title) {
  changeRow(key, { title });
  await put(path`conversations/${key}/title`, { title });
  listSoon();
  reloadSoon(key);
}

// configure changes settings of a conversation: model, system_prompt, tag, untag.
/**
 * @param {string} key
 * @param {object} parts
 */
export async function configure(key, parts) {
  await patch(path`conversations/${key}`, parts);
  reloadSoon(key);
}
