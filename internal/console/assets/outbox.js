// What was written and is not yet known to be on the server's disk. It is kept
// in localStorage, so that it outlives the page, and is handed in one after
// the other under ids that make a repeat harmless.

import { post, randomID } from "./stream.js";

// read is what is stored under that name, null if it is not ours: one such
// must not hide the others.
function read(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
}

export class Outbox {
  // show(message, problem, refused) is told how each message fares; taken(id)
  // when the server has it.
  constructor({ room, show, taken }) {
    this.place = "dragoman.outbox." + room + "."; // one entry a message, so that two pages do not overwrite each other's
    Object.assign(this, { show, taken, busy: false, tries: 0 });
    this.messages = this.load();
  }

  load() {
    const messages = [];
    try {
      for (const name of Object.keys(localStorage)) {
        if (name.startsWith(this.place)) messages.push(read(name));
      }
    } catch {
      // Storage is off.
    }
    return messages.filter((m) => m && typeof m.id === "string" && typeof m.text === "string").sort((a, b) => (a.at < b.at ? -1 : 1));
  }

  add(text, files = []) {
    const message = { id: randomID(), text, at: new Date().toISOString(), files };
    this.messages.push(message);
    try {
      localStorage.setItem(this.place + message.id, JSON.stringify(message));
    } catch {
      // Storage is full or off: the page itself still holds the message.
    }
    this.show(message);
    this.flush();
  }

  remove(id) {
    this.messages = this.messages.filter((m) => m.id !== id);
    try {
      localStorage.removeItem(this.place + id);
    } catch {
      // Storage is off.
    }
  }

  get waiting() {
    return this.messages.length > 0;
  }

  // flush hands in what is there. A refusal for good is shown and taken out of
  // the way; everything else is tried again, and nothing overtakes it.
  async flush() {
    clearTimeout(this.later);
    if (this.busy) return;
    this.busy = true;
    while (this.messages.length > 0) {
      const message = this.messages[0];
      try {
        const files = (message.files ?? []).map(({ ref, name, type }) => ({ ref, name, type }));
        await post({ id: message.id, text: message.text, ...(files.length > 0 && { files }) });
        this.tries = 0;
        this.remove(message.id);
        this.taken(message.id);
      } catch (error) {
        if (error.status && !error.again) {
          this.remove(message.id);
          this.show(message, error.message, true);
          continue;
        }
        this.show(message, error.status ? error.message : "Not sent yet. It is saved and will be sent.");
        this.later = setTimeout(() => this.flush(), Math.min(10_000, 500 * 2 ** this.tries++));
        break;
      }
    }
    this.busy = false;
  }
}
