import { html, useEffect, useState } from "../../vendor/preact.js";
import { t } from "../text.js";

/** @typedef {{text: string, undo?: () => void}} Toasted */

const stays = 8000;

// speak says a sentence to screen readers.
/** @param {string} text */
export function speakUp(text) {
  const spoken = document.getElementById("spoken");
  if (spoken) spoken.textContent = text;
}

// toast says what was done, and offers to undo it instead of asking before.
/**
 * @param {string} text
 * @param {() => void} [undo]
 */
export function toast(text, undo) {
  dispatchEvent(new CustomEvent("toast", { detail: { text, undo } }));
  speakUp(text);
}

// trouble says in a toast why something was not done.
/** @param {unknown} problem */
export const trouble = (problem) => toast(problem instanceof Error && "status" in problem ? problem.message : t("Dragoman cannot be reached. Try again."));

// Toasts shows the newest toast for a while.
export function Toasts() {
  const [shown, show] = useState(/** @type {Toasted | undefined} */ (undefined));
  useEffect(() => {
    const hear = (/** @type {any} */ { detail }) => {
      show(detail);
      setTimeout(() => show((/** @type {Toasted | undefined} */ now) => (now === detail ? undefined : now)), stays);
    };
    addEventListener("toast", hear);
    return () => removeEventListener("toast", hear);
  }, []);
  if (!shown) return null;
  const undo = () => {
    shown.undo?.();
    show(undefined);
  };
  return html`<div class="toast"><span>${shown.text}</span>${shown.undo && html`<button type="button" onClick=${undo}>${t("Undo")}</button>`}</div>`;
}
