import { html, useRef } from "../../vendor/preact.js";
import { Icon } from "./icon.js";

/**
 * Item is a line of a menu.
 * @typedef {{icon: string, text: string, extra?: string, danger?: boolean, act: () => void}} Item
 */

// Menu is a button and a popover of choices. Escape and a click elsewhere close it, arrows
// move in it. button makes the button, which calls what it is given.
/** @param {{label: string, button: (open: (event: Event) => void) => any, items: (Item | false | undefined | "" | 0)[]}} props */
export function Menu({ label, button, items }) {
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const open = (/** @type {Event} */ event) => show(/** @type {HTMLElement} */ (event.currentTarget), panel.current);
  const choose = (/** @type {Item} */ item) => {
    panel.current?.hidePopover();
    item.act();
  };
  return html`${button(open)}<div class="menu" popover="auto" role="group" aria-label=${label} ref=${panel} onKeyDown=${move}>
    ${items.map((item) => item && html`<button type="button" class=${item.danger ? "danger" : ""} onClick=${() => choose(item)}><${Icon} name=${item.icon} small />${item.text}${item.extra && html`<small>${item.extra}</small>`}</button>`)}
  </div>`;
}

// show opens a panel at its button: below it if there is room, else above.
/**
 * @param {HTMLElement} at
 * @param {HTMLElement | null} panel
 */
function show(at, panel) {
  if (!panel) return;
  panel.togglePopover();
  const button = at.getBoundingClientRect();
  const box = panel.getBoundingClientRect();
  const left = document.documentElement.dir === "rtl" ? button.left : button.right - box.width;
  const below = button.bottom + box.height + 8 <= innerHeight;
  panel.style.left = `${Math.max(8, Math.min(left, innerWidth - box.width - 8))}px`;
  panel.style.top = `${below ? button.bottom + 4 : Math.max(8, button.top - box.height - 4)}px`;
  panel.querySelector("button")?.focus();
}

/** @param {KeyboardEvent} event */
function move(event) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (!step) return;
  event.preventDefault();
  const all = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll("button")];
  const here = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  all.at((here + step) % all.length)?.focus();
}
