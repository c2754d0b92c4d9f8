// Channels: where people write, how each does, and what it did in the last day.

import { html } from "../../vendor/preact.js";
import { get, post } from "../api.js";
import { useLoad } from "../load.js";
import { Button } from "../parts/button.js";
import { Empty } from "../parts/empty.js";
import { Notice } from "../parts/notice.js";
import { State } from "../parts/state.js";
import { toast, trouble } from "../parts/toast.js";
import { View } from "../parts/view.js";
import { useStore } from "../store.js";
import { number, since, t } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").Channel} Channel */
/** @typedef {import("../../../../../docs/openapi.js").ChannelDay} ChannelDay */
/** @typedef {import("../../../../../docs/openapi.js").Pairing} Pairing */
/** @typedef {{channels: Channel[], days: ChannelDay[], asking: Pairing[]}} Shown */

export function Channels() {
  const operates = useStore((s) => s.me?.scope === "operate" || s.me?.scope === "admin");
  const shown = useLoad(async () => ({
    channels: (await get("channels")).data,
    days: (await get("channels/history")).channels,
    asking: operates ? (await get("pairings")).data.filter((/** @type {Pairing} */ p) => p.code) : [],
  }), [operates], ["channel_change", "channel_failed", "channel_back", "pairing_change", "measured"]);
  return html`<${View} title=${t("Channels")} of=${shown} say=${t("Where people write. The bars show the last 24 hours, half an hour each.")}>
    ${(/** @type {Shown} */ { channels, days, asking }) => html`
      ${asking.map((p) => html`<${Asking} key=${p.code} of=${p} done=${shown.again} />`)}
      ${channels.length ? html`<div class="cards">${channels.map((c) => html`<${Card} key=${c.name} of=${c} day=${days.find((d) => d.name === c.name)} />`)}</div>`
      : html`<${Empty} icon="radio-tower" title=${t("Only this page so far")}>${t("Add Telegram, WhatsApp or IRC in the configuration.")}<//>`}`}
  <//>`;
}

// Asking is a stranger who wants to talk.
/** @param {{of: Pairing, done: () => void}} props */
function Asking({ of: p, done }) {
  const approve = () => post("pairings", { code: p.code }).then(() => toast(t("Approved.")), trouble).then(done);
  return html`<${Notice} of="warn" icon="user-plus"><b dir="auto">${t("{0} wants to talk on {1}.", p.name || p.person_id, p.channel)}</b>
    ${t("The code shown to them is {0}.", p.code ?? "")} ${t("Compare it if you can.")}<div class="actions"><${Button} onClick=${approve}>${t("Approve")}<//></div><//>`;
}

/** @param {Channel} c */
function condition(c) {
  if (c.unused) return ["quiet", t("Not set up")];
  if (c.state === "connected") return ["good", t("Connected for {0}", since(c.since))];
  if (c.state === "down") return ["bad", t("Down for {0}", since(c.since))];
  return ["warn", c.state];
}

/** @param {{of: Channel, day?: ChannelDay}} props */
function Card({ of: c, day }) {
  const [state, words] = condition(c);
  const sum = (/** @type {number[]} */ values) => number(values.reduce((a, b) => a + b, 0));
  return html`<article class=${`card ${state === "good" || state === "quiet" ? "" : state}`} aria-label=${c.name}><div class="stack">
    <header class="rowline"><h2 class="grow" dir="auto">${c.name}</h2><span class="chip">${c.type}</span></header>
    <${State} of=${state}>${words}<//>
    ${day && html`<${Strip} of=${day} /><p class="meta">${t("{0} messages in, {1} out, {2} attempts failed", sum(day.in), sum(day.out), sum(day.failed))}</p>`}
    ${c.detail && html`<p>${c.detail}</p>`}
    ${c.linkable && html`<a class="button" href="/">${c.linked ? t("Its link") : t("Link it to a phone")}</a>`}
  </div></article>`;
}

// Strip shows half hours, the oldest first: good ones low, bad ones full height.
/** @param {{of: ChannelDay}} props */
function Strip({ of: day }) {
  const parts = day.connected.map((part, i) => (part === null ? "none" : day.failed[i] || part < 0.5 ? "bad" : part < 0.99 ? "warn" : "good"));
  const tall = /** @type {Record<string, number>} */ ({ none: 2, good: 8, warn: 14, bad: 20 });
  const good = parts.filter((p) => p === "good").length;
  const known = parts.filter((p) => p !== "none").length;
  return html`<svg class="strip" viewBox=${`0 0 ${parts.length * 5} 20`} preserveAspectRatio="none" role="img" aria-label=${t("{0} of {1} half hours without trouble", good, known)}>
    ${parts.map((p, i) => html`<rect class=${p} x=${i * 5} y=${20 - tall[p]} width="4" height=${tall[p]} />`)}</svg>`;
}
