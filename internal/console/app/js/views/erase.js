// Erasing a conversation: a dialog says what goes and what stays, and wants its title.

import { html, useState } from "../../vendor/preact.js";
import { erase, plan } from "../erasing.js";
import { network } from "../parts/avatar.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { toast, trouble } from "../parts/toast.js";
import { go } from "../router.js";
import { plural, t } from "../text.js";
import { titleOf } from "./row.js";

/** @param {{of: import("../types.js").Conversation}} props */
export function Erase({ of: c }) {
  const [planned, setPlanned] = useState(/** @type {import("../erasing.js").ErasePlan | undefined} */ (undefined));
  const [sure, setSure] = useState("");
  const name = titleOf(c);
  const close = () => setPlanned(undefined);
  const confirm = async () => {
    if (!planned || sure.trim() !== name) return;
    try {
      await erase(planned);
      toast(t("{0} is erased.", name));
      go("/talk", true);
    } catch (problem) {
      trouble(problem);
    }
  };
  return html`<div><${Button} icon="eraser" kind="danger" onClick=${() => plan(c.key).then(setPlanned, trouble)}>${t("Erase …")}<//></div>
    <${Dialog} title=${t("Erase this conversation?")} open=${Boolean(planned)} close=${close}>
      <form class="stack" onSubmit=${(/** @type {Event} */ e) => { e.preventDefault(); confirm(); }}>
        <p>${planned && sentence(c, planned)}</p>
        <div class="field"><label for="sure">${t("Write “{0}” to confirm", name)}</label><input class="input" id="sure" dir="auto" autocomplete="off" value=${sure} onInput=${(/** @type {any} */ e) => setSure(e.currentTarget.value)} /></div>
        <div class="actions"><button class="button danger" disabled=${sure.trim() !== name}>${t("Erase")}</button><${Button} onClick=${close}>${t("Keep it")}<//></div>
      </form>
    <//>`;
}

/**
 * @param {import("../types.js").Conversation} c
 * @param {import("../erasing.js").ErasePlan} planned
 */
function sentence(c, planned) {
  const files = planned.erasure.files?.length ?? 0;
  const goes = [
    plural(c.message_count, "{0} message", "{0} messages"),
    files > 0 && plural(files, "{0} file", "{0} files"),
    planned.facts > 0 && plural(planned.facts, "{0} fact", "{0} facts"),
  ].filter(Boolean).join(", ");
  const stays = c.network === "web" || c.network === "cli" ? "" : t("The messages stay on {0}.", t(network(c.network)[1]));
  return [t("Deleted from the store and its search: {0}. This cannot be undone.", goes), stays].filter(Boolean).join(" ");
}
