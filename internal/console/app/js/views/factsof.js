// What is remembered about somebody: to see, to correct, to forget.

import { html, useState } from "../../vendor/preact.js";
import { patch, path } from "../api.js";
import { useLoad } from "../load.js";
import { facts, forget, takeForgettingBack } from "../memory.js";
import { Button } from "../parts/button.js";
import { toast, trouble } from "../parts/toast.js";
import { shortTime, t, wholeTime } from "../text.js";

/** @typedef {import("../types.js").Remembered} Remembered */

/** @param {{target: string}} props */
export function Facts({ target }) {
  const known = useLoad(() => facts(target), [target], ["memory_change"]);
  const [editing, edit] = useState(0);
  const drop = (/** @type {Remembered} */ fact) => forget(target, fact).then(() => {
    known.again();
    toast(t("It is forgotten."), () => takeForgettingBack(target, fact).then(known.again, trouble));
  }, trouble);
  const correct = (/** @type {SubmitEvent} */ event, /** @type {Remembered} */ fact) => {
    event.preventDefault();
    const text = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget)).get("text");
    patch(path`facts/${fact.id}`, { target, text }).then(() => {
      edit(0);
      toast(t("Changed."), () => takeForgettingBack(target, fact).then(known.again, trouble));
    }, trouble).then(known.again);
  };
  if (known.problem) return html`<p class="soft">${t("Only they see what is remembered about them.")}</p>`;
  if (known.data?.length === 0) return html`<p class="soft">${t("Nothing is remembered yet.")}</p>`;
  return html`<ul class="card soon">${known.data?.map((fact) => html`<li key=${fact.id}>${editing === fact.id
    ? html`<form class="grow rowline" onSubmit=${(/** @type {SubmitEvent} */ e) => correct(e, fact)}><input class="input grow" name="text" required dir="auto" aria-label=${t("Fact")} value=${fact.text} /><button class="button primary">${t("Change")}</button><${Button} onClick=${() => edit(0)}>${t("Keep it")}<//></form>`
    : html`<span class="grow"><span dir="auto">${fact.text}</span><br /><span class="meta"><time title=${wholeTime(fact.at)}>${shortTime(fact.at)}</time></span></span>
      <span class="rowline"><${Button} icon="pencil" kind="quiet" label=${t("Correct: {0}", fact.text)} onClick=${() => edit(fact.id)} /><${Button} icon="x" kind="quiet" label=${t("Forget: {0}", fact.text)} onClick=${() => drop(fact)} /></span>`}</li>`)}</ul>`;
}
