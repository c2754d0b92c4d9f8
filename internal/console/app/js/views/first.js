// First steps: what a new Dragoman has and lacks, with the lines that mend it. Each step says
// what was found, and what is left to do.

import { html } from "../../vendor/preact.js";
import { get } from "../api.js";
import { keep } from "../kept.js";
import { useLoad } from "../load.js";
import { Bones } from "../parts/bones.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Notice } from "../parts/notice.js";
import { Said } from "../parts/said.js";
import { Snippet } from "../parts/snippet.js";
import { go } from "../router.js";
import { change } from "../store.js";
import { styled } from "../styled.js";
import { may } from "../talk.js";
import { plural, t } from "../text.js";
import { Adding } from "./adding.js";
import { Findings } from "./findings.js";

/** @typedef {import("../../../../../docs/openapi.js").Status} Status */
/** @typedef {import("../../../../../docs/openapi.js").Channel} Channel */
/** @typedef {import("../../../../../docs/openapi.js").Configuration} Configuration */
/** @typedef {import("../../../../../docs/openapi.js").Pairing} Pairing */
/** @typedef {{status: Status, channels: Channel[], settings?: Configuration, pairings: Pairing[], said: boolean}} Found */

/** @typedef {{done: boolean, title: string, text: any, more?: any, action?: any}} Step */

const mark = new URL("../../mark.svg", import.meta.url).pathname;
const key = `model:
  api_key: "\${file:model.key}"`;
const own = `model:
  base_url: http://127.0.0.1:8080/v1
  name: the-name-of-the-model`;

// found is the view with its style sheet.
export const found = () => Promise.all([styled("first"), styled("ways")]).then(() => First);

function First() {
  const shown = useLoad(async () => ({
    status: await get("status"), channels: (await get("channels")).data,
    settings: may("admin") ? await get("settings") : undefined,
    pairings: may("operate") ? (await get("pairings")).data : [],
    said: (await get("conversations", { limit: 1 })).data.length > 0,
  }), [], ["channel_change", "channel_failed", "channel_back", "pairing_change", "settings_change", "turn_begun", "turn_ended", "model_down", "model_back"]);
  return html`<main class="first" id="main" tabindex="-1"><div class="inner">
    <div class="lead"><img src=${mark} alt="" width="56" height="56" /><h1>${t("Dragoman is running")}</h1></div>
    ${shown.problem && html`<${Notice} of="bad"><b>${t("This could not be loaded.")}</b> ${"status" in shown.problem ? shown.problem.message : t("Dragoman cannot be reached.")}<div class="actions"><${Button} onClick=${shown.again}>${t("Retry")}<//></div><//>`}
    ${shown.data ? html`<${Steps} of=${shown.data} />` : !shown.problem && html`<${Bones} />`}
  </div></main>`;
}

/** @param {{of: Found}} props */
function Steps({ of: found }) {
  const steps = [model(found.status), place(found.status), hello(found.said), channel(found.channels), people(found)];
  const left = steps.filter((s) => !s.done).length;
  const skip = () => {
    keep("first", "skipped");
    change({ skipped: true });
    go("/talk");
  };
  return html`<p class="soft">${t("One assistant for all your chats, and no message lost.")} ${left ? plural(left, "One thing is left for you.", "{0} things are left for you.") : t("All is done.")}</p>
    <ol class="todo">${steps.map((s) => html`<li class=${s.done ? "done" : ""}><${Icon} name=${s.done ? "circle-check" : "circle-dashed"} label=${s.done ? t("done") : t("to do")} />
      <div class="grow"><h2>${s.title}</h2><p class="soft">${s.text}</p>${s.more}</div>${s.action}</li>`)}</ol>
    ${found.settings && html`<${Findings} of=${found.settings} />`}
    <p class="meta">${t("This is shown until somebody has written.")} <button type="button" class="textbutton" onClick=${skip}>${t("Skip it")}</button> · ${found.status.version}</p>`;
}

/**
 * @param {Status} s
 * @returns {Step}
 */
function model(s) {
  if (s.model === "demo") {
    return { done: false, title: t("Connect a model"), text: t("The built-in demo answers now: a handful of rules, not a language model."), more: html`<details><summary>${t("Show me")}</summary><ol class="ways">
      <li>${t("With a key of a provider: put it into the file model.key, beside the configuration, and write this.")}<${Snippet} label=${t("Lines for a key")}>${key}<//></li>
      <li>${t("Or with a server of your own that speaks OpenAI's API:")}<${Snippet} label=${t("Lines for a server")}>${own}<//></li>
      <li>${t("Or start an Ollama on this machine: Dragoman finds it. Then start Dragoman again.")}</li></ol></details>` };
  }
  if (s.model_trouble) return { done: false, title: t("The model does not answer"), text: html`<bdi>${s.model}</bdi>: <${Said} of=${s.model_trouble.why} part />` };
  return { done: true, title: t("A model answers"), text: s.model ?? "" };
}

/**
 * @param {Status} s
 * @returns {Step}
 */
function place(s) {
  const full = Boolean(s.disk_full || s.problem);
  return { done: !full, title: full ? t("Your data lacks room") : t("Your data has a place"), text: full ? html`<${Said} of=${s.problem || s.warnings?.[0]} />` : t("{0}. Messages are on disk before a network hears that they arrived.", `\u2066${s.state_dir ?? ""}\u2069`) };
}

/**
 * @param {boolean} said
 * @returns {Step}
 */
const hello = (said) => ({
  done: said, title: t("Say hello"), text: t("The first conversation is here, on this page."),
  action: !said && html`<a class="button primary" href="/talk/new">${t("Say hello")}</a>`,
});

/**
 * @param {Channel[]} all
 * @returns {Step}
 */
function channel(all) {
  const others = all.filter((c) => c.type !== "web" && c.type !== "cli");
  const well = others.filter((c) => c.state === "connected");
  const title = t("Add a channel");
  if (!others.length) return { done: false, title, text: t("Telegram takes two minutes, WhatsApp a code to scan, IRC a few lines."), more: html`<details><summary>${t("Show me")}</summary><${Adding} /></details>` };
  const trouble = others.find((c) => c.state === "failed" || c.state === "down");
  if (trouble) return { done: false, title, text: trouble.linkable && !trouble.linked ? t("{0} waits for a phone.", trouble.name) : t("{0} needs you.", trouble.name), action: html`<a class="button" href="/channels">${t("Channels")}</a>` };
  return { done: well.length > 0, title, text: t("Connected: {0}.", well.map((c) => c.name).join(", ")) };
}

/**
 * @param {Found} found
 * @returns {Step}
 */
function people({ pairings, settings }) {
  const asking = pairings.filter((p) => p.code).length;
  const listed = settings?.settings.some((s) => /^channels\..+\.allow\[/.test(s.path) && s.source !== "default"); // the page and the terminal have one
  const title = t("Choose who may talk");
  if (asking) return { done: false, title, text: plural(asking, "Somebody waits for your yes.", "{0} people wait for your yes."), action: html`<a class="button primary" href="/channels">${t("Channels")}</a>` };
  if (listed || pairings.length) return { done: true, title, text: t("Some people may. The configuration lists them, or you approved their code.") };
  return { done: false, title, text: t("Nobody, until you allow it. With “pairing: true”, strangers get a code that you approve.") };
}
