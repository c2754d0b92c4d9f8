// One channel: how it is, what it did in the last day, and what to do about it.

import { html } from "../../vendor/preact.js";
import { network } from "../parts/avatar.js";
import { Icon } from "../parts/icon.js";
import { Said } from "../parts/said.js";
import { State } from "../parts/state.js";
import { may } from "../talk.js";
import { number, since, t } from "../text.js";
import { Linking } from "./linking.js";

/** @typedef {import("../../../../../docs/openapi.js").Channel} Channel */
/** @typedef {import("../../../../../docs/openapi.js").ChannelDay} ChannelDay */

// reasons are the words for why a channel needs a hand.
/** @type {() => Record<string, string>} */
const reasons = () => ({
  needs_pairing: t("Not linked"), banned: t("Banned for now"), outdated: t("Outdated"), replaced: t("Replaced"), refused: t("Refused"),
});

/** @param {Channel} c */
function condition(c) {
  if (c.unused) return ["quiet", c.linkable ? t("Not linked") : t("Not set up")];
  if (c.state === "connected") return ["good", t("Connected for {0}", since(c.since))];
  if (c.state === "connecting") return ["busy", t("Connecting")];
  if (c.state === "down") return ["bad", t("Down for {0}", since(c.since))];
  return ["warn", t("{0}, for {1}", reasons()[c.reason ?? ""] ?? t("Needs you"), since(c.since))];
}

// detailOf leaves out what the state says, and the command for what the card offers.
/** @param {Channel} c */
const detailOf = (c) => (c.linkable ? (c.detail ?? "").replace(/^needs pairing: /, "").replace(/; run: dragoman login .*$/, "") : c.detail);

/** @param {{of: Channel, day?: ChannelDay, changed: () => void}} props */
export function ChannelCard({ of: c, day, changed }) {
  const [state, words] = condition(c);
  const [icon, type] = network(c.type);
  const title = c.name === c.type ? t(type) : c.name;
  const detail = detailOf(c);
  const sum = (/** @type {number[]} */ values) => number(values.reduce((a, b) => a + b, 0));
  const about = [c.name !== c.type && t(type), c.node && t("on {0}", c.node)].filter(Boolean).join(" · ");
  const calm = state === "good" || state === "quiet" || state === "busy";
  return html`<article class=${`card ${calm ? "" : state}`} aria-label=${title}><div class="stack">
    <header class="rowline"><${Icon} name=${icon} /><div class="grow"><h2 dir="auto">${title}</h2>${about && html`<p class="meta cut">${about}</p>`}</div></header>
    <${State} of=${state}>${words}<//>
    ${day && html`<${Strip} of=${day} /><p class="meta">${t("Messages in: {0}, out: {1}, failed: {2}", sum(day.in), sum(day.out), sum(day.failed))}</p>`}
    ${detail && html`<p><${Said} of=${detail} /></p>`}
    ${!calm && !c.linkable && may("admin") && html`<p><a href="/log">${t("What its log says")}</a></p>`}
    ${c.linkable && (may("admin") ? html`<${Linking} name=${c.name} title=${t(type)} unlinked=${!c.linked} changed=${changed} />` : html`<p class="soft">${c.linked
      ? t("To log it out, open the page that “dragoman console” prints, where Dragoman runs.")
      : t("To link a phone, open the page that “dragoman console” prints, where Dragoman runs.")}</p>`)}
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
