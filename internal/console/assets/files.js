// Files that go with the next message. Each is handed to the server at once,
// so that sending the message is quick; the message names them then.

import { upload } from "./stream.js";

const most = 10;

// size is a number of bytes for people.
export function size(n) {
  if (n < 1000) return n + " bytes";
  return n < 999_500 ? Math.round(n / 1000) + " kB" : (n / 1e6).toFixed(1) + " MB";
}

export class Files {
  // changed() is told whenever there is something else to send.
  constructor({ button, input, list, problem, text, changed }) {
    Object.assign(this, { button, input, list, problem, text, changed, max: 0, files: [] });
    button.addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this.add([...input.files]);
      input.value = ""; // the same file may be chosen again
    });
    text.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (!this.max || files.length === 0) return;
      event.preventDefault();
      this.add(files);
    });
    document.addEventListener("dragover", (event) => this.dropped(event));
    document.addEventListener("drop", (event) => this.dropped(event) && this.add([...event.dataTransfer.files]));
  }

  // dropped keeps the browser from opening what is dropped.
  dropped(event) {
    if (!event.dataTransfer?.types.includes("Files")) return false;
    event.preventDefault();
    return this.max > 0;
  }

  // limit says how large a file may be; 0: the server takes none.
  limit(max) {
    this.max = max ?? 0;
    this.button.hidden = !this.max;
  }

  get count() {
    return this.files.length;
  }

  get pending() {
    return this.files.some((file) => !file.ref);
  }

  add(chosen) {
    this.say("");
    for (const file of chosen) {
      if (this.files.length >= most) this.say(`At most ${most} files fit into one message.`);
      else if (file.size > this.max) this.say(`${file.name} is too large: at most ${size(this.max)} fit.`);
      else if (file.size === 0) this.say(`${file.name} is empty.`);
      else this.send({ name: file.name, type: file.type, bytes: file.size }, file);
    }
  }

  async send(entry, file) {
    entry.stop = new AbortController();
    this.files.push(entry);
    this.draw();
    for (let tries = 0; this.files.includes(entry); tries++) {
      try {
        entry.ref = (await upload(file, entry.stop.signal)).ref;
        break;
      } catch (error) {
        if (entry.stop.signal.aborted) return;
        if ((error.status && !error.again) || tries > 6) {
          this.say(`${entry.name}: ${error.status ? error.message : "it cannot be read or sent."}`);
          this.drop(entry);
          return;
        }
        await new Promise((done) => setTimeout(done, Math.min(10_000, 500 * 2 ** tries)));
      }
    }
    this.draw();
  }

  drop(entry) {
    entry.stop.abort();
    this.files = this.files.filter((other) => other !== entry);
    this.draw();
  }

  // take gives the files away, to a message.
  take() {
    const taken = this.files.map(({ ref, name, type, bytes }) => ({ ref, name, type, bytes }));
    this.files = [];
    this.say("");
    this.draw();
    return taken;
  }

  say(words) {
    this.problem.textContent = words;
    this.problem.hidden = !words;
  }

  draw() {
    this.list.replaceChildren(...this.files.map((entry) => {
      const li = document.createElement("li");
      const name = document.createElement("span");
      const off = document.createElement("button");
      name.textContent = `${entry.name} · ${entry.ref ? size(entry.bytes) : "uploading"}`;
      off.type = "button";
      off.textContent = "×";
      off.setAttribute("aria-label", "Remove " + entry.name);
      off.addEventListener("click", () => {
        this.drop(entry);
        this.text.focus(); // the button that had the focus is gone
      });
      li.append(name, off);
      return li;
    }));
    this.list.hidden = this.files.length === 0;
    this.changed();
  }
}
