// How a channel is added: the lines of the configuration, and what to do around them.

import { html, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { Segments } from "../parts/segments.js";
import { Snippet } from "../parts/snippet.js";
import { may } from "../talk.js";
import { t } from "../text.js";

const telegram = `channels:
  telegram:
    type: telegram
    token: "\${file:telegram.token}"
    pairing: true`;

const whatsapp = `channels:
  whatsapp:
    type: whatsapp
    pairing: true`;

const irc = `channels:
  libera:
    type: irc
    server: irc.example.org:6697
    tls: true
    nick: dragoman
    channels: ["#your-channel"]
    pairing: true`;

// Adding shows how to add one of the networks.
export function Adding() {
  const [net, choose] = useState("telegram");
  const file = useLoad(async () => (may("admin") ? (await get("settings")).file : ""), [], []).data || "dragoman.yaml";
  const item = (/** @type {string} */ text, /** @type {any} */ more = null) => html`<li>${text}${more}</li>`;
  const write = (/** @type {string} */ name, /** @type {string} */ lines) => item(t("Write this into {0}. If it has “channels:” already, add only the lines below that.", file), html`<${Snippet} label=${t("Lines for {0}", name)}>${lines}<//>`);
  const start = item(t("Run “dragoman check”, which finds every mistake, and start Dragoman again."));
  const who = item(t("Write to it from your own account. It answers with a code, which you approve here."));
  const ways = /** @type {Record<string, () => any[]>} */ ({
    telegram: () => [item(t("In Telegram, send /newbot to @BotFather, choose a name, and put the token that it gives you into the file telegram.token, beside the configuration.")), write("Telegram", telegram), start, who],
    whatsapp: () => [item(t("Take a number that you can do without: WhatsApp dislikes programs, and can ban it.")), write("WhatsApp", whatsapp), start, item(t("Come back here, choose “Show the QR code”, and scan it with the phone.")), who],
    irc: () => [write("IRC", irc), item(t("Put in your network's address and your channel.")), start, item(t("In the channel, write “dragoman: hello”. A private message gets a code, which you approve here."))],
  });
  return html`<div class="stack">
    <${Segments} label=${t("Network")} of=${[["telegram", "Telegram"], ["whatsapp", "WhatsApp"], ["irc", "IRC"]]} value=${net} set=${choose} />
    <ol class="ways">${ways[net]()}</ol></div>`;
}
