// Tokens: which keys open the doors, when they were used, new secrets, and their end.

import { html, useState } from "../../vendor/preact.js";
import { path, post, remove } from "../api.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Empty } from "../parts/empty.js";
import { Notice } from "../parts/notice.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { toast, trouble } from "../parts/toast.js";
import { clock, shortTime, t, wholeTime } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").Token} Token */

/** @param {{of: Token[], again: () => void}} props */
export function Tokens({ of: list, again }) {
  const [ending, end] = useState(/** @type {Token | null} */ (null));
  const revoke = () => {
    remove(path`tokens/${ending?.name ?? ""}`, { person: ending?.person }).then(() => toast(t("Revoked.")), trouble).then(again);
    end(null);
  };
  if (!list.length) return html`<${Empty} icon="key-round" title=${t("No tokens")}>${t("A token lets a program or a browser in. What it may do, you choose.")}<//>`;
  return html`<${Table} label=${t("Tokens")} rows=${list} name=${(/** @type {Token} */ k) => `${k.person} ${k.name}`} columns=${columns(end)} />
    <${Dialog} title=${t("Revoke this token?")} open=${ending !== null} close=${() => end(null)}>
      <p>${t("Whatever uses {0} is logged out at once.", ending?.name ?? "")}</p>
      <div class="actions"><${Button} kind="danger" onClick=${revoke}>${t("Revoke")}<//><${Button} onClick=${() => end(null)}>${t("Keep it")}<//></div><//>`;
}

// old says that a token was not used for so long that it may be forgotten.
const old = 60 * 86_400_000;

/** @param {(token: Token) => void} end */
const columns = (end) => [
  { title: t("Name"), cell: (/** @type {Token} */ k) => html`<b class="mono" dir="auto">${k.name}</b>` },
  { title: t("May"), cell: (/** @type {Token} */ k) => html`<span class="chip">${k.scope}</span>` },
  { title: t("Person"), cell: (/** @type {Token} */ k) => html`<a href=${`/people/${encodeURIComponent(k.person)}`} dir="auto">${k.person}</a>` },
  { title: t("Used"), label: true, cell: used },
  { title: t("Ends"), label: true, cell: (/** @type {Token} */ k) => (k.revoked ? t("revoked") : k.expires ? html`<time title=${wholeTime(k.expires)}>${shortTime(k.expires)}</time>` : html`<${State} of="warn">${t("when it is revoked")}<//>`) },
  { title: t("Actions"), kind: "act", hidden: true, cell: (/** @type {Token} */ k) => !k.revoked && html`<${Button} icon="trash-2" kind="quiet" label=${t("Revoke {0} …", k.name)} onClick=${() => end(k)} />` },
];

const hour = 3_600_000;

// hourOf is the hour that begins then; of former days, the day.
/** @param {string} at */
function hourOf(at) {
  const end = new Date(Date.parse(at) + hour);
  if (end.getTime() > Date.now()) return t("in this hour");
  return new Date(at).toDateString() === new Date().toDateString() ? t("{0} to {1}", clock(at), clock(end.toISOString())) : shortTime(at);
}

/** @param {Token} k */
function used(k) {
  if (!k.last_used) return html`<${State} of="warn">${t("never")}<//>`;
  const time = html`<time datetime=${k.last_used} title=${t("Dragoman notes the hour of a use, and not the minute.")}>${hourOf(k.last_used)}</time>`;
  return !k.revoked && Date.now() - Date.parse(k.last_used) > old ? html`<${State} of="warn">${time}<//>` : time;
}

// Making asks what the token is for, and shows its secret once.
/** @param {{done: () => void}} props */
export function Making({ done }) {
  const [made, show] = useState("");
  const [problem, fail] = useState("");
  const create = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    post("tokens", { name: form.get("name"), scope: form.get("scope"), expires_in: Number(form.get("days")) * 86_400 }).then((token) => {
      show(token.secret);
      done();
    }, (refused) => fail("status" in refused ? refused.message : t("Dragoman cannot be reached. Try again.")));
  };
  if (made) return html`<div class="stack"><p>${t("Copy it now. It is shown this once: Dragoman keeps only a hash of it.")}</p><input class="input mono" readonly value=${made} aria-label=${t("The token")} onFocus=${(/** @type {any} */ e) => e.currentTarget.select()} /></div>`;
  return html`<form class="stack" onSubmit=${create}>
    ${problem && html`<${Notice} of="bad">${problem}<//>`}
    <div class="field"><label for="token-name">${t("Name")}</label><input class="input" id="token-name" name="name" required autocomplete="off" placeholder="kitchen-tablet" /></div>
    <div class="field"><label for="token-scope">${t("May")}</label><select class="input" id="token-scope" name="scope">
      <option value="chat">${t("chat: talk, and see own conversations")}</option><option value="read">${t("read: see how all is")}</option><option value="operate">${t("operate: decide and retry")}</option><option value="admin">${t("admin: also tokens and erasing")}</option></select></div>
    <div class="field"><label for="token-days">${t("Good for")}</label><select class="input" id="token-days" name="days"><option value="90">${t("{0} days", 90)}</option><option value="365">${t("{0} days", 365)}</option><option value="0">${t("until it is revoked")}</option></select></div>
    <p class="meta">${t("It is for yourself. Tokens of other people are made on the machine: dragoman token create NAME --person WHO.")}</p>
    <div class="actions"><button class="button primary">${t("Create")}</button></div></form>`;
}
