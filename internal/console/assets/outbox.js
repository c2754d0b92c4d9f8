// Messages that are not confirmed to be on the server's disk. They are kept in
// localStorage, so that they survive the page, and sent one after the other under ids
// that make a repeat safe.

import { post, randomID } from "./stream.js";

// read returns the stored entry of that name, null if it is damaged, which must not hide
// the others.
function read(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
}

export class Outbox {
  // show(message, problem, refused) is called for each change of a message; taken(id) when
  // the server has stored it.
  constructor({ room, show, taken }) {
    this.prefix = "dragoman.outbox." + room + "."; // one entry per message, so that two pages do not overwrite each other's
    Object.assign(this, { show, taken, busy: false, tries: 0 });
    this.messages = this.load();
  }

  load() {
    const messages = [];
    try {
      for (const name of Object.keys(localStorage)) {
        if (name.startsWith(this.prefix)) messages.push(read(name));
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
      localStorage.setItem(this.prefix + message.id, JSON.stringify(message));
    } catch {
      // Storage is full or off: the message is kept in the page only.
    }
    this.show(message);
    this.flush();
  }

  remove(id) {
    this.messages = this.messages.filter((m) => m.id !== id);
    try {
      localStorage.removeItem(this.prefix + id);
    } catch {
      // Storage is off.
    }
  }

  get waiting() {
    return this.messages.length > 0;
  }

  // flush sends the messages in order. It shows and removes a message that is finally
  // refused; after any other failure it retries, and later messages wait.
  async flush() {
    clearTimeout(this.timer);
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
        this.timer = setTimeout(() => this.flush(), Math.min(10_000, 500 * 2 ** this.tries++));
        break;
      }
    }
    this.busy = false;
  }
}
