// Channels: where people write, how each does, and who asks to be let in.

import { html, useRef, useState } from "../../vendor/preact.js";
import { get, path, post, remove } from "../api.js";
import { useLoad } from "../load.js";
import { network } from "../parts/avatar.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Empty } from "../parts/empty.js";
import { Notice } from "../parts/notice.js";
import { toast, trouble } from "../parts/toast.js";
import { View } from "../parts/view.js";
import { useStore } from "../store.js";
import { styled } from "../styled.js";
import { may } from "../talk.js";
import { clock, t } from "../text.js";
import { Adding } from "./adding.js";
import { ChannelCard } from "./channelcard.js";

/** @typedef {import("../../../../../docs/openapi.js").Channel} Channel */
/** @typedef {import("../../../../../docs/openapi.js").ChannelDay} ChannelDay */
/** @typedef {import("../../../../../docs/openapi.js").Pairing} Pairing */
/** @typedef {{channels: Channel[], days: ChannelDay[], asking: Pairing[]}} Shown */

// found is the view with its style sheet.
export const found = () => styled("ways").then(() => Channels);

// needy are the channels that somebody has to do something about.
/** @param {Channel} c */
const needy = (c) => c.state === "down" || c.state === "failed" || c.linkable && !c.linked;

// useOrder puts the channels that need somebody first. They keep their places while the view
// is open: the card that somebody works on must not jump away.
/** @param {Channel[]} channels */
function useOrder(channels) {
  const first = useRef(/** @type {Set<string> | undefined} */ (undefined));
  first.current ??= channels.length ? new Set(channels.filter(needy).map((c) => c.name)) : undefined;
  const place = (/** @type {Channel} */ c) => (first.current?.has(c.name) ? 0 : 1);
  return channels.slice().sort((a, b) => place(a) - place(b));
}

function Channels() {
  const scope = useStore((s) => s.me?.scope);
  const [adding, add] = useState(false);
  const shown = useLoad(async () => ({
    channels: (await get("channels")).data,
    days: may("read") ? (await get("channels/history")).channels : [],
    asking: may("operate") ? (await get("pairings")).data.filter((/** @type {Pairing} */ p) => p.code) : [],
  }), [scope], ["channel_change", "channel_failed", "channel_back", "pairing_change", "measured"]);
  const ordered = useOrder(shown.data?.channels ?? []);
  return html`<${View} title=${t("Channels")} of=${shown} say=${t("Where people write. The bars show the last 24 hours, half an hour each.")}
    tools=${may("admin") && html`<${Button} icon="plus" onClick=${() => add(true)}>${t("How to add one")}<//>`}>
    ${(/** @type {Shown} */ { channels, days, asking }) => html`
      ${asking.map((p) => html`<${Asking} key=${p.code} of=${p} done=${shown.again} />`)}
      ${channels.every((c) => c.type === "web" || c.type === "cli") && html`<${Empty} icon="radio-tower" title=${t("Only this page so far")} actions=${may("admin") && html`<${Button} kind="primary" onClick=${() => add(true)}>${t("Show me")}<//>`}>${t("Telegram takes two minutes, WhatsApp a code to scan, IRC a few lines.")}<//>`}
      <div class="cards">${ordered.map((c) => html`<${ChannelCard} key=${c.name} of=${c} day=${days.find((d) => d.name === c.name)} changed=${shown.again} />`)}</div>
      <${Dialog} title=${t("Add a channel")} open=${adding} close=${() => add(false)}><${Adding} /><//>`}
  <//>`;
}

// Asking is a stranger who wants to talk.
/** @param {{of: Pairing, done: () => void}} props */
function Asking({ of: p, done }) {
  const act = (/** @type {Promise<any>} */ made, /** @type {string} */ said) => made.then(() => toast(said), trouble).then(done);
  const approve = () => act(post("pairings", { code: p.code }), t("Approved."));
  const deny = () => act(remove(path`pairings/${p.code ?? ""}`), t("Denied. Whoever writes again gets another code."));
  return html`<${Notice} of="warn" icon="user-plus"><b dir="auto">${t("{0} wants to talk on {1}.", p.name || p.person_id, t(network(p.channel)[1]))}</b>${" "}
    ${t("The code shown to them is {0}.", p.code ?? "")} ${t("Compare it if you can. Their message is kept and answered when you approve.")} ${p.expires && t("It can be used until {0}.", clock(p.expires))}
    <div class="actions"><${Button} kind="primary" onClick=${approve}>${t("Approve")}<//><${Button} kind="danger" label=${t("Deny")} onClick=${deny}>${t("Deny")}<//></div><//>`;
}
