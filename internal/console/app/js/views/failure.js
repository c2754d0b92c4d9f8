// What went wrong, and what to do: a card in the conversation.

import { html } from "../../vendor/preact.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { English, Said } from "../parts/said.js";
import { trouble } from "../parts/toast.js";
import { useStore } from "../store.js";
import { again, drop, may, reload, tryAgain } from "../talk.js";
import { t } from "../text.js";
import { apology } from "../told.js";

// Failure is a turn without an answer.
/** @param {{of: import("../turns.js").Entry, say: import("./entry.js").Say}} props */
export function Failure({ of: e, say }) {
  const [said, cure] = apology(e.text ?? "");
  const models = useStore((s) => s.models);
  const newest = say.last === e.id; // another try answers what was asked last
  const retry = (/** @type {string | undefined} */ model) => again(say.talkKey, model).catch(trouble);
  const others = models.map((m) => ({ icon: "sparkles", text: m.name, act: () => retry(m.name) }));
  return html`<article class="message"><section class="inset bad" role="alert">
    <h2><${Icon} name="circle-alert" small />${t("There is no answer")}</h2>
    <p>${said === e.text ? html`<${English}>${said}<//>` : said}${cure && html` <${English}>${cure}<//>`}</p>
    <div class="actions">${newest && html`<${Button} kind="primary" data-key="r" onClick=${() => retry(undefined)}>${t("Retry")}<//>`}
      ${newest && others.length > 1 && html`<${Menu} label=${t("Answer with another model")} items=${others} button=${(/** @type {any} */ open) => html`<${Button} onClick=${open}>${t("Answer with another model")}<//>`} />`}
      ${may("admin") && html`<a class="button quiet" href="/log">${t("Open the log")}</a>`}</div>
  </section></article>`;
}

// Undelivered is an answer that its network did not take.
/** @param {{of: import("../turns.js").Entry}} props */
export function Undelivered({ of: e }) {
  const item = e.item;
  if (!item) return null;
  const act = (/** @type {(item: import("../types.js").QueueItem) => Promise<void>} */ what) => what(item).then(() => reload(item.key), trouble);
  return html`<article class="message"><section class="inset bad" role="alert">
    <h2><${Icon} name="circle-alert" small />${t("This answer could not be delivered")}</h2>
    <p><${Said} of=${item.error} /> ${t("Dragoman tried {0} times.", item.attempts)}</p>
    <div class="actions"><${Button} kind="primary" onClick=${() => act(tryAgain)}>${t("Try again")}<//><${Button} onClick=${() => act(drop)}>${t("Drop it")}<//></div>
  </section></article>`;
}
