// The commands that begin as what is typed, above the message box: arrows choose, Tab and Enter
// complete, Escape closes.

import { html, useEffect, useLayoutEffect, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { styled } from "../styled.js";
import { t } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").Command} Command */

/** @type {Promise<Command[]> | undefined} */
let asked;

// commands are asked for once.
function commands() {
  asked ??= get("commands").then((page) => page.data, () => {
    asked = undefined;
    return [];
  });
  return asked;
}

// found is the list with its style sheet.
export const found = () => Promise.all([commands(), styled("slash")]).then(([all]) => (/** @type {Props} */ props) => html`<${Slash} all=${all} ...${props} />`);

/** @typedef {{typed: string, box: {current: HTMLTextAreaElement | null}, complete: (text: string) => void}} Props */

/** @param {Props & {all: Command[]}} props */
function Slash({ all, typed, box, complete }) {
  const [at, choose] = useState(0);
  const [closed, close] = useState(/** @type {string | undefined} */ (undefined));
  const shown = closed === typed ? [] : all.filter((c) => c.name.startsWith(typed) && c.name !== typed);
  const chosen = Math.min(at, shown.length - 1);
  const take = (/** @type {number} */ i) => complete(`/${shown[i].name}`);
  useEffect(() => {
    if (chosen >= 0) box.current?.setAttribute("aria-activedescendant", `slash${chosen}`);
    document.getElementById(`slash${chosen}`)?.scrollIntoView({ block: "nearest" });
    return () => box.current?.removeAttribute("aria-activedescendant");
  }, [chosen, typed]);
  useLayoutEffect(() => { // at once: the next key may follow soon
    const press = (/** @type {KeyboardEvent} */ event) => {
      if (!shown.length || event.isComposing || event.keyCode === 229 || event.shiftKey) return;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) choose((chosen + step + shown.length) % shown.length);
      else if (event.key === "Tab" || event.key === "Enter") take(chosen);
      else if (event.key === "Escape") close(typed);
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    const at = box.current?.parentElement; // it hears before the box
    at?.addEventListener("keydown", press, true);
    return () => at?.removeEventListener("keydown", press, true);
  });
  if (!shown.length) return null;
  return html`<ul class="slash" role="listbox" aria-label=${t("Commands")}>
    ${shown.map((c, i) => html`<li key=${c.name} role="option" id=${`slash${i}`} aria-selected=${String(i === chosen)} onPointerDown=${(/** @type {Event} */ e) => { e.preventDefault(); take(i); }}><b>/${c.name}</b><span>${c.help}</span></li>`)}
  </ul>`;
}
