// The keys of the page. A view marks what a key does with data-key, so that a key does what
// a click does, and nothing where there is nothing to click.

import { useEffect } from "../vendor/preact.js";
import { keep, kept } from "./kept.js";
import { mine } from "./places.js";
import { go } from "./router.js";
import { now } from "./store.js";

export const letters = () => kept("letters") !== false;
/** @param {boolean} on */
export const setLetters = (on) => keep("letters", on);

/** @type {Record<string, string>} */
const places = { t: "/talk", f: "/you", j: "/jobs", q: "/queue", c: "/channels", h: "/health" };
let before = "";

// useKeys listens for keys while a view is drawn.
/**
 * @param {() => void} sheet opens the sheet of keys
 * @param {() => void} menu opens the menu of commands
 */
export function useKeys(sheet, menu) {
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => {
      if (!isMenu(event)) return pressed(event, sheet);
      event.preventDefault();
      menu();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

// isMenu: Ctrl+K, or Cmd+K, also while one writes.
/** @param {KeyboardEvent} event */
const isMenu = (event) => (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";

// close stops what is written, or closes what is open beside the conversation.
const close = () => /** @type {HTMLElement | null} */ (document.querySelector(".find [data-key='esc']") ?? document.querySelector(".composer .stop") ?? document.querySelector("[data-key='d'][aria-expanded='true']"))?.click();

/**
 * @param {KeyboardEvent} event
 * @param {() => void} sheet
 */
function pressed(event, sheet) {
  const target = /** @type {Element} */ (event.target);
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input, textarea, select, dialog[open], [popover]")) return;
  if (event.key === "Escape") close();
  if (!letters()) return;
  const key = event.key.toLowerCase();
  if (before === "g" && places[key]) {
    if (mine(now().me).some((p) => `/${p.view}` === places[key])) go(places[key]);
  }
  else if (key === "?") sheet();
  else if (key === "/") {
    event.preventDefault();
    document.getElementById("search")?.focus();
  } else if (key === "j") step(1);
  else if (key === "k") step(-1);
  else if (key === "u") /** @type {HTMLElement | null} */ (document.querySelector(".row.unread"))?.click();
  else if (/^[ndecr]$/.test(key)) /** @type {HTMLElement | undefined} */ ([...document.querySelectorAll(`[data-key="${key}"]`)].at(-1))?.click();
  before = key;
}

// step opens the next or previous conversation of the list.
/** @param {number} by */
function step(by) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".row")]);
  const at = rows.findIndex((row) => row.hasAttribute("aria-current"));
  const row = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
  row?.focus(); // with the focus nowhere, the composer would take it, and the next letter
  row?.click();
}
