// One stream of events from the server. It comes back by itself and misses nothing: it
// says which event was the last, and after too long a gap the server says "reset".

import { login, url } from "./api.js";

const silence = 45_000; // the server sends something every 15 seconds

// Stream reads events until close(). Each is given to on; onState hears whether it is
// connected. A reload of everything is asked for by an event named reset.
export class Stream {
  /** @param {{on: (event: any) => void, onState: (online: boolean) => void, after?: string, address?: string, query?: Record<string, any>}} o */
  constructor({ on, onState, after, address = "events", query }) {
    this.address = address;
    this.query = query;
    this.on = on;
    this.onState = onState;
    this.after = after ?? "";
    this.tries = 0;
    this.open = true;
    this.soon = () => this.tries > 0 && this.hurry?.();
    this.doubt = () => this.stop?.abort(); // a broken connection can look whole for long
    addEventListener("online", this.soon);
    addEventListener("offline", this.doubt);
    document.addEventListener("visibilitychange", this.soon);
    this.run();
  }

  close() {
    this.open = false;
    this.stop?.abort();
    this.hurry?.();
    removeEventListener("online", this.soon);
    removeEventListener("offline", this.doubt);
    document.removeEventListener("visibilitychange", this.soon);
  }

  async run() {
    while (this.open) {
      await this.once().catch(() => {});
      if (!this.open) return;
      if (this.tries > 0) this.onState(false);
      const wait = Math.min(8000, 300 * 2 ** this.tries++) * (0.75 + Math.random() / 2);
      await new Promise((done) => {
        this.hurry = () => done(undefined);
        setTimeout(this.hurry, wait);
      });
    }
  }

  // once reads one connection to its end.
  async once() {
    this.stop = new AbortController();
    const answer = await fetch(url(this.address, { ...this.query, after: this.after }), { signal: this.stop.signal, headers: { Accept: "text/event-stream" } });
    if (answer.status === 401) login();
    if (answer.status === 400) this.after = ""; // it is from before the server was set up anew
    if (!answer.ok || !answer.body) throw new Error(String(answer.status));
    if (this.address !== "events") { // it has no hello
      this.tries = 0;
      this.onState(true);
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const quiet = setTimeout(() => this.stop?.abort(), silence);
      const { value, done } = await reader.read().finally(() => clearTimeout(quiet));
      if (done) return;
      const frames = (rest + value).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) this.frame(frame);
    }
  }

  /** @param {string} frame */
  frame(frame) {
    let data = "";
    let began = false; // an id of hello: the stream begins now, and not where another one ended
    for (const line of frame.split("\n")) {
      if (line.startsWith("data: ")) data += line.slice(6);
      else if (line.startsWith("id: ")) {
        this.after = line.slice(4);
        began = true;
      }
    }
    if (!data) return;
    const event = JSON.parse(data);
    if (event.event === "hello") {
      this.tries = 0;
      this.onState(true);
      if (began) event.event = "began";
    }
    if (event.event === "ended" && event.why === "token") login();
    this.on(event);
  }
}
