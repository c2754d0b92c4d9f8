// The days between the messages of a conversation, and where the new ones begin.

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
