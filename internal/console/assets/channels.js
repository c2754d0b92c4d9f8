// The channels: how each is doing, and the phone that one is linked to.

import { Linking } from "./linking.js";
import { call } from "./stream.js";
import { element } from "./element.js";

const openEvery = 2_000; // between two looks while the panel is open
const everyNow = 30_000; // and while only the button is to be seen
const anchor = "#channels";

const types = { whatsapp: "WhatsApp", telegram: "Telegram", irc: "IRC", web: "This page", cli: "Terminal" };

// words for a state, or better for the reason that a channel gives for it; and
// how it looks: well, busy, or in need of somebody.
const words = {
  connected: ["Connected", "well"],
  connecting: ["Connecting", "busy"],
  down: ["Interrupted", "busy"],
  failed: ["Needs you", "needs"],
  needs_pairing: ["Not linked", "needs"],
  banned: ["Banned for now", "needs"],
  outdated: ["Outdated", "needs"],
  replaced: ["Replaced", "needs"],
  refused: ["Refused", "needs"],
};

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const calendar = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

// Channels is the button at the top and the panel that it opens.
export class Channels {
  constructor({ panel, list, problem, open, close, mark }) {
    Object.assign(this, { panel, list, problem, button: open, mark, cards: new Map() });
    open.addEventListener("click", () => this.open());
    close.addEventListener("click", () => panel.close());
    panel.addEventListener("click", (event) => event.target === panel && panel.close()); // beside it
    panel.addEventListener("close", () => this.closed());
    panel.addEventListener("keydown", (event) => event.key === "Escape" && event.stopPropagation()); // or it would stop an answer too
    addEventListener("hashchange", () => this.follow());
    addEventListener("pagehide", () => this.hush());
    document.addEventListener("visibilitychange", () => document.hidden || this.look());
    this.look().then(() => this.follow());
  }

  follow() {
    if (location.hash === anchor && !this.panel.open) this.open();
  }

  open() {
    history.replaceState(null, "", anchor);
    this.panel.showModal();
    this.look();
  }

  closed() {
    history.replaceState(null, "", location.pathname + location.search);
    this.hush();
  }

  // hush takes every code off the page.
  hush() {
    for (const card of this.cards.values()) card.hush();
  }

  // look asks how the channels are, now and then again.
  async look() {
    clearTimeout(this.next);
    const mine = (this.looking = {});
    try {
      const { channels } = await call("/api/channels");
      if (this.looking !== mine) return; // a later look is under way
      this.show(channels);
      this.problem.hidden = true;
    } catch {
      if (this.looking !== mine) return;
      this.problem.textContent = "The daemon does not answer. This list may be out of date.";
      this.problem.hidden = this.cards.size === 0;
    }
    if (!document.hidden) this.next = setTimeout(() => this.look(), this.panel.open ? openEvery : everyNow);
  }

  show(channels) {
    for (const [name, card] of this.cards) {
      if (channels.some((c) => c.name === name)) continue;
      card.hush();
      card.li.remove();
      this.cards.delete(name);
    }
    for (const channel of channels) {
      let card = this.cards.get(channel.name);
      if (!card) {
        card = new Card(channel, () => this.look());
        this.cards.set(channel.name, card);
        this.list.append(card.li);
      }
      card.show(channel);
    }
    this.button.hidden = channels.length === 0;
    this.mark.hidden = !channels.some((c) => look(c)[1] === "needs");
  }
}

// why leaves out what the state's word says already, and the command that does
// what is offered here.
const why = (detail = "") => detail.replace(/^needs pairing: /, "").replace(/; run: dragoman login .*$/, "");

const look = (c) => words[c.reason] ?? words[c.state] ?? [c.reason || c.state, "needs"];

// Card is one channel in the list.
class Card {
  constructor({ name, type, linkable }, changed) {
    this.state = element("span", { className: "state" });
    this.detail = element("p", { className: "detail" });
    this.since = element("p", { className: "since" });
    const title = types[type] ?? type;
    const own = name === type; // then the type says it all
    const head = element("div", { className: "head" }, element("h3", {}, own ? title : name), element("span", { className: "type" }, own ? "" : title), this.state);
    this.li = element("li", {}, head, this.detail, this.since);
    this.li.dataset.channel = name;
    if (linkable) {
      this.linking = new Linking(name, title, changed);
      this.li.append(this.linking.box);
    }
  }

  show(channel) {
    const [word, kind] = look(channel);
    this.state.textContent = word;
    this.state.dataset.kind = kind;
    const detail = this.linking ? why(channel.detail) : channel.detail;
    this.detail.textContent = detail ? detail[0].toUpperCase() + detail.slice(1) : "";
    this.detail.hidden = !detail;
    const at = new Date(channel.since);
    const today = at.toDateString() === new Date().toDateString();
    this.since.hidden = !(at.getFullYear() > 1970);
    if (!this.since.hidden) this.since.textContent = "Since " + (today ? clock : calendar).format(at) + (channel.node ? " on " + channel.node : "");
    this.linking?.show(channel.reason === "needs_pairing");
  }

  hush() {
    this.linking?.hush();
  }
}
