// What waits for this person: questions about calls, strangers at the door, channels that
// need a hand, deliveries that were given up, jobs that went wrong, budgets that run out.
// It is read after the first view is there, and again when an event says that it changed.

import { get, post, remove, path } from "./api.js";
import { keep, kept } from "./kept.js";
import { loadList } from "./list.js";
import { hear } from "./live.js";
import { loadNames } from "./names.js";
import { notifyAnswers, notifyWaiting } from "./notify.js";
import { change, now } from "./store.js";
import { may } from "./talk.js";

/** @typedef {import("./types.js").Waiting} Waiting */
/** @typedef {import("./types.js").WaitingItem} Item */
/** @typedef {import("./types.js").Approval} Approval */
/** @typedef {import("../../../../docs/openapi.js").Occurrence} Occurrence */
/** @typedef {import("../../../../docs/openapi.js").Channel} Channel */
/** @typedef {import("../../../../docs/openapi.js").Pairing} Pairing */
/** @typedef {import("../../../../docs/openapi.js").Budget} Budget */

const recent = 3 * 86_400_000; // ms in which a job that went wrong is worth a card
const nearlyUsed = 0.9; // of a budget
const shownSettled = 12_000; // ms

/** @type {Set<string>} questions that were answered on this page */
const answered = new Set();

// changes are the events after which something else may wait.
const changes = new Set(["approval_change", "pairing_change", "channel_failed", "channel_back", "delivery_dead", "delivery_changed", "job_done", "began", "reset"]);

const named = new Set(["people_change", "pairing_change", "reset"]); // after these somebody may have another name

let begun = false;

// begin reads what waits, and follows it: once, for the view or a moment after another one.
export function begin() {
  if (begun) return;
  begun = true;
  hear((e) => {
    if (changes.has(e.event) && (e.event !== "delivery_changed" || e.state === "dead" || e.state === "dropped")) soon();
  });
  if (may("operate")) {
    loadNames();
    hear((e) => named.has(e.event) && loadNames());
  }
  setInterval(() => document.hidden || loadWaiting(), 60_000);
  notifyAnswers();
  if (!now().list.loaded) loadList();
  if (!now().waiting) loadWaiting();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
function soon() {
  timer ??= setTimeout(() => {
    timer = undefined;
    loadWaiting();
  }, 250);
}

let asked = 0;

// loadWaiting reads all that waits.
export async function loadWaiting() {
  const mine = ++asked;
  try {
    const [approvals, outcomes, budgets, pairings, channels, queue] = await Promise.all([
      get("approvals", { limit: 60 }), get("occurrences", { limit: 100 }), get(may("read") ? "statistics/budgets" : "budgets"),
      may("operate") ? get("pairings") : none, may("read") ? get("channels") : none, may("operate") ? get("queue", { limit: 200 }) : none,
    ]);
    if (mine !== asked) return;
    const items = [
      ...approvals.data.filter((/** @type {Approval} */ a) => a.state === "pending" && a.mine).map((/** @type {Approval} */ a) => ({ id: a.id, kind: "approval", at: a.asked, of: a })),
      ...pairings.data.filter((/** @type {Pairing} */ p) => p.code).map((/** @type {Pairing} */ p) => ({ id: `pairing ${p.code}`, kind: "pairing", at: "", of: p })),
      ...channels.data.filter(needsHand).map((/** @type {Channel} */ c) => ({ id: `channel ${c.name} ${c.since}`, kind: "channel", at: c.since, of: c })),
      ...queue.data.filter((/** @type {import("./types.js").QueueItem} */ q) => q.state === "dead").map((/** @type {import("./types.js").QueueItem} */ q) => ({ id: `dead ${q.id}`, kind: "dead", at: q.at, of: q })),
      ...wentWrong(outcomes.data).map((o) => ({ id: `job ${o.job} ${o.due}`, kind: "job", at: o.at, of: o })),
      ...budgets.data.filter((/** @type {Budget} */ b) => b.share >= nearlyUsed).map((/** @type {Budget} */ b) => ({ id: `budget ${b.of} ${b.name ?? ""} ${b.period} ${b.until}`, kind: "budget", at: "", of: b })),
    ];
    const decided = approvals.data.filter((/** @type {Approval} */ a) => a.state !== "pending");
    const paired = pairings.data.filter((/** @type {Pairing} */ p) => !p.code && p.approved);
    settle(decided);
    if (now().waiting) notifyWaiting(now().waiting?.items ?? [], items);
    change({ waiting: { items, decided, paired, later: later(items), settled: now().waiting?.settled ?? [], problem: undefined } });
  } catch (problem) {
    const before = now().waiting;
    if (mine === asked) change({ waiting: { items: [], decided: [], paired: [], later: [], settled: [], ...before, problem: /** @type {Error} */ (problem) } });
  }
}

const none = { data: [] };

/** @param {Channel} c */
const needsHand = (c) => !c.unused && (c.state === "down" || c.linkable && !c.linked);

// wentWrong are the newest outcomes of jobs, where that one is bad.
/** @param {Occurrence[]} outcomes newest first */
function wentWrong(outcomes) {
  /** @type {Map<string, Occurrence>} */
  const newest = new Map();
  for (const o of outcomes) if (!newest.has(o.job) && o.outcome !== "fired") newest.set(o.job, o);
  return [...newest.values()].filter((o) => ["failed", "missed", "waiting"].includes(o.outcome) && Date.now() - Date.parse(o.at) < recent);
}

// settle keeps the questions that somebody else decided while they were shown, for a moment.
/** @param {Approval[]} decided */
function settle(decided) {
  const shown = new Set(now().waiting?.items.filter((i) => i.kind === "approval").map((i) => i.id));
  const fresh = decided.filter((a) => shown.has(a.id) && !answered.has(a.id));
  if (!fresh.length) return;
  const with_ = (/** @type {Approval[]} */ settled) => change((s) => ({ waiting: s.waiting && { ...s.waiting, settled } }));
  with_([...(now().waiting?.settled ?? []), ...fresh]);
  setTimeout(() => with_((now().waiting?.settled ?? []).filter((a) => !fresh.some((f) => f.id === a.id))), shownSettled);
}

// later are the ids of what was put off, without those that are gone.
/** @param {Item[]} items */
function later(items) {
  const known = new Set(items.map((i) => i.id));
  const all = /** @type {string[]} */ (kept("later") ?? []);
  return all.filter((id) => known.has(id));
}

// putOff hides an item until it is asked for: nothing is denied by that.
/**
 * @param {string} id
 * @param {boolean} [off]
 */
export function putOff(id, off = true) {
  const waiting = now().waiting;
  if (!waiting) return;
  const ids = off ? [...waiting.later, id] : waiting.later.filter((one) => one !== id);
  keep("later", ids);
  change({ waiting: { ...waiting, later: ids } });
}

// takeAllBack shows what was put off.
export function takeAllBack() {
  for (const id of now().waiting?.later ?? []) putOff(id, false);
}

// answering says that this page decides a question, so that it is not news here.
/** @param {string} id */
export const answering = (id) => answered.add(id);

// whole reads a question of a talk that is read along, with its words. Its people are told.
/** @param {Approval} a */
export async function whole(a) {
  const page = await get("approvals", { key: a.key, limit: 60 });
  return /** @type {Approval | undefined} */ (page.data.find((/** @type {Approval} */ one) => one.id === a.id));
}

// takeAlwaysBack undoes the newest "always" for a tool in a conversation.
/** @param {Approval} a */
export async function takeAlwaysBack(a) {
  const { data } = await get("standings", { key: a.key });
  const newest = data.filter((/** @type {{tool: string}} */ s) => s.tool === a.tool).sort((/** @type {{at: string}} */ x, /** @type {{at: string}} */ y) => (x.at < y.at ? 1 : -1))[0];
  if (newest) await remove(path`conversations/${a.key}/standings/${newest.id}`);
}

/** @type {(p: Pairing) => Promise<void>} */
export const letIn = (p) => post("pairings", { code: p.code });
/** @type {(p: Pairing) => Promise<void>} */
export const shutOut = (p) => remove(path`pairings/${p.channel}/${p.person_id}`);
