// The connection to the daemon: requests whose errors are sentences for people, and an
// event stream that reconnects by itself and misses nothing.

const api = "/api/chat";
const silenceLimit = 45_000; // the server sends something at least every 15 seconds

// Refused is the server's refusal. Any other error is a failed connection.
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
    this.again = status >= 500 || status === 429 || status === 401;
  }
}

export function apiURL(path, parameters = {}) {
  const url = new URL(path, location.origin);
  const room = new URLSearchParams(location.search).get("room");
  if (room) url.searchParams.set("room", room);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

// request makes one request and returns its response, or throws Refused. A 401 leads to
// the login page.
async function request(path, parameters, { type, ...options }) {
  const headers = { Accept: "application/json", ...(type && { "Content-Type": type }) };
  const response = await fetch(apiURL(path, parameters), { ...options, headers });
  if (response.status === 401) location.assign("/login?to=" + encodeURIComponent(location.pathname + location.search));
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  throw new Refused(response.status, error?.message ?? error ?? response.statusText);
}

const json = (body) => ({ method: "POST", type: "application/json", body: JSON.stringify(body) });

// call makes one request; with a body it is a POST.
export async function call(path, parameters, body) {
  const response = await request(path, parameters, { ...(body && json(body)), signal: AbortSignal.timeout(30_000) });
  return response.json();
}

// lines makes one request whose response is a JSON object per line, and calls on for each
// as it arrives. It returns at the end of the response.
export async function lines(path, body, signal, on) {
  const response = await request(path, {}, { ...json(body), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) on(JSON.parse(part));
  }
}

export const feed = (before, limit) => call(api + "/feed", { before, limit }).then((page) => page.items);
export const post = (message) => call(api + "/messages", {}, message);

// upload stores one file. It has no time limit.
export async function upload(file, signal) {
  const response = await request(api + "/files", {}, { method: "POST", type: "application/octet-stream", body: file, signal });
  return response.json();
}

// fileURL is the address of file n of a message.
export const fileURL = (seq, n) => apiURL(api + "/file", { seq, n }).href;

export const stop = (id) => call(api + "/stop", {}, { id });
export const session = () => call("/api/session");

// randomID is used instead of crypto.randomUUID, which needs https or localhost.
export function randomID() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

// Stream keeps one event stream open. after() returns the seq to resume after; on[kind]
// gets each event's data; onState gets "connected" and "lost".
export class Stream {
  constructor({ after, on, onState }) {
    Object.assign(this, { after, on, onState, tries: 0 });
    addEventListener("online", () => this.reconnectNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.reconnectNow());
    addEventListener("pagehide", () => this.source?.close());
    addEventListener("pageshow", (event) => event.persisted && this.open());
  }

  open() {
    clearTimeout(this.retry);
    this.source?.close();
    const source = new EventSource(apiURL(api + "/events", { after: this.after() }));
    this.source = source;
    for (const kind of ["hello", "message", "preview", "delta", "end", "state", "beat"]) {
      source.addEventListener(kind, (event) => {
        if (this.source !== source) return;
        this.restartSilenceTimer();
        if (kind === "hello") {
          this.tries = 0;
          this.connected = true;
          this.onState("connected");
        }
        this.on[kind]?.(JSON.parse(event.data));
      });
    }
    source.onerror = () => this.source === source && this.lost();
    this.restartSilenceTimer();
  }

  // restartSilenceTimer gives the connection up if it stays silent for too long, as it
  // does after a laptop slept.
  restartSilenceTimer() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.lost(), silenceLimit);
  }

  lost() {
    this.source?.close();
    this.source = undefined;
    this.connected = false;
    clearTimeout(this.silence);
    clearTimeout(this.retry);
    this.onState("lost");
    const wait = Math.min(8000, 300 * 2 ** this.tries++) * (0.75 + Math.random() / 2);
    this.retry = setTimeout(() => this.reconnect(), wait);
  }

  // reconnect checks the login first, because an event stream cannot distinguish a missing
  // login from a missing server.
  async reconnect() {
    try {
      await session();
    } catch {
      this.lost();
      return;
    }
    this.open();
  }

  reconnectNow() {
    if (this.connected || this.source) return;
    this.tries = 0;
    this.open();
  }
}
