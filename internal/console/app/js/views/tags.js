import { html, useState } from "../../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { toast, trouble } from "../parts/toast.js";
import { configure } from "../talk.js";
import { t } from "../text.js";

// Tags are a conversation's own; a click takes one away, and a toast brings it back.
/** @param {{of: import("../types.js").Conversation, fixed: boolean}} props */
export function Tags({ of: c, fixed }) {
  const [writing, setWriting] = useState(false);
  const add = (/** @type {string} */ tag) => configure(c.key, { tag: [tag] }).catch(trouble);
  const take = (/** @type {string} */ tag) => configure(c.key, { untag: [tag] }).then(() => toast(t("The tag {0} was removed.", tag), () => add(tag)), trouble);
  const write = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") setWriting(false);
    if (event.key !== "Enter") return;
    const text = /** @type {HTMLInputElement} */ (event.currentTarget).value.trim();
    if (text) add(text);
    setWriting(false);
  };
  return html`<p class="rowline">
    ${c.tags?.map((tag) => (fixed ? html`<span class="chip">${tag}</span>` : html`<button type="button" class="chip" aria-label=${t("Remove the tag {0}", tag)} onClick=${() => take(tag)}>${tag}<${Icon} name="x" small /></button>`))}
    ${!fixed && (writing ? html`<input class="input tag" aria-label=${t("New tag")} maxlength="40" ref=${(/** @type {any} */ input) => input?.focus()} onKeyDown=${write} onBlur=${() => setWriting(false)} />`
    : html`<button type="button" class="chip" onClick=${() => setWriting(true)}><${Icon} name="plus" small />${t("Tag")}</button>`)}
  </p>`;
}
