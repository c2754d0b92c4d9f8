// The arguments of a call that somebody is asked about: a name and a value each, what decides
// most first. All of it is text, and none of it can look like something else: see plain.

import { html, useState } from "../../vendor/preact.js";
import { Button } from "../parts/button.js";
import { t } from "../text.js";

const longest = 300; // characters of a value that are shown at first
const mostLines = 6;

/** Characters that are printed, and show nothing. */
const unseen = /(?![ \n])[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f]/gu;

// plain writes what would be invisible, or change the order of other text, as \u{202e}.
/** @param {string} text */
export const plain = (text) => text.replace(unseen, (c) => `\\u{${c.codePointAt(0)?.toString(16).padStart(4, "0")}}`);

// beginning is as much of a value as is shown at first.
/** @param {string} value */
export function beginning(value) {
  const lines = value.split("\n").slice(0, mostLines).join("\n");
  const all = [...lines];
  return all.length > longest ? all.slice(0, longest).join("") : lines;
}

/** @param {{of: import("../types.js").Approval}} props */
export function Arguments({ of: a }) {
  const label = t("Input of {0}", a.tool);
  if (!a.parts?.length) {
    return html`<pre dir="auto" tabindex="0" role="group" aria-label=${label}>${plain(a.arguments)}</pre>
      ${a.length > [...a.arguments].length && html`<p>${t("This is the beginning of {0} characters.", a.length)}</p>`}`;
  }
  return html`<div class="arguments" tabindex="0" role="group" aria-label=${label}>
    <dl class="facts">${a.parts.map((p) => html`<dt key=${p.name} dir="auto">${plain(p.name)}</dt><${Value} of=${p} />`)}</dl>
  </div>`;
}

/** @param {{of: {value: string, length: number}}} props */
function Value({ of: p }) {
  const [whole, show] = useState(false);
  const first = beginning(p.value);
  const long = first !== p.value;
  return html`<dd><span class="value" dir="auto">${plain(whole ? p.value : first)}${long && !whole && "…"}</span>
    ${long && html`<${Fold} whole=${whole} show=${show} length=${p.length} />`}
    ${(whole || !long) && p.length > [...p.value].length && html`<p class="meta">${t("This is the beginning of {0} characters.", p.length)}</p>`}</dd>`;
}

/** @param {{whole: boolean, show: (whole: boolean) => void, length: number}} props */
const Fold = ({ whole, show, length }) => html`<${Button} kind="quiet" aria-expanded=${String(whole)} onClick=${() => show(!whole)}>${whole ? t("Show less") : t("Show all {0} characters", length)}<//>`;
