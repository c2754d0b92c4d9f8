// The connection to the daemon: requests that say plainly what went wrong, and
// a stream of events that comes back by itself and misses nothing.

const api = "/api/chat";
const quiet = 45_000; // the server is heard at least every 15 seconds

// Refused is an answer of the server; every other error is the connection's.
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
    this.again = status >= 500 || status === 429 || status === 401;
  }
}

export function where(path, parameters = {}) {
  const url = new URL(path, location.origin);
  const room = new URLSearchParams(location.search).get("room");
  if (room) url.searchParams.set("room", room);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

// call makes one request. 401 leads to the login page.
export async function call(path, parameters, body) {
  const options = { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(30_000) };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(where(path, parameters), options);
  if (answer.status === 401) location.assign("/login" + location.search);
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, said.error || answer.statusText);
  }
  return answer.json();
}

// lines makes one request whose answer comes line by line, and hands each to
// on as it comes. It returns when the answer is over.
export async function lines(path, body, signal, on) {
  const answer = await fetch(where(path), {
    method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify(body), signal,
  });
  if (answer.status === 401) location.assign("/login" + location.search);
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, said.error || answer.statusText);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
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
// upload hands in one file, which may take its time.
export async function upload(file, signal) {
  const answer = await fetch(where(api + "/files"), {
    method: "POST", headers: { "Content-Type": "application/octet-stream", Accept: "application/json" }, body: file, signal,
  });
  if (answer.status === 401) location.assign("/login" + location.search);
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, said.error || answer.statusText);
  return said;
}

// fileURL is where file n of a message can be had.
export const fileURL = (seq, n) => where(api + "/file", { seq, n }).href;

export const stop = (id) => call(api + "/stop", {}, { id });
export const session = () => call("/api/session");

// randomID works where crypto.randomUUID does not: on plain http to another machine.
export function randomID() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

// Stream keeps one event stream open. after() is where to go on; on[kind] gets
// each event's data; onState hears "connected" and "lost".
export class Stream {
  constructor({ after, on, onState }) {
    Object.assign(this, { after, on, onState, tries: 0 });
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
    addEventListener("pagehide", () => this.source?.close());
    addEventListener("pageshow", (event) => event.persisted && this.open());
  }

  open() {
    clearTimeout(this.retry);
    this.source?.close();
    const source = new EventSource(where(api + "/events", { after: this.after() }));
    this.source = source;
    for (const kind of ["hello", "message", "preview", "delta", "end", "state", "beat"]) {
      source.addEventListener(kind, (event) => {
        if (this.source !== source) return;
        this.watch();
        if (kind === "hello") {
          this.tries = 0;
          this.connected = true;
          this.onState("connected");
        }
        this.on[kind]?.(JSON.parse(event.data));
      });
    }
    source.onerror = () => this.source === source && this.lost();
    this.watch();
  }

  // watch gives the connection up when it has been silent for too long, as it
  // is after a laptop slept.
  watch() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.lost(), quiet);
  }

  lost() {
    this.source?.close();
    this.source = undefined;
    this.connected = false;
    clearTimeout(this.silence);
    clearTimeout(this.retry);
    this.onState("lost");
    const wait = Math.min(8000, 300 * 2 ** this.tries++) * (0.75 + Math.random() / 2);
    this.retry = setTimeout(() => this.come(), wait);
  }

  // come asks first who we are: an event stream does not tell a missing login
  // from a missing server.
  async come() {
    try {
      await session();
    } catch {
      this.lost();
      return;
    }
    this.open();
  }

  hurry() {
    if (this.connected || this.source) return;
    this.tries = 0;
    this.open();
  }
}
