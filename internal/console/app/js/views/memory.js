// What is remembered of whoever talks here, with a button to forget each fact.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { facts, forget, takeForgettingBack } from "../memory.js";
import { Button } from "../parts/button.js";
import { toast, trouble } from "../parts/toast.js";
import { t } from "../text.js";

/** @param {{of: import("../types.js").Conversation, fixed: boolean}} props */
export function Memory({ of: c, fixed }) {
  const [known, setKnown] = useState(/** @type {import("../types.js").Remembered[] | undefined} */ (undefined));
  const [failed, fail] = useState(false);
  const read = () => facts(c.key).then((list) => { setKnown(list); fail(false); }, () => fail(true));
  useEffect(() => { read(); }, [c.key, c.message_count]);
  const drop = (/** @type {import("../types.js").Remembered} */ fact) => forget(c.key, fact).then(() => {
    read();
    toast(t("It is forgotten."), () => takeForgettingBack(c.key, fact).then(read, trouble));
  }, trouble);
  return html`<section><h2>${c.group ? t("What is remembered here") : c.own ? t("What is remembered about you") : t("What is remembered about them")}</h2>
    ${failed && html`<p class="meta">${t("This could not be loaded.")} <button type="button" class="textbutton" onClick=${read}>${t("Retry")}</button></p>`}
    ${known?.length === 0 && html`<p class="meta">${t("Nothing is remembered yet.")}</p>`}
    <ul class="factlist">${known?.map((/** @type {import("../types.js").Remembered} */ fact) => html`<li key=${fact.id}><span class="grow" dir="auto">${fact.text}</span>${!fixed && html`<${Button} icon="x" kind="quiet" label=${t("Forget: {0}", fact.text)} onClick=${() => drop(fact)} />`}</li>`)}</ul>
  </section>`;
}
