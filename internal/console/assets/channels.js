// The channels: the state of each, and linking it to a phone.

import { Linking } from "./linking.js";
import { Refused, call } from "./stream.js";
import { element } from "/app/js/element.js";

const openEvery = 2_000; // between refreshes while the panel is open
const closedEvery = 30_000; // and while it is closed
const anchor = "#channels";

const types = { whatsapp: "WhatsApp", telegram: "Telegram", irc: "IRC", web: "This page", cli: "Terminal" };

// words for the reason that a channel gives for its state, or for the state, and the
// kind of its mark: well, busy, or needs (a person must act).
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
    panel.addEventListener("click", (event) => event.target === panel && panel.close()); // outside the panel
    panel.addEventListener("close", () => this.closed());
    panel.addEventListener("keydown", (event) => event.key === "Escape" && event.stopPropagation()); // or it would stop an answer too
    addEventListener("hashchange", () => this.followAnchor());
    addEventListener("pagehide", () => this.hideCodes());
    document.addEventListener("visibilitychange", () => document.hidden || this.refresh());
    this.refresh().then(() => this.followAnchor());
  }

  followAnchor() {
    if (location.hash === anchor && !this.panel.open) this.open();
  }

  open() {
    history.replaceState(null, "", anchor);
    this.panel.showModal();
    this.refresh();
  }

  closed() {
    history.replaceState(null, "", location.pathname + location.search);
    this.hideCodes();
  }

  // hideCodes removes every code from the page.
  hideCodes() {
    for (const card of this.cards.values()) card.hideCodes();
  }

  // refresh loads the channels' states, and again after a while.
  async refresh() {
    clearTimeout(this.next);
    const mine = (this.latest = {});
    try {
      const { channels, may_link: mayLink } = await call("/api/channels");
      if (this.latest !== mine) return; // a later refresh is under way
      this.show(channels, mayLink);
      this.problem.hidden = true;
    } catch (error) {
      if (error instanceof Refused && error.status === 403) return; // not for this person
      if (this.latest !== mine) return;
      this.problem.textContent = "The daemon does not answer. This list may be out of date.";
      this.problem.hidden = this.cards.size === 0;
    }
    if (!document.hidden) this.next = setTimeout(() => this.refresh(), this.panel.open ? openEvery : closedEvery);
  }

  show(channels, mayLink) {
    for (const [name, card] of this.cards) {
      if (channels.some((c) => c.name === name)) continue;
      card.hideCodes();
      card.li.remove();
      this.cards.delete(name);
    }
    for (const channel of channels) {
      let card = this.cards.get(channel.name);
      if (!card) {
        card = new Card(channel, () => this.refresh());
        this.cards.set(channel.name, card);
        this.list.append(card.li);
      }
      card.show(channel, mayLink);
    }
    this.button.hidden = channels.length === 0;
    this.mark.hidden = !channels.some((c) => appearance(c)[1] === "needs");
  }
}

// detailOf drops what the state already says, and the command for what the page offers.
const detailOf = (detail = "") => detail.replace(/^needs pairing: /, "").replace(/; run: dragoman login .*$/, "");

const appearance = (c) => words[c.reason] ?? words[c.state] ?? [c.reason || c.state, "needs"];

// Card is one channel in the list.
class Card {
  constructor({ name, type, linkable }, changed) {
    this.state = element("span", { className: "state" });
    this.detail = element("p", { className: "detail" });
    this.since = element("p", { className: "since" });
    const title = types[type] ?? type;
    const unnamed = name === type; // the title alone is enough
    const head = element("div", { className: "head" }, element("h3", {}, unnamed ? title : name), element("span", { className: "type" }, unnamed ? "" : title), this.state);
    this.li = element("li", {}, head, this.detail, this.since);
    this.li.dataset.channel = name;
    if (linkable) {
      this.linking = new Linking(name, title, changed);
      this.li.append(this.linking.box);
    }
  }

  show(channel, mayLink) {
    const [word, kind] = appearance(channel);
    this.state.textContent = word;
    this.state.dataset.kind = kind;
    const detail = this.linking ? detailOf(channel.detail) : channel.detail;
    this.detail.textContent = detail ? detail[0].toUpperCase() + detail.slice(1) : "";
    this.detail.hidden = !detail;
    const at = new Date(channel.since);
    const today = at.toDateString() === new Date().toDateString();
    this.since.hidden = !(at.getFullYear() > 1970);
    if (!this.since.hidden) this.since.textContent = "Since " + (today ? clock : calendar).format(at) + (channel.node ? " on " + channel.node : "");
    this.linking?.show(channel.reason === "needs_pairing", mayLink);
  }

  hideCodes() {
    this.linking?.reset();
  }
}
