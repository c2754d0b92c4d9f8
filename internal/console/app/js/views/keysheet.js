import { html, useState } from "../../vendor/preact.js";
import { letters, setLetters } from "../keys.js";
import { t } from "../text.js";

const sheet = [
  ["/", "Search conversations"], ["N", "New conversation"], ["J K", "Next and previous conversation"], ["U", "Next unread"], ["D", "Details"],
  ["E", "Edit the last question"], ["R", "Retry the last answer"], ["C", "Copy the last answer"], ["Esc", "Stop the answer, close what is open"],
  ["G then T", "Go to Talk"], ["Enter", "Send"], ["Shift Enter", "New line"], ["?", "This sheet"],
];

// Keys is the sheet of keys, and the switch for single letters.
export function Keys() {
  const [on, set] = useState(letters());
  const turn = () => {
    setLetters(!on);
    set(!on);
  };
  return html`<div class="stack">
    <p class="meta">${t("Single letters work while you are not writing.")} <label class="rowline"><input type="checkbox" checked=${on} onChange=${turn} /> ${t("Use single letters")}</label></p>
    <dl class="keys">${sheet.map(([key, text]) => html`<dt>${key.split(" ").map((k) => (k === "then" ? ` ${t("then")} ` : html`<kbd>${k}</kbd> `))}</dt><dd>${t(text)}</dd>`)}</dl>
  </div>`;
}
