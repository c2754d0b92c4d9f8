// A person: under which names they are known, what is remembered, what they used, which keys
// they have, and erasing all of it.

import { html, useState } from "../../vendor/preact.js";
import { get, path, remove } from "../api.js";
import { Bars, daysFrom, parted } from "../bars.js";
import { useLoad } from "../load.js";
import { Avatar } from "../parts/avatar.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { toast, trouble } from "../parts/toast.js";
import { View } from "../parts/view.js";
import { talkPath } from "../router.js";
import { now, useStore } from "../store.js";
import { cost, number, shortTime, t, wholeTime } from "../text.js";
import { Budgets } from "./budgets.js";
import { EraseSomebody } from "./erasesomebody.js";
import { Facts } from "./factsof.js";
import { Identity, called } from "./people.js";
import { Tokens } from "./tokens.js";

/** @typedef {import("../../../../../docs/openapi.js").Person} Person */
/** @typedef {import("../../../../../docs/openapi.js").UsageReport} UsageReport */
/** @typedef {{person: Person, usage: UsageReport, budgets: any[], tokens: any[]}} Known */

const changes = ["people_change", "token_change", "pairing_change", "turn_done"];

/**
 * @param {string} id
 * @param {boolean} admin
 * @returns {Promise<Known>}
 */
async function read(id, admin) {
  const person = await get(path`people/${id}`);
  const [usage, budgets, tokens] = await Promise.all([
    get("statistics/usage", { by: "day", person: person.id }),
    get("statistics/budgets", { limit: 200 }),
    admin ? get("tokens") : { data: [] },
  ]);
  const theirs = (/** @type {string} */ name) => name === person.id || person.identities.includes(name);
  return { person, usage, budgets: budgets.data.filter((/** @type {any} */ b) => b.of === "person" && theirs(b.name)), tokens: tokens.data.filter((/** @type {any} */ k) => theirs(k.person)) };
}

// targetOf is the conversation whose memory is theirs.
/** @param {Person} p */
const targetOf = (p) => (p.id === "operator" ? now().me?.home ?? "web:default" : p.identities[0] ?? p.id);

/** @param {{id: string}} props */
export function Somebody({ id }) {
  const admin = useStore((s) => s.me?.scope === "admin");
  const known = useLoad(() => read(id, admin), [id, admin], changes, 3000);
  const person = known.data?.person;
  return html`<${View} title=${person ? called(person) : id} of=${known} tools=${html`<a class="button quiet" href="/people">${t("All people")}</a>`}>
    ${(/** @type {Known} */ { person: p, usage, budgets, tokens }) => html`
      <p class="rowline"><${Avatar} name=${called(p)} /> <span class="soft">${p.seen ? html`${t("Seen")} <time title=${wholeTime(p.seen)}>${shortTime(p.seen)}</time>` : t("Never seen in private")}</span></p>
      <section><header><h2>${t("Known as")}</h2></header><${Identities} of=${p} admin=${admin} again=${known.again} /></section>
      <section><header><h2>${t("What is remembered")}</h2></header><${Facts} target=${targetOf(p)} /></section>
      <${Used} of=${usage} />
      <${Budgets} of=${budgets} names=${{ [p.id]: called(p) }} money=${true} />
      ${admin && tokens.length > 0 && html`<section><header><h2>${t("Tokens")}</h2></header><${Tokens} of=${tokens} again=${known.again} /></section>`}
      ${admin && p.id !== "operator" && html`<section><header><h2>${t("Erase")}</h2></header><${EraseSomebody} of=${p} /></section>`}`}
  <//>`;
}

/** @param {{of: Person, admin: boolean, again: () => void}} props */
function Identities({ of: p, admin, again }) {
  const [parting, part] = useState("");
  const link = (/** @type {string} */ identity) => p.links.find((l) => l.identity === identity);
  const leave = () => {
    remove(path`people/${parting}`).then(() => toast(t("It is a person of its own again.")), trouble).then(again);
    part("");
  };
  return html`<ul class="card soon">${p.identities.map((identity) => html`<li key=${identity}><${Identity} of=${identity} />
      <span class="grow meta">${link(identity) && (link(identity)?.connected ? t("connected with /connect, {0}", shortTime(link(identity)?.since ?? "")) : t("joined by hand, {0}", shortTime(link(identity)?.since ?? "")))}</span>
      ${p.id !== "operator" && html`<a class="button quiet" href=${talkPath(identity)}>${t("Open the conversation")}</a>`}
      ${admin && link(identity) && html`<${Button} icon="unlink" kind="quiet" label=${t("Take {0} away …", identity)} onClick=${() => part(identity)} />`}</li>`)}</ul>
    <p class="meta">${t("Whoever writes on two networks connects them with /connect, in a private chat. By hand: dragoman people join {0} OTHER, on the machine.", p.identities[0] ?? p.id)}</p>
    <${Dialog} title=${t("Is this somebody else?")} open=${parting !== ""} close=${() => part("")}>
      <p>${t("{0} becomes a person of its own: it no longer sees what the others were told, and what is remembered is no longer shared.", parting)}</p>
      <div class="actions"><${Button} kind="danger" onClick=${leave}>${t("Take it away")}<//><${Button} onClick=${() => part("")}>${t("Keep it")}<//></div><//>`;
}

/** @param {{of: UsageReport}} props */
function Used({ of: report }) {
  const { total } = report;
  if (!total.turns) return html`<section><header><h2>${t("Usage")}</h2></header><p class="soft">${t("Nothing was used in the last thirty days.")}</p></section>`;
  const pick = (/** @type {any} */ used) => (total.cost ? used.cost ?? 0 : used.input + used.output);
  const shown = (/** @type {number} */ v) => (total.cost ? cost(v) : number(Math.round(v)));
  const days = daysFrom(report.from, report.to, report.rows[0]?.name);
  const rows = [{ name: "", days: report.rows.map((r) => ({ ...r, day: r.name })) }];
  const said = (/** @type {string} */ day) => new Date(`${day}T00:00`).toLocaleDateString(document.documentElement.lang, { day: "numeric", month: "short" });
  const figures = [[t("Answers"), number(total.turns)], [t("Tokens"), number(total.input + total.output)], ...(total.cost ? [[t("Cost in the currency of your prices"), cost(total.cost)]] : [])];
  return html`<section><header><h2>${t("The last thirty days")}</h2></header>
    <div class="figures">${figures.map(([name, value]) => html`<div class="figure"><b>${value}</b><span class="meta">${name}</span></div>`)}</div>
    <${Bars} title=${total.cost ? t("Cost by day") : t("Tokens by day")} days=${days} parts=${parted(rows, days, pick)} shown=${shown} said=${said} slots=${30} /></section>`;
}
