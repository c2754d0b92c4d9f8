// What the server tells while the page is open, and what it changes in the store.

import { get } from "./api.js";
import { follow } from "./events.js";
import { listSoon, loadList } from "./list.js";
import { arrive, flush } from "./outbox.js";
import { change, now } from "./store.js";
import { reload, reloadSoon } from "./talk.js";
import { withPiece } from "./written.js";

// begin loads what every view needs, and listens.
export async function begin() {
  change({ me: await get("me") });
  arrive();
  follow({ on: heard, onState: (online) => {
    const back = online && !now().online;
    if (online !== now().online) change({ online });
    if (online) flush();
    if (back) everything(); // an answer to what was heard before may have been lost
  } });
  setTimeout(afterwards, 2000);
  get("models").then((page) => change({ models: page.data }), () => {});
}

// afterwards loads what the first view does without: what waits, and what must be there when
// the connection is not.
function afterwards() {
  import("./waiting.js").then((m) => m.begin(), () => {});
  for (const part of [() => import("./views/hello.js"), () => import("./views/approval.js"), () => import("./views/failure.js")]) part().catch(() => {});
}

/** @type {import("./types.js").Live} */
const fresh = { text: "", from: 0, thought: "", tools: [] };

// writing changes an answer that is being written in an open conversation.
/**
 * @param {import("./types.js").ApiEvent} e
 * @param {(live: import("./types.js").Live) => Partial<import("./types.js").Live>} parts
 */
function writing(e, parts) {
  const turn = e.turn ?? "";
  if (!e.key || !now().talks[e.key]) return;
  change((s) => {
    const before = s.live[turn] ?? { ...fresh, from: undefined };
    return { live: { ...s.live, [turn]: { ...before, ...parts(before) } } };
  });
}

/** @type {Record<string, (e: import("./types.js").ApiEvent) => void>} */
const on = {
  turn_begun: (e) => {
    writing(e, () => fresh);
    both(e);
  },
  text: (e) => {
    writing(e, (live) => withPiece(e.why === "anew" ? fresh : live, e.text ?? "", e.offset));
    if (now().live[e.turn ?? ""]?.from) reloadSoon(e.key ?? ""); // the beginning is not here
  },
  thought: (e) => writing(e, (live) => ({ thought: live.thought + (e.text ?? "") })),
  tool_begun: (e) => {
    writing(e, (live) => ({ tools: [...live.tools, { call: e.call ?? "", tool: e.tool ?? "", ended: false }] }));
    reloadSoon(e.key ?? "");
  },
  tool_ended: (e) => {
    writing(e, (live) => ({ tools: live.tools.map((tool) => (tool.call === e.call ? { ...tool, ended: true } : tool)) }));
    reloadSoon(e.key ?? "");
  },
  // What came between the first reading and the begin of the stream would be missed.
  began: () => setTimeout(() => {
    listSoon();
    for (const key of Object.keys(now().talks)) reloadSoon(key);
  }, 1500),
  hello: () => {},
  reset: everything,
};

/** @type {Set<(e: import("./types.js").ApiEvent) => void>} */
const listeners = new Set();

// hear calls take with each event, until what it returns is called.
/** @param {(e: import("./types.js").ApiEvent) => void} take */
export function hear(take) {
  listeners.add(take);
  return () => { listeners.delete(take); };
}

// heard takes one event. Those without a rule of their own say that a conversation is
// another one now.
/** @param {import("./types.js").ApiEvent} e */
export function heard(e) {
  for (const take of [...listeners]) take(e);
  const rule = on[e.event];
  if (rule) rule(e);
  else if (e.key) both(e);
}

/** @param {import("./types.js").ApiEvent} e */
function both(e) {
  listSoon();
  reloadSoon(e.key ?? "");
}

// everything reads again what is shown, without a word to the reader.
export function everything() {
  loadList();
  for (const key of Object.keys(now().talks)) reload(key);
}
