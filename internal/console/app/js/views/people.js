// People and tokens: everybody who wrote, under which names, and which keys open the doors.

import { html, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { More, readPages, usePages } from "../pages.js";
import { Avatar, network } from "../parts/avatar.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { Search } from "../parts/search.js";
import { Table } from "../parts/table.js";
import { View } from "../parts/view.js";
import { useStore } from "../store.js";
import { cost, number, shortTime, t, wholeTime } from "../text.js";
import { Somebody } from "./somebody.js";
import { Making, Tokens } from "./tokens.js";

/** @typedef {import("../../../../../docs/openapi.js").Person} Person */
/** @typedef {import("../../../../../docs/openapi.js").UsedRow} UsedRow */

/** @param {{route: import("../router.js").Route}} props */
export const People = ({ route }) => (route.key ? html`<${Somebody} key=${route.key} id=${route.key} />` : html`<${List} />`);

// monthUsed is what each person used this month, by their id. It is asked for by pages, too.
async function monthUsed() {
  const now = new Date();
  const from = `${now.getFullYear()}-${String(now.getMonth() + 1).padStart(2, "0")}-01`;
  const report = await get("statistics/usage", { by: "person", from, limit: 200 });
  return Object.fromEntries(report.rows.map((/** @type {UsedRow} */ r) => [r.name, r]));
}

function List() {
  const admin = useStore((s) => s.me?.scope === "admin");
  const [words, look] = useState("");
  const people = usePages("people", { text: words }, ["people_change", "pairing_change"]);
  const used = useLoad(monthUsed, [], ["turn_done"], 5000);
  const tokens = useLoad(async () => (admin ? (await readPages("tokens", { limit: undefined }, 1)).data : []), [admin], ["token_change"]);
  const [making, make] = useState(false);
  return html`<${View} title=${t("People and tokens")} of=${people} say=${t("Everybody who wrote, under which names, and which keys open the doors. Who may talk is in the configuration.")}
    tools=${admin && html`<${Button} icon="key-round" kind="primary" onClick=${() => make(true)}>${t("New token")}<//>`}>
    ${(/** @type {{data: Person[], next?: string}} */ page) => html`
      <section><header><h2>${t("People")}</h2></header>
        ${(words || page.next || page.data.length > 12) && html`<${Search} label=${t("Search people")} value=${words} onInput=${(/** @type {any} */ e) => look(e.currentTarget.value)} />`}
        ${page.data.length ? html`<${Table} label=${t("People")} rows=${page.data} name=${(/** @type {Person} */ p) => p.id} columns=${columns(used.data ?? {})} /><${More} of=${people} />`
        : words ? html`<${Empty} icon="users" title=${t("Nothing found")}>${t("Nobody has this name.")}<//>`
        : html`<${Empty} icon="users" title=${t("Nobody but you")}>${t("People appear here when they have written.")}<//>`}</section>
      ${admin && html`<section><header><h2>${t("Tokens")}</h2></header>${tokens.data && html`<${Tokens} of=${tokens.data} again=${tokens.again} />`}</section>`}
      <${Dialog} title=${t("New token")} open=${making} close=${() => make(false)}><${Making} done=${tokens.again} /><//>`}
  <//>`;
}

// called is what people call somebody.
/** @param {Person} p */
export const called = (p) => p.name || (p.id === "operator" ? t("Whoever runs Dragoman") : p.identities[0] ?? p.id);

// Identity is a name on a network, with its icon.
/** @param {{of: string}} props */
export function Identity({ of: identity }) {
  const [icon, name] = network(identity.slice(0, identity.indexOf(":")));
  return html`<span class="chip"><${Icon} name=${icon} small label=${t(name)} /><span class="cut" dir="auto">${identity}</span></span>`;
}

/** @param {Record<string, UsedRow>} used */
const columns = (used) => [
  { title: t("Name"), cell: (/** @type {Person} */ p) => html`<span class="rowline"><${Avatar} name=${called(p)} small /><b><a href=${`/people/${encodeURIComponent(p.id)}`} dir="auto">${called(p)}</a></b></span>` },
  { title: t("Known as"), kind: "wide", cell: (/** @type {Person} */ p) => html`<span class="rowline">${p.identities.map((id) => html`<${Identity} key=${id} of=${id} />`)}</span>` },
  { title: t("Seen"), label: true, cell: (/** @type {Person} */ p) => p.seen && html`<time title=${wholeTime(p.seen)}>${shortTime(p.seen)}</time>` },
  { title: t("Answers this month"), kind: "num", label: true, cell: (/** @type {Person} */ p) => number(used[p.id]?.turns ?? 0) },
  { title: t("This month"), kind: "num", label: true, cell: (/** @type {Person} */ p) => spent(used[p.id]) },
];

/** @param {UsedRow | undefined} r */
const spent = (r) => (!r ? "–" : r.cost ? t("cost {0}", cost(r.cost)) : t("{0} tokens", number(r.input + r.output)));
