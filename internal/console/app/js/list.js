// The list of conversations: what it asks the server for, and when.

import { get, path, put, remove } from "./api.js";
import { change, changeList, now } from "./store.js";

const pageSize = 50;
/** @type {() => void} */
let begun = () => {};
// listed is when the list was read for the first time, or could not be.
export const listed = new Promise((done) => { begun = () => done(undefined); });
let asked = 0; // a late answer to an earlier question is dropped

/** @type {Record<string, (c: import("./types.js").Row) => unknown>} */
export const filters = {
  All: () => true,
  Unread: (c) => c.own && c.unread,
  Waiting: (c) => c.waiting || c.given_up,
  Private: (c) => !c.group,
  Groups: (c) => c.group,
};

// kinds are the filters, as the server knows them.
/** @type {Record<string, string>} */
const kinds = { Unread: "unread", Waiting: "waiting", Private: "private", Groups: "groups" };

// choose filters the list: at once what is there, and then all that the server has.
/** @param {string} filter */
export function choose(filter) {
  changeList({ filter });
  return loadList();
}

// loadList reads the first page again. Rows of later pages that were loaded stay.
export async function loadList() {
  const mine = ++asked;
  const { words, filter } = now().list;
  changeList({ loading: true });
  try {
    const [page, pinned, hits] = await Promise.all([
      get("conversations", { limit: pageSize, text: words, only: kinds[filter] }),
      words ? { data: [] } : get("conversations", { pinned: true }),
      words ? get("search", { query: words, limit: pageSize }) : { data: [] },
    ]);
    if (mine !== asked) return;
    const rows = [...page.data, ...(await found(hits.data, page.data))];
    if (mine !== asked) return;
    const { rows: before, next: nextBefore, words: wordsBefore, of } = now().list;
    const keep = !words && wordsBefore === words && of === filter && before.length > pageSize ? later(before, rows) : [];
    changeList({ rows: [...rows, ...keep], of: filter, pinned: pinned.data, next: keep.length ? nextBefore : page.next, loaded: true, loading: false, problem: undefined });
  } catch (problem) {
    if (mine === asked) changeList({ loading: false, loaded: true, problem: /** @type {Error} */ (problem) });
  }
  if (mine === asked) begun();
}

// later are the rows that a new first page does not have.
/**
 * @param {import("./types.js").Row[]} before
 * @param {import("./types.js").Row[]} page
 */
function later(before, page) {
  const known = new Set(page.map((c) => c.key));
  const oldest = page.at(-1)?.updated ?? "";
  return before.filter((c) => !known.has(c.key) && (c.updated ?? "") <= oldest);
}

// findTalks are conversations with words in their titles, then those with them in messages.
/**
 * @param {string} words
 * @param {number} limit
 * @returns {Promise<import("./types.js").Row[]>}
 */
export async function findTalks(words, limit) {
  const [titled, hits] = await Promise.all([get("conversations", { limit, text: words }), get("search", { query: words, limit: 3 * limit })]);
  return [...titled.data, ...(await found(hits.data, titled.data, limit))];
}

// found makes rows of hits: one a conversation, the best.
/**
 * @param {import("./types.js").Hit[]} hits
 * @param {import("./types.js").Row[]} titled
 */
async function found(hits, titled, limit = 20) {
  const known = new Set(titled.map((c) => c.key));
  const best = hits.filter((hit) => !known.has(hit.key) && known.add(hit.key)).slice(0, limit);
  const heads = await Promise.all(best.map((hit) => get(path`conversations/${hit.key}`).catch(() => undefined)));
  return heads.flatMap((head, i) => (head ? [{ ...head, hit: best[i] }] : []));
}

export async function moreOfList() {
  const { next, words, loading, filter } = now().list;
  if (!next || loading) return;
  changeList({ loading: true });
  try {
    const page = await get("conversations", { limit: pageSize, text: words, only: kinds[filter], after: next });
    const known = new Set(now().list.rows.map((c) => c.key));
    const rows = [...now().list.rows, ...page.data.filter((/** @type {import("./types.js").Row} */ c) => !known.has(c.key))];
    changeList({ rows, next: page.next, loading: false });
  } catch {
    changeList({ loading: false }); // the button is still there
  }
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;

// listSoon reads the list again in a moment, once for many events.
export function listSoon() {
  soon ??= setTimeout(() => {
    soon = undefined;
    loadList();
  }, 250);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;

/** @param {string} words */
export function searchList(words) {
  changeList({ words, loading: true });
  clearTimeout(typing);
  typing = setTimeout(loadList, 200);
}

// changeRow changes what the list shows of a conversation at once; the server follows.
/**
 * @param {string} key
 * @param {Partial<import("./types.js").Row>} parts
 */
export function changeRow(key, parts) {
  const row = (/** @type {import("./types.js").Row} */ c) => (c.key === key ? { ...c, ...parts } : c);
  change((s) => ({ list: { ...s.list, rows: s.list.rows.map(row), pinned: s.list.pinned.map(row) } }));
}

/**
 * @param {string} key
 * @param {boolean} on
 */
export async function pin(key, on) {
  changeRow(key, { pinned: on });
  await (on ? put(path`conversations/${key}/pin`) : remove(path`conversations/${key}/pin`));
  await loadList();
}

// known is what the page knows of the head of a conversation.
/** @param {string} key */
export const known = (key) => now().talks[key]?.head ?? [...now().list.rows, ...now().list.pinned].find((c) => c.key === key);
