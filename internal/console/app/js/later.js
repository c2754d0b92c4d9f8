// What can be taken back for a moment: it is done when nobody has undone it.

import { fetched, url } from "./api.js";

const within = 6000;

/** @type {Set<() => void>} */
const waiting = new Set();
addEventListener("pagehide", () => [...waiting].forEach((act) => act()));

// removeLater removes something in a moment, also when the page is closed before. What it
// returns takes that back. done hears how it ended.
/**
 * @param {string} address
 * @param {(problem?: unknown) => void} done
 */
export function removeLater(address, done) {
  const act = () => {
    stop();
    fetched(url(address), { method: "DELETE", keepalive: true }).then(() => done(), done);
  };
  const timer = setTimeout(act, within);
  waiting.add(act);
  const stop = () => {
    clearTimeout(timer);
    waiting.delete(act);
  };
  return stop;
}
