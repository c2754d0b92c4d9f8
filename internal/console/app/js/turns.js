// From what the server has of a conversation to what the page draws of it. Pure functions:
// the same input gives the same entries.

import { dated, inTime } from "./dated.js";

/**
 * Step is a call of a tool, with its result if it has one.
 * @typedef {object} Step
 * @property {string} id
 * @property {string} tool
 * @property {string} input
 * @property {string} at
 * @property {string} [result]
 * @property {boolean} [failed]
 * @property {number} [took] ms
 */

/**
 * Entry is one thing in the conversation. kind is day, new, person, again, answer, notice,
 * failure, dead or replaced.
 * @typedef {object} Entry
 * @property {string} kind
 * @property {string} id
 * @property {string} at
 * @property {string} [text]
 * @property {boolean} [mine]
 * @property {string} [who]
 * @property {boolean} [hand] who wrote it runs Dragoman, and it is the talk of others
 * @property {number} [seq]
 * @property {string} [turn]
 * @property {import("./types.js").Attachment[]} [files]
 * @property {{seq: number, files: import("./types.js").Attachment[]}[]} [sent] files of an answer, by message
 * @property {boolean} [waiting] no answer yet
 * @property {import("./types.js").Unsent} [unsent]
 * @property {Step[]} [steps]
 * @property {string} [model]
 * @property {{input: number, output: number, cached: number, cost: number}} [usage]
 * @property {number} [took] ms, from the question on
 * @property {string} [state] of the delivery
 * @property {import("./types.js").Message["feedback"]} [feedback]
 * @property {string} [stopped] by whom; "you" is this person
 * @property {boolean} [growing]
 * @property {import("./types.js").Approval[]} [approvals]
 * @property {import("./types.js").QueueItem} [item]
 * @property {Entry[]} [entries]
 */

/**
 * @param {import("./types.js").Talk} talk
 * @param {import("./types.js").Unsent[]} unsent those of this conversation
 * @param {{person: string, identities: string[], name?: string}} me
 * @returns {Entry[]}
 */
export function entriesOf(talk, unsent, me) {
  if (talk.later) { // an older place: what is at the end is not there
    talk = { ...talk, running: undefined, approvals: talk.approvals.filter((a) => a.state !== "pending"), dead: [] };
    unsent = [];
  }
  const newest = talk.later ? talk.messages.at(-1)?.at ?? "" : "~";
  const transcript = [...talk.messages, ...(talk.running?.messages ?? [])];
  const said = inTime(fold(transcript, talk, me));
  const oldest = talk.earlier ? talk.messages[0]?.at ?? "" : "";
  const beside = besides(talk, transcript, me).filter((e) => e.at >= oldest && e.at <= newest);
  const waiting = beside.filter((e) => e.waiting);
  const asked = talk.running?.turn && !talk.running.messages.length ? waiting.splice(0, 1) : []; // by a turn without a step
  const all = [...between(said, beside.filter((e) => !e.waiting)), ...asked];
  grow(all, talk);
  all.push(...waiting); // answered after what is being answered
  for (const item of talk.dead) all.push({ kind: "dead", id: item.id, at: item.at, text: item.error ?? "", item });
  for (const m of unsent) all.push({ kind: "person", id: m.id, at: m.at, text: m.text, mine: true, unsent: m, files: m.files?.map((f) => ({ kind: "document", name: f.name, type: f.type, bytes: f.bytes })) });
  return dated(all, talk.newFrom);
}

// newestOf is the id of what another try would put right: only there is it offered. Commands
// do not count.
/** @param {Entry[]} entries */
export const newestOf = (entries) => entries.findLast((e) => ["answer", "failure", "again"].includes(e.kind) || e.kind === "person" && (e.turn || e.waiting || e.unsent))?.id;

// fold makes entries of a transcript: a turn's calls, results and words are one answer.
/**
 * @param {import("./types.js").Message[]} messages
 * @param {import("./types.js").Talk} talk
 * @param {{person: string, identities: string[], name?: string}} me
 */
function fold(messages, talk, me) {
  /** @type {Entry[]} */
  const entries = [];
  /** @type {Map<number, Entry>} */
  const versions = new Map();
  /** @type {Record<string, string>} */
  const asked = {};
  const failed = new Set(talk.feed.filter((f) => f.kind === "apology").map((f) => f.turn)); // a card says it
  for (const m of messages) {
    let into = entries;
    if (m.replaced_by) {
      const old = versions.get(m.replaced_by) ?? { kind: "replaced", id: `replaced${m.replaced_by}`, at: m.at, entries: [] };
      if (!versions.has(m.replaced_by)) entries.push(old);
      versions.set(m.replaced_by, old);
      into = old.entries ?? [];
    }
    if (m.role === "user") {
      if (m.via === "reply") into.push(byHand(m, me));
      if (m.synthetic) continue;
      asked[m.turn ?? ""] ??= m.at;
      into.push(person(m, talk, me));
    } else if (m.role === "tool") result(into, m);
    else if (m.role === "assistant" && !(m.synthetic && failed.has(m.turn))) words(into, m, talk, asked[m.turn ?? ""], me);
  }
  return entries;
}

/**
 * @param {import("./types.js").Message} m
 * @param {import("./types.js").Talk} talk
 * @param {{person: string, identities: string[], name?: string}} me
 * @returns {Entry}
 */
function person(m, talk, me) {
  const channel = talk.head?.key.split(":")[0] ?? "";
  const own = Boolean(talk.head?.own && !talk.head.group) || me.identities.includes(`${channel}:${m.sender}`) || m.sender === me.person;
  if (m.kind === "again") return { kind: "again", id: `m${m.seq || m.at}`, at: m.at, who: own ? undefined : m.name, seq: m.seq || undefined };
  return {
    kind: "person", id: m.seq ? `m${m.seq}` : `r${m.at}`, at: m.at, text: shown(m), mine: own, who: own ? undefined : m.name, seq: m.seq || undefined,
    turn: m.turn, files: m.attachments,
  };
}

// byHand is what whoever runs Dragoman wrote into the talk of others, as themselves.
/**
 * @param {import("./types.js").Message} m
 * @param {{name?: string}} me
 * @returns {Entry}
 */
function byHand(m, me) {
  return { kind: "person", id: `m${m.seq}`, at: m.at, text: shown(m), mine: m.name === me.name, who: m.name, hand: true };
}

// shown is a message without what is in it for models, such as lines about files.
/** @param {import("./types.js").Message} m */
const shown = (m) => m.said ?? m.content;

// stopper is who stopped an answer, as far as the feed tells: you is this person.
/**
 * @param {import("./types.js").Message} m
 * @param {import("./types.js").Talk} talk
 * @param {{person: string, name?: string}} me
 */
function stopper(m, talk, me) {
  const order = talk.feed.findLast((f) => f.from === "person" && f.text.trim() === "/stop" && Date.parse(f.at) <= Date.parse(m.at));
  const own = Boolean(talk.head?.own && !talk.head.group && order?.name !== "operator");
  return !order || own || order.name === me.person || order.name === me.name ? "you" : order.name ?? "";
}

/**
 * @param {Entry[]} entries
 * @param {import("./types.js").Message} m
 * @param {import("./types.js").Talk} talk
 * @param {string | undefined} asked
 * @param {{person: string, name?: string}} me
 */
function words(entries, m, talk, asked, me) {
  let answer = entries.at(-1);
  if (answer?.kind !== "answer" || answer.turn !== m.turn || m.synthetic) {
    answer = { kind: "answer", id: `a${m.turn}.${m.seq || m.at}`, at: m.at, turn: m.turn, text: "", steps: [], who: m.synthetic ? m.name : undefined };
    entries.push(answer);
  }
  for (const call of m.tool_calls ?? []) answer.steps?.push({ id: call.id, tool: call.name, input: call.arguments, at: m.at });
  if (m.kind === "stopped") answer.stopped = stopper(m, talk, me);
  const text = shown(m);
  if (text) answer.text = [answer.text, text].filter(Boolean).join("\n\n");
  answer.model = m.model ?? answer.model;
  answer.usage = added(answer.usage, m.usage);
  answer.at = m.at;
  if (m.seq) answer.seq = m.seq;
  sends(answer, m);
  answer.feedback = m.feedback ?? answer.feedback;
  answer.took = asked ? Date.parse(m.at) - Date.parse(asked) : undefined;
  answer.state = deliveryState(talk.feed, m.turn);
}

/**
 * @param {Entry["usage"]} sum
 * @param {import("./types.js").Message["usage"]} more
 */
function added(sum, more) {
  if (!more) return sum;
  const { input, output, cached, cost } = sum ?? { input: 0, output: 0, cached: 0, cost: 0 };
  return { input: input + more.input, output: output + more.output, cached: cached + (more.cached ?? 0), cost: cost + (more.cost ?? 0) };
}

/**
 * @param {Entry[]} entries
 * @param {import("./types.js").Message} m
 */
function result(entries, m) {
  for (let i = entries.length - 1; i >= 0; i--) {
    const step = entries[i].steps?.find((s) => s.id === m.tool_call_id);
    if (!step) continue;
    step.tool = m.name || step.tool; // the call may be one of call_tool
    step.result = m.content;
    step.failed = m.failed;
    step.took = Date.parse(m.at) - Date.parse(step.at);
    sends(entries[i], m);
    return;
  }
}

// sends adds the files that a result or an answer brought.
/**
 * @param {Entry} answer
 * @param {import("./types.js").Message} m
 */
function sends(answer, m) {
  if (m.attachments) answer.sent = [...(answer.sent ?? []), { seq: m.seq, files: m.attachments }];
}

const worst = ["unknown", "queued", "sending", "sent"];

// deliveryState is that of the part of an answer that is least far.
/**
 * @param {import("./types.js").FeedItem[]} feed
 * @param {string | undefined} turn
 */
function deliveryState(feed, turn) {
  const states = feed.filter((f) => turn && f.turn === turn && f.kind === "answer").map((f) => f.state ?? "");
  return worst.find((state) => states.includes(state));
}

// besides are what people wrote and were sent that is in no transcript: commands and their
// answers, notices, apologies, and messages that wait.
/**
 * @param {import("./types.js").Talk} talk
 * @param {import("./types.js").Message[]} transcript
 * @param {{person: string, identities: string[], name?: string}} me
 */
function besides(talk, transcript, me) {
  const asked = transcript.filter((m) => m.role === "user");
  const isWritten = (/** @type {import("./types.js").FeedItem} */ f) => asked.some((m) => Date.parse(m.at) === Date.parse(f.at) && m.content.includes(f.text)); // after a quote or a name
  const spoken = new Set(transcript.filter((m) => m.role === "assistant" || m.via === "reply").map((m) => m.content));
  const own = Boolean(talk.head?.own && !talk.head.group) || !talk.head;
  const isDecision = (/** @type {import("./types.js").FeedItem} */ f) => talk.approvals.some((a) => a.turn === f.turn && f.text.replace("**", "").startsWith(a.tool)); // the answer says it
  /** @type {Entry[]} */
  const entries = [];
  for (const f of talk.feed) {
    if (f.from === "person") {
      if (isWritten(f) || f.text.trim() === "/stop") continue;
      entries.push({ kind: "person", id: f.id, at: f.at, text: f.text, mine: own || f.name === me.person, who: own ? undefined : f.name, waiting: f.waiting, files: f.attachments });
    } else if (f.kind === "apology") entries.push({ kind: "failure", id: f.id, at: f.at, text: f.text, turn: f.turn });
    else if (f.kind && !["answer", "question"].includes(f.kind) && !spoken.has(f.text) && !isDecision(f)) entries.push({ kind: "notice", id: f.id, at: f.at, text: f.text, state: f.state });
  }
  return entries;
}

// between puts what is in no transcript where its time is, and leaves the transcript in its
// order: a message that waited for an answer comes after that, though it is older.
/**
 * @param {Entry[]} said
 * @param {Entry[]} beside
 */
function between(said, beside) {
  const all = [...said];
  for (const e of beside) {
    const before = all.findLastIndex((other) => Date.parse(other.at) <= Date.parse(e.at));
    all.splice(before + 1, 0, e);
  }
  return all;
}

// grow marks the answer of the running turn, and puts questions about calls into theirs.
/**
 * @param {Entry[]} entries
 * @param {import("./types.js").Talk} talk
 */
function grow(entries, talk) {
  for (const e of entries) e.approvals = talk.approvals.filter((a) => e.kind === "answer" && a.turn === e.turn && a.state !== "pending");
  const turn = talk.running?.turn;
  const asking = talk.approvals.filter((a) => a.state === "pending");
  if (!turn && asking.length === 0) return;
  let last = entries.findLast((e) => e.kind === "answer" && e.turn === (turn || asking[0].turn));
  if (!last) {
    last = { kind: "answer", id: `a${turn}`, at: new Date().toISOString(), turn: turn || asking[0].turn, text: "", steps: [] };
    entries.push(last);
  }
  last.approvals = [...(last.approvals ?? []), ...asking];
  last.growing = asking.length === 0;
}
