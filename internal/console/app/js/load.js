// What a view shows that no other view needs: it is asked for when the view is drawn, again
// from time to time, and when the connection comes back.

import { useEffect, useReducer, useRef } from "../vendor/preact.js";
import { useStore } from "./store.js";

/**
 * Loaded is what came so far. A problem beside data means that the data is not new.
 * @template T
 * @typedef {{data?: T, problem?: Error, again: () => void}} Loaded
 */

// useLoad calls ask at once and every so many milliseconds, and when what it depends on
// changes. An answer that was overtaken by another question is thrown away.
/**
 * @template T
 * @param {() => Promise<T>} ask
 * @param {any[]} depends
 * @param {number} [every]
 * @returns {Loaded<T>}
 */
export function useLoad(ask, depends, every = 15_000) {
  const [, redraw] = useReducer((/** @type {number} */ n) => n + 1, 0);
  const online = useStore((s) => s.online);
  const held = useRef(/** @type {{data?: T, problem?: Error, asked: number}} */ ({ asked: 0 }));
  const again = () => {
    const mine = ++held.current.asked;
    const come = (/** @type {{data?: T, problem?: Error}} */ parts) => {
      if (mine !== held.current.asked) return;
      held.current = { data: held.current.data, ...parts, asked: mine };
      redraw(0);
    };
    ask().then((data) => come({ data, problem: undefined }), (problem) => come({ problem }));
  };
  useEffect(() => {
    again();
    const timer = setInterval(() => document.visibilityState === "visible" && again(), every);
    return () => {
      clearInterval(timer);
      held.current.asked++;
    };
  }, [...depends, online]);
  return { data: held.current.data, problem: held.current.problem, again };
}
