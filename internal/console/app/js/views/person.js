// What a person wrote.

import { html } from "../../vendor/preact.js";
import { copyText } from "../clipboard.js";
import { takeBack, keepDraft } from "../outbox.js";
import { Button } from "../parts/button.js";
import { toast } from "../parts/toast.js";
import { clock, t, wholeTime } from "../text.js";
import { quoted } from "../quotes.js";
import { Files } from "./files.js";

/** @param {{of: import("../turns.js").Entry, say: import("./entry.js").Say}} props */
export function Person({ of: e, say }) {
  const { quote, text } = quoted(e.text ?? "");
  const copy = async () => toast((await copyText(e.text ?? "")) ? t("Copied") : t("Press Ctrl+C"));
  const time = html`<time class="meta" datetime=${e.at} title=${wholeTime(e.at)}>${clock(e.at)}</time>`;
  return html`<article class=${`message ${e.mine ? "mine" : "other"}${e.unsent ? " unsent" : ""}`} data-seq=${e.seq} aria-label=${t("{0}, {1}", e.who ?? t("You"), clock(e.at))}>
    ${(!e.mine || e.hand) && html`<p class="who"><b dir="auto">${e.who ?? t("Somebody")}</b> ${e.hand && html`<span class="meta">${t("by hand")}</span>`} ${!e.mine && time}</p>`}
    ${e.files && html`<${Files} of=${e.files} talkKey=${say.talkKey} seq=${e.seq} />`}
    ${text && html`<div class="bubble" dir="auto">${quote && html`<span class="quoted"><bdi>${quote}</bdi></span>`}${text}</div>`}
    ${e.unsent ? html`<${Unsent} of=${e.unsent} />` : html`<div class="under">
      ${e.mine && time}
      <${Button} icon="copy" kind="quiet" label=${t("Copy")} onClick=${copy} />
      ${e.mine && e.seq && say.own && !say.answering && html`<${Button} icon="pencil" kind="quiet" data-key="e" label=${t("Edit and ask again")} onClick=${() => say.edit({ seq: e.seq ?? 0, text: e.text ?? "" })} />`}
      <${Button} icon="quote" kind="quiet" label=${t("Quote")} onClick=${() => say.quote(text)} />
    </div>`}
  </article>`;
}

// Unsent says how far a message is that the server does not have.
/** @param {{of: import("../types.js").Unsent}} props */
function Unsent({ of: m }) {
  const edit = () => keepDraft(m.key, takeBack(m.id));
  return html`<p class="under" role="status"><span class=${m.refused ? "bad" : ""}>${m.problem ?? t("Sending")}</span>
    ${m.refused && html`<button type="button" class="textbutton" onClick=${edit}>${t("Edit")}</button><button type="button" class="textbutton" onClick=${() => takeBack(m.id)}>${t("Drop it")}</button>`}</p>`;
}
