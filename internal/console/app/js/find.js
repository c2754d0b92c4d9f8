// Searching in an open conversation: the messages with some words, one after the other, and
// the way to a message that is not loaded yet.

import { get } from "./api.js";
import { change, now } from "./store.js";
import { styled } from "./styled.js";
import { jump } from "./talk.js";
import { show } from "./target.js";

/** @typedef {import("./types.js").Finding} Finding */

const most = 200;
let asked = 0;

/** @param {Partial<Finding>} parts */
const changeFinding = (parts) => change((s) => (s.finding ? { finding: { ...s.finding, ...parts } } : {}));

// openFind opens the search of a conversation, with words and at a message, if there are any.
/**
 * @param {string} key
 * @param {string} [words]
 * @param {number} [seq]
 */
export function openFind(key, words = "", seq) {
  change({ finding: { key, words, hits: [], at: 0, loading: false } });
  if (words) look(words, seq);
}

// arrive goes to the message that the address of a conversation names, and marks the words by
// which it was found.
/**
 * @param {string} key
 * @param {number} seq
 */
export async function arrive(key, seq) {
  const { finding, list } = now();
  const words = finding?.key === key ? finding.words : list.words;
  if (words) return openFind(key, words, seq);
  await styled("find");
  await jump(key, seq);
  requestAnimationFrame(() => requestAnimationFrame(() => show(seq)));
}

// foundBy keeps the words by which a message was found, for the way there.
/**
 * @param {string} key
 * @param {string} words
 */
export const foundBy = (key, words) => change({ finding: { key, words, hits: [], at: 0, loading: true } });

export const closeFind = () => change({ finding: undefined });

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;

// typeWords searches when nothing was typed for a moment.
/** @param {string} words */
export function typeWords(words) {
  changeFinding({ words });
  clearTimeout(typing);
  typing = setTimeout(() => look(words), 250);
}

// look finds the messages with these words, and goes to the newest, or to the one with seq.
/**
 * @param {string} words
 * @param {number} [seq]
 */
async function look(words, seq) {
  const finding = now().finding;
  const mine = ++asked;
  if (!finding) return;
  if (!words.trim()) return changeFinding({ hits: [], at: 0, loading: false, problem: undefined });
  changeFinding({ loading: true });
  try {
    const page = await get("search", { query: words, key: finding.key, limit: most });
    if (mine !== asked) return;
    const hits = page.data.filter((/** @type {import("./types.js").Hit} */ h) => h.message.role !== "tool" && h.message.content)
      .map((/** @type {import("./types.js").Hit} */ h) => h.message.seq).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
    const found = seq === undefined ? -1 : hits.indexOf(seq);
    changeFinding({ hits, loading: false, problem: undefined });
    go(found < 0 ? hits.length - 1 : found);
  } catch (problem) {
    if (mine === asked) changeFinding({ loading: false, problem: /** @type {Error} */ (problem) });
  }
}

// go shows the hit at a place, and the first again after the last.
/** @param {number} at */
export async function go(at) {
  const finding = now().finding;
  if (!finding?.hits.length) return;
  const place = (at + finding.hits.length) % finding.hits.length;
  changeFinding({ at: place, loading: true });
  await jump(finding.key, finding.hits[place]);
  changeFinding({ loading: false, shown: (finding.shown ?? 0) + 1 });
}
