// The order in time: the days between the messages of a conversation, where the new ones begin
// when it is opened, and what an operator wrote while an answer was written. The transcript has
// that before the question: a question gets its place when its turn has ended.

/** @typedef {import("./turns.js").Entry} Entry */

// dated puts a mark before each day, and one before what is new: never before words of the
// reader's own.
/**
 * @param {Entry[]} entries
 * @param {number | undefined} newFrom
 */
export function dated(entries, newFrom) {
  /** @type {Entry[]} */
  const list = [];
  let day = "";
  let marked = !newFrom;
  for (const e of entries) {
    const date = new Date(e.at).toDateString();
    if (date !== day) list.push({ kind: "day", id: `d${date}`, at: e.at });
    day = date;
    if (!marked && !e.mine && e.seq && newFrom && e.seq >= newFrom) {
      list.push({ kind: "new", id: "new", at: e.at });
      marked = true;
    }
    list.push(e);
  }
  return list;
}

// inTime puts words of an operator after the questions that were asked before them.
/** @param {Entry[]} entries */
export function inTime(entries) {
  const list = [...entries];
  for (let i = list.length - 1; i >= 0; i--) {
    const e = list[i];
    if (!e.hand && !(e.kind === "answer" && e.who)) continue;
    let to = i;
    while (isQuestion(list[to + 1]) && Date.parse(list[to + 1].at) <= Date.parse(e.at)) to++;
    list.splice(i, 1);
    list.splice(to, 0, e);
  }
  return list;
}

/** @param {Entry | undefined} e */
const isQuestion = (e) => e?.kind === "person" && !e.hand || e?.kind === "again";

/** @type {Set<string>} */
const wrote = new Set();

// writesIn says that this person writes in a conversation that the page has yet to open: they
// see the answer come, so it is not new.
/** @param {string} key */
export function writesIn(key) {
  wrote.add(key);
}

// firstNew is the seq at which the mark is drawn.
/**
 * @param {import("./types.js").Conversation | undefined} head
 * @param {import("./types.js").Message[]} messages
 * @param {import("./types.js").Me | undefined} me
 */
export function firstNew(head, messages, me) {
  const seen = Boolean(head && wrote.delete(head.key));
  if (seen || !head?.own || !head.unread || head.unread >= head.message_count) return undefined;
  const fresh = messages.filter((m) => counts(m, head, me)).slice(-head.unread);
  return fresh.length === head.unread ? fresh[0].seq : undefined; // else all that is here is new
}

// counts says whether a message counts as unread, as the server has it: the steps to an answer
// do not, nor what this person wrote.
/**
 * @param {import("./types.js").Message} m
 * @param {import("./types.js").Conversation} head
 * @param {import("./types.js").Me | undefined} me
 */
function counts(m, head, me) {
  if (m.role === "tool" || m.tool_calls?.length) return false;
  if (m.role !== "user" || m.via === "reply") return true;
  const mine = m.sender === me?.person || me?.identities.includes(`${head.key.split(":")[0]}:${m.sender}`);
  return head.group && !mine;
}
