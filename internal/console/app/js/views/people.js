// People and tokens: who is known under which names, and which keys open the doors.

import { html, useState } from "../../vendor/preact.js";
import { get, path, post, remove } from "../api.js";
import { useLoad } from "../load.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Empty } from "../parts/empty.js";
import { Notice } from "../parts/notice.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { toast, trouble } from "../parts/toast.js";
import { View } from "../parts/view.js";
import { useStore } from "../store.js";
import { shortTime, t, wholeTime } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").Person} Person */
/** @typedef {import("../../../../../docs/openapi.js").Token} Token */
/** @typedef {{people: Person[], tokens: Token[]}} Known */

export function People() {
  const admin = useStore((s) => s.me?.scope === "admin");
  const known = useLoad(async () => ({ people: (await get("people")).data, tokens: admin ? (await get("tokens")).data : [] }), [admin], ["people_change", "token_change"]);
  const [making, make] = useState(false);
  const [ending, end] = useState(/** @type {Token | null} */ (null));
  const revoke = () => {
    remove(path`tokens/${ending?.name ?? ""}`, { person: ending?.person }).then(() => toast(t("Revoked.")), trouble).then(known.again);
    end(null);
  };
  return html`<${View} title=${t("People and tokens")} of=${known} say=${t("Who is known under several names, and which keys open the doors. Who may talk is in the configuration.")}
    tools=${admin && html`<${Button} icon="key-round" kind="primary" onClick=${() => make(true)}>${t("New token")}<//>`}>
    ${(/** @type {Known} */ { people, tokens }) => html`
      <section><header><h2>${t("People")}</h2></header>${people.length
        ? html`<${Table} label=${t("People")} rows=${people} name=${(/** @type {Person} */ p) => p.id} columns=${persons()} />`
        : html`<${Empty} icon="users" title=${t("Nobody has several names")}>${t("Whoever writes on two networks can connect them with /connect, in a private chat.")}<//>`}</section>
      ${admin && html`<section><header><h2>${t("Tokens")}</h2></header>${tokens.length
        ? html`<${Table} label=${t("Tokens")} rows=${tokens} name=${(/** @type {Token} */ k) => `${k.person} ${k.name}`} columns=${keys(end)} />`
        : html`<${Empty} icon="key-round" title=${t("No tokens")}>${t("A token lets a program or a browser in. What it may do, you choose.")}<//>`}</section>`}
      <${Dialog} title=${t("New token")} open=${making} close=${() => make(false)}><${Making} done=${known.again} /><//>
      <${Dialog} title=${t("Revoke this token?")} open=${ending !== null} close=${() => end(null)}>
        <p>${t("Whatever uses {0} is logged out at once.", ending?.name ?? "")}</p>
        <div class="actions"><${Button} kind="danger" onClick=${revoke}>${t("Revoke")}<//><${Button} onClick=${() => end(null)}>${t("Keep it")}<//></div><//>`}
  <//>`;
}

const persons = () => [
  { title: t("Person"), cell: (/** @type {Person} */ p) => html`<b dir="auto">${p.id}</b>` },
  { title: t("Known as"), kind: "wide", cell: (/** @type {Person} */ p) => html`<span class="rowline">${p.identities.map((id) => html`<span class="chip" dir="auto">${id}</span>`)}</span>` },
];

/** @param {(token: Token) => void} end */
const keys = (end) => [
  { title: t("Name"), cell: (/** @type {Token} */ k) => html`<b class="mono" dir="auto">${k.name}</b>` },
  { title: t("May"), cell: (/** @type {Token} */ k) => html`<span class="chip">${k.scope}</span>` },
  { title: t("Person"), cell: (/** @type {Token} */ k) => k.person },
  { title: t("Used"), label: true, cell: (/** @type {Token} */ k) => (k.last_used ? html`<time title=${wholeTime(k.last_used)}>${shortTime(k.last_used)}</time>` : html`<${State} of="warn">${t("never")}<//>`) },
  { title: t("Ends"), label: true, cell: (/** @type {Token} */ k) => (k.revoked ? t("revoked") : k.expires ? html`<time title=${wholeTime(k.expires)}>${shortTime(k.expires)}</time>` : html`<${State} of="warn">${t("when it is revoked")}<//>`) },
  { title: t("Actions"), kind: "act", hidden: true, cell: (/** @type {Token} */ k) => !k.revoked && html`<${Button} icon="trash-2" kind="quiet" label=${t("Revoke {0} …", k.name)} onClick=${() => end(k)} />` },
];

// Making asks what the token is for, and shows its secret once.
/** @param {{done: () => void}} props */
function Making({ done }) {
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
    <div class="actions"><button class="button primary">${t("Create")}</button></div></form>`;
}
