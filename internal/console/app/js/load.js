// What a view shows that no other view needs: it is asked for when the view is drawn, again
// when the server tells that it is another one, and when the connection comes back.

import { useEffect, useReducer, useRef } from "../vendor/preact.js";
import { hear } from "./live.js";
import { useStore } from "./store.js";

/**
 * Loaded is what came so far. A problem beside data means that the data is not new.
 * @template T
 * @typedef {{data?: T, problem?: Error, again: () => void}} Loaded
 */

const gaps = ["began", "reset"]; // something may have been missed
const gather = 300; // many events lead to one question
const clockEvery = 30_000; // "3 min ago" is drawn again

// useLoad calls ask at once, when what it depends on changes, and when one of the events of
// these names comes. While nobody looks it waits. An answer that was overtaken by another
// question is thrown away. pause is the least time between two questions.
/**
 * @template T
 * @param {() => Promise<T>} ask
 * @param {any[]} depends
 * @param {string[]} names
 * @param {number} [pause]
 * @returns {Loaded<T>}
 */
export function useLoad(ask, depends, names, pause = gather) {
  const [, redraw] = useReducer((/** @type {number} */ n) => n + 1, 0);
  const online = useStore((s) => s.online);
  const held = useRef(/** @type {{data?: T, problem?: Error, asked: number}} */ ({ asked: 0 }));
  const latest = useRef(ask);
  latest.current = ask;
  const again = () => {
    const mine = ++held.current.asked;
    const come = (/** @type {{data?: T, problem?: Error}} */ parts) => {
      if (mine !== held.current.asked) return;
      held.current = { data: held.current.data, ...parts, asked: mine };
      redraw(0);
    };
    latest.current().then((data) => come({ data, problem: undefined }), (problem) => come({ problem }));
  };
  useEffect(() => {
    again();
    return () => { held.current.asked++; };
  }, [...depends, online]);
  useEffect(() => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let soon;
    let missed = false;
    const ask = () => {
      missed = document.hidden;
      if (!missed) {
        soon ??= setTimeout(() => {
          soon = undefined;
          again();
        }, pause);
      }
    };
    const unhear = hear((e) => (gaps.includes(e.event) || names.includes(e.event)) && ask());
    const look = () => missed && ask();
    const tick = setInterval(() => document.hidden || redraw(0), clockEvery);
    document.addEventListener("visibilitychange", look);
    return () => {
      unhear();
      clearTimeout(soon);
      clearInterval(tick);
      document.removeEventListener("visibilitychange", look);
    };
  }, [pause]);
  return { data: held.current.data, problem: held.current.problem, again };
}
