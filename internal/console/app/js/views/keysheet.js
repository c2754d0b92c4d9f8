import { html, useState } from "../../vendor/preact.js";
import { letters, setLetters } from "../keys.js";
import { mine } from "../places.js";
import { now } from "../store.js";
import { t } from "../text.js";

// places are the letters after G, each for those who may go there.
const places = /** @type {[string, string][]} */ ([["T", "talk"], ["F", "you"], ["J", "jobs"], ["Q", "queue"], ["C", "channels"], ["H", "health"]]);

const sheet = [
  ["/", "Search conversations"], ["N", "New conversation"], ["J K", "Next and previous conversation"], ["U", "Next unread"], ["D", "Details"],
  ["E", "Edit the last question"], ["R", "Retry the last answer"], ["C", "Copy the last answer"], ["Esc", "Stop the answer, close what is open"],
  ["Ctrl K", "Places, conversations and actions"], ["Enter", "Send"], ["Shift Enter", "New line"], ["?", "This sheet"],
];

// Keys is the sheet of keys, and the switch for single letters.
export function Keys() {
  const [on, set] = useState(letters());
  const may = mine(now().me);
  const there = places.flatMap(([key, view]) => may.filter((p) => p.view === view).map((p) => /** @type {[string, import("../places.js").Place]} */ ([key, p])));
  const turn = () => {
    setLetters(!on);
    set(!on);
  };
  return html`<div class="stack">
    <p class="meta">${t("Single letters work while you are not writing.")} <label class="rowline"><input type="checkbox" checked=${on} onChange=${turn} /> ${t("Use single letters")}</label></p>
    <dl class="keys"><dt><kbd>G</kbd> ${t("then")} ${there.map(([key]) => html`<kbd>${key}</kbd> `)}</dt><dd>${t("Go to {0}", there.map(([, p]) => t(p.title)).join(", "))}</dd>
      ${sheet.map(([key, text]) => html`<dt>${key.split(" ").map((k) => (k === "then" ? ` ${t("then")} ` : html`<kbd>${k}</kbd> `))}</dt><dd>${t(text)}</dd>`)}</dl>
  </div>`;
}
