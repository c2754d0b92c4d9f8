// Details of a conversation: what shapes it, what is kept of it, and how to take it out.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { copyText } from "../clipboard.js";
import { known } from "../list.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { toast, trouble } from "../parts/toast.js";
import { talkPath } from "../router.js";
import { useStore } from "../store.js";
import { beginAnew, configure, isClosed, may, rename } from "../talk.js";
import { cost, day, number, t } from "../text.js";
import { exportURL } from "./chathead.js";
import { Erase } from "./erase.js";
import { Memory } from "./memory.js";
import { titleOf } from "./row.js";
import { Tags } from "./tags.js";
import { Window } from "./window.js";

/** @param {{of: string, alone: boolean}} props */
export function Details({ of: key, alone }) {
  const c = useStore(() => known(key));
  const Frame = alone ? "main" : "aside";
  return html`<${Frame} class="details" id=${alone ? "main" : null} tabindex=${alone ? "-1" : null} aria-label=${t("Details")}>
    <header><h1>${t("Details")}</h1><a class="button quiet icononly" href=${talkPath(key)} aria-label=${t("Close")}><${Icon} name="x" small /></a></header>
    ${c ? html`<${Body} of=${c} />` : html`<div class="body"><p class="meta">${t("Nothing is known of this conversation yet.")}</p></div>`}
  <//>`;
}

/** @param {{of: import("../types.js").Conversation}} props */
function Body({ of: c }) {
  const models = useStore((s) => s.models);
  const fixed = !c.own && !may("operate") || isClosed(c); // not theirs: read-only
  const save = (/** @type {object} */ parts) => configure(c.key, parts).catch(trouble);
  const copy = async () => toast((await copyText(c.key)) ? t("Copied") : t("Press Ctrl+C"));
  return html`<div class="body">
    <section>
      <${Kept} id="title" label=${t("Title")} value=${c.title ?? ""} hint=${titleOf(c)} fixed=${fixed} save=${(/** @type {string} */ title) => rename(c.key, title).catch(trouble)} />
      <p class="rowline"><code class="grow">${c.key}</code><${Button} icon="copy" kind="quiet" label=${t("Copy the key")} onClick=${copy} /></p>
      <${Tags} of=${c} fixed=${fixed} />
    </section>
    <section>
      <div class="field"><label for="model">${t("Model")}</label><select class="input" id="model" disabled=${fixed} value=${c.model ?? ""} onChange=${(/** @type {any} */ e) => save({ model: e.currentTarget.value })}>
        <option value="">${t("As configured ({0})", models.find((m) => m.default)?.name ?? models[0]?.name ?? "")}</option>${models.map((m) => html`<option value=${m.name}>${m.name}</option>`)}</select></div>
      <${Kept} id="prompt" label=${t("Prompt here, instead of the configured one")} value=${c.system_prompt ?? ""} lines=${3} fixed=${fixed} save=${(/** @type {string} */ text) => save({ system_prompt: text })} />
    </section>
    ${!isClosed(c) && html`<${Memory} of=${c} fixed=${fixed} />`}
    ${!isClosed(c) && html`<${Window} of=${c} fixed=${fixed} />`}
    <section><h2>${t("Numbers")}</h2><${Numbers} of=${c} /></section>
    <section><div class="rowline">${!isClosed(c) && html`<a class="button" href=${exportURL(c.key)} download><${Icon} name="download" small />${t("Export")}</a>`}
      ${!fixed && html`<${Button} icon="undo-2" onClick=${() => beginAnew(c.key).then(() => toast(t("A new start. What was said before is kept.")), trouble)}>${t("Start anew")}<//>`}</div>
      ${may("admin") && html`<${Erase} of=${c} />`}</section>
  </div>`;
}

// Kept is a field that is saved when it is left, or with Enter.
/** @param {{id: string, label: string, value: string, hint?: string, lines?: number, fixed: boolean, save: (text: string) => void}} props */
function Kept({ id, label, value, hint, lines, fixed, save }) {
  const [text, setText] = useState(value);
  const before = useRef(value);
  useEffect(() => {
    if (before.current !== value) setText(value); // at first it would take what is typed already
    before.current = value;
  }, [value]);
  const done = () => { if (text !== value) save(text); };
  const input = (/** @type {any} */ e) => setText(e.currentTarget.value);
  const enter = (/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter" && !lines) done(); };
  return html`<div class="field"><label for=${id}>${label}</label>
    ${lines ? html`<textarea class="input" id=${id} rows=${lines} dir="auto" value=${text} readonly=${fixed} onInput=${input} onBlur=${done} />`
    : html`<input class="input" id=${id} dir="auto" value=${text} placeholder=${hint} readonly=${fixed} maxlength="150" onInput=${input} onBlur=${done} onKeyDown=${enter} />`}</div>`;
}

/** @param {{of: import("../types.js").Conversation}} props */
function Numbers({ of: c }) {
  const spent = may("operate") && c.usage?.cost;
  const rows = [
    [t("Messages"), number(c.message_count)],
    [t("Since"), c.created ? day(c.created) : ""],
    [t("Tokens"), number(c.total_tokens ?? 0)],
    [t("Cost"), spent && cost(spent)],
  ];
  return html`<dl class="facts">${rows.map(([name, value]) => value && html`<dt>${name}</dt><dd class="num">${value}</dd>`)}</dl>
    ${spent && html`<p class="meta">${t("Cost in the currency of your prices")}</p>`}`;
}
