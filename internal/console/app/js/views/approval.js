// A question about a call: what would be done, why it is asked, and the answers. The
// buttons are dead at first, so that somebody who types does not allow a command.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Said } from "../parts/said.js";
import { toast, trouble } from "../parts/toast.js";
import { now } from "../store.js";
import { decide } from "../talk.js";
import { clock, since, span, t } from "../text.js";
import { Arguments } from "./arguments.js";

const deadFor = 600; // ms

/** @type {Record<string, string>} */
const ends = { allowed: "Allowed", used: "Allowed", denied: "Denied", expired: "It expired", closed: "It is not asked any more" };

// useAlive is false at first.
export function useAlive() {
  const [alive, setAlive] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setAlive(true), deadFor);
    return () => clearTimeout(timer);
  }, []);
  return alive;
}

// shapeOf is how good it is that a question ended so, and the icon for that.
/** @param {import("../types.js").Approval} a */
export const shapeOf = (a) => (a.state === "denied" ? ["quiet", "x"] : a.state === "expired" || a.state === "closed" ? ["quiet", "clock"] : ["good", "check"]);

// ended says how a question ended, and by whom.
/** @param {import("../types.js").Approval} a */
export function ended(a) {
  const word = t(ends[a.state] ?? a.state);
  const { me, names } = now();
  if (a.by && (a.by === me?.person || me?.identities.includes(a.by))) return t("{0} by you", a.always ? t("Always allowed") : word);
  const by = a.by_name || names?.[a.by ?? ""] || a.by;
  return by ? t("{0} by {1}", a.always ? t("Always allowed") : word, by) : word;
}

/** @param {{of: import("../types.js").Approval}} props */
export function Approval({ of: a }) {
  const alive = useAlive();
  if (a.state !== "pending") return html`<p class="meta rowline"><${Icon} name=${shapeOf(a)[1]} small />${ended(a)}: ${a.tool}</p>`;
  const answer = async (/** @type {string} */ word) => {
    if (!alive) return;
    try {
      const decision = await decide(a, word);
      if (!decision.changed) toast(decision.text);
    } catch (problem) {
      trouble(problem);
    }
  };
  const left = Date.parse(a.until) - Date.now();
  return html`<section class="inset warn" aria-label=${t("Approval")}>
    <h2><${Icon} name="hand" small />${t("May Dragoman run {0}?", a.tool)}</h2>
    <p><${Said} of=${a.why} /></p>
    <${Arguments} of=${a} />
    ${a.mine
    ? html`<div class="actions">
        <${Button} kind="primary" aria-disabled=${String(!alive)} onClick=${() => answer("allow")}>${t("Allow once")}<//>
        <${Button} kind="danger" aria-disabled=${String(!alive)} onClick=${() => answer("deny")}>${t("Deny")}<//>
        ${a.may_always && html`<${Button} kind="quiet" aria-disabled=${String(!alive)} onClick=${() => answer("always")}>${t("Always in this conversation")}<//>`}
      </div>`
    : html`<p>${t("Somebody else decides this.")}</p>`}
    <p>${t("Asked {0} ago. Denied by itself in {1}, at {2}.", since(a.asked), span(left), clock(a.until))}</p>
  </section>`;
}
