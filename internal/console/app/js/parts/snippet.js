import { html } from "../../vendor/preact.js";
import { copyText } from "../clipboard.js";
import { t } from "../text.js";
import { Button } from "./button.js";
import { toast } from "./toast.js";

// Snippet is lines of a file or a terminal, to be copied as they are.
/** @param {{label: string, children?: any}} props */
export function Snippet({ label, children: text }) {
  const copy = async () => toast((await copyText(String(text))) ? t("Copied") : t("Press Ctrl+C"));
  return html`<div class="snippet"><pre tabindex="0" role="group" aria-label=${label}>${text}</pre><${Button} icon="copy" kind="quiet" label=${t("Copy")} onClick=${copy} /></div>`;
}
