// What an operator wrote into a talk while an answer was written there. The transcript has it
// before the question: that gets its place when its turn has ended.

/** @typedef {import("./turns.js").Entry} Entry */

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
