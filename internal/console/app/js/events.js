// One stream of events for all tabs of a browser. One tab has it and tells the others. The
// tabs agree on which one over a BroadcastChannel, because plain http has no Web Locks.
//
// A tab that hears of no leader for a moment leads. If two do, the one with the smaller
// name goes on. Whoever is in sight asks from time to time whether the leader is still
// there; a hidden leader answers at once, although its timers sleep.

import { randomID } from "./api.js";
import { Stream } from "./stream.js";

const answerWithin = 400;
const askEvery = 4000;

// follow calls on for each event, and onState when the connection comes or goes.
/** @param {{on: (event: import("./types.js").ApiEvent) => void, onState: (online: boolean) => void}} to */
export function follow(to) {
  if (!("BroadcastChannel" in window)) return void new Stream(to);
  new Member(to);
}

class Member {
  /** @param {{on: (event: import("./types.js").ApiEvent) => void, onState: (online: boolean) => void}} to */
  constructor(to) {
    this.to = to;
    this.name = randomID();
    this.after = "";
    this.online = true;
    this.tabs = new BroadcastChannel("dragoman.events");
    this.tabs.onmessage = ({ data }) => this.hear(data);
    addEventListener("pagehide", () => this.leave());
    addEventListener("pageshow", (event) => event.persisted && location.reload());
    setInterval(() => document.hidden || this.ask(), askEvery);
    document.addEventListener("visibilitychange", () => document.hidden || this.ask());
    this.ask();
  }

  // ask leads if no leader answers soon.
  ask() {
    if (this.stream || this.waiting) return;
    this.tabs.postMessage({ kind: "who", from: this.name });
    this.waiting = setTimeout(() => this.lead(), answerWithin * (1 + Math.random()));
  }

  lead() {
    this.waiting = undefined;
    this.tabs.postMessage({ kind: "lead", from: this.name });
    this.stream = new Stream({
      after: this.after,
      on: (event) => {
        this.after = this.stream?.after ?? "";
        this.tabs.postMessage({ kind: "event", from: this.name, event, after: this.after });
        this.to.on(event);
      },
      onState: (online) => {
        this.online = online;
        this.tabs.postMessage({ kind: "state", from: this.name, online });
        this.to.onState(online);
      },
    });
  }

  leave() {
    if (!this.stream) return;
    this.stream.close();
    this.stream = undefined;
    this.tabs.postMessage({ kind: "gone", from: this.name });
  }

  /** @param {{kind: string, from: string, event?: any, after?: string, online?: boolean}} m */
  hear(m) {
    if (m.kind === "who") {
      if (this.stream) this.tabs.postMessage({ kind: "here", from: this.name, after: this.stream.after, online: this.online });
      return;
    }
    if (m.kind === "gone") return this.ask();
    if (this.stream && m.from > this.name) {
      this.tabs.postMessage({ kind: "lead", from: this.name }); // two lead, and we stay
      return;
    }
    if (this.stream) {
      this.stream.close();
      this.stream = undefined;
    }
    clearTimeout(this.waiting);
    this.waiting = undefined;
    if (m.after) this.after = m.after;
    if (m.event) this.to.on(m.event);
    if (m.online !== undefined) this.to.onState(m.online);
  }
}
