// The store: all that the page knows, in one place. Views read it and draw; the modules
// that talk to the server write it. A state is never changed, only replaced.

import { useEffect, useReducer, useRef } from "../vendor/preact.js";

/** @type {import("./types.js").State} */
let state = {
  online: true,
  models: [],
  list: { rows: [], pinned: [], filter: "All", of: "All", words: "", loaded: false, loading: false },
  talks: {},
  live: {},
  drafts: {},
  unsent: [],
  attached: {},
};

/** @type {Set<() => void>} */
const listeners = new Set();

export const now = () => state;

// change replaces parts of the state. It takes them, or a function that makes them.
/** @param {Partial<import("./types.js").State> | ((s: import("./types.js").State) => Partial<import("./types.js").State>)} parts */
export function change(parts) {
  state = { ...state, ...(typeof parts === "function" ? parts(state) : parts) };
  for (const listener of [...listeners]) listener();
}

// changeTalk replaces parts of one conversation, if it is still open.
/**
 * @param {string} key
 * @param {Partial<import("./types.js").Talk>} parts
 */
export function changeTalk(key, parts) {
  if (state.talks[key]) change((s) => ({ talks: { ...s.talks, [key]: { ...s.talks[key], ...parts } } }));
}

/** @param {Partial<import("./types.js").List>} parts */
export const changeList = (parts) => change((s) => ({ list: { ...s.list, ...parts } }));

// useStore gives a view one part of the state, and draws it again when that is another.
/**
 * @template T
 * @param {(s: import("./types.js").State) => T} pick
 * @returns {T}
 */
export function useStore(pick) {
  const [, redraw] = useReducer((/** @type {number} */ n) => n + 1, 0);
  const latest = useRef(/** @type {{pick: typeof pick, value: T}} */ ({ pick, value: pick(state) }));
  latest.current = { pick, value: pick(state) };
  useEffect(() => {
    const look = () => {
      if (latest.current.pick(state) !== latest.current.value) redraw(0);
    };
    listeners.add(look);
    look(); // it may have changed between drawing and now
    return () => { listeners.delete(look); };
  }, []);
  return latest.current.value;
}
