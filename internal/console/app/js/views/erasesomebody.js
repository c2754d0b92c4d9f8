// Erasing a person: a dialog says what goes and what stays, and wants their name.

import { html, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { erase } from "../erasing.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { toast, trouble } from "../parts/toast.js";
import { go } from "../router.js";
import { plural, t } from "../text.js";
import { called } from "./people.js";

/** @typedef {import("../erasing.js").ErasePlan} ErasePlan */

/** @param {{of: import("../../../../../docs/openapi.js").Person}} props */
export function EraseSomebody({ of: p }) {
  const [planned, setPlanned] = useState(/** @type {ErasePlan | undefined} */ (undefined));
  const [sure, setSure] = useState("");
  const name = called(p);
  const close = () => setPlanned(undefined);
  const confirm = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!planned || sure.trim() !== name) return;
    erase(planned).then(() => {
      toast(t("{0} is erased.", name));
      go("/people", true);
    }, trouble);
  };
  return html`<p class="soft">${t("Everything that the store has of them, on all of their networks.")}</p>
    <div><${Button} icon="eraser" kind="danger" onClick=${() => get("erasures", { target: p.identities[0] }).then(setPlanned, trouble)}>${t("Erase everything …")}<//></div>
    <${Dialog} title=${t("Erase {0}?", name)} open=${Boolean(planned)} close=${close}>
      <form class="stack" onSubmit=${confirm}>
        ${planned && html`<${Goes} of=${planned} />`}
        <div class="field"><label for="sure">${t("Write “{0}” to confirm", name)}</label><input class="input" id="sure" dir="auto" autocomplete="off" value=${sure} onInput=${(/** @type {any} */ e) => setSure(e.currentTarget.value)} /></div>
        <div class="actions"><button class="button danger" disabled=${sure.trim() !== name}>${t("Erase")}</button><${Button} onClick=${close}>${t("Keep it")}<//></div>
      </form><//>`;
}

/** @param {{of: ErasePlan}} props */
function Goes({ of: plan }) {
  const messages = plan.conversations.reduce((n, c) => n + c.message_count, 0);
  const shared = plan.shared.reduce((n, c) => n + c.messages, 0);
  const goes = [
    plural(plan.conversations.length, "{0} conversation", "{0} conversations"), plural(messages, "{0} message", "{0} messages"),
    (plan.erasure.files?.length ?? 0) > 0 && plural(plan.erasure.files?.length ?? 0, "{0} file", "{0} files"),
    plan.facts > 0 && plural(plan.facts, "{0} fact", "{0} facts"),
    (plan.notes ?? 0) > 0 && plural(plan.notes ?? 0, "{0} note: tokens, reminders and the like", "{0} notes: tokens, reminders and the like"),
    plan.pairings > 0 && t("that they were let in"),
  ].filter(Boolean);
  return html`<p>${t("This goes for good and cannot be undone:")}</p><ul class="bullets">${goes.map((one) => html`<li>${one}</li>`)}
      ${plan.joined?.length ? html`<li>${t("also of {0}, which is the same person", plan.joined.join(", "))}</li>` : null}</ul>
    ${shared > 0 && html`<p>${plural(shared, "In conversations with others, {0} message of theirs is replaced by a sentence that says so.", "In conversations with others, {0} messages of theirs are replaced by a sentence that says so.")}</p>`}
    ${plan.maybe?.length ? html`<p>${t("This stays, because it may be somebody else's: {0}.", plan.maybe.map((m) => m.person).join(", "))}</p>` : null}
    <p class="meta">${t("What was said stays on their networks, and in backups.")}</p>`;
}
