// Files for the next message. Each is uploaded at once, so that sending the message,
// which names them, is quick.

import { element } from "/app/js/element.js";
import { upload } from "./stream.js";

const maxFiles = 10;

// size formats a number of bytes.
export function size(n) {
  if (n < 1000) return n + " bytes";
  return n < 999_500 ? Math.round(n / 1000) + " kB" : (n / 1e6).toFixed(1) + " MB";
}

export class Files {
  // Set changed to be called when the files change.
  constructor({ button, input, list, problem, text }) {
    Object.assign(this, { button, input, list, problem, text, changed: () => {}, max: 0, files: [] });
    button.addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this.add([...input.files]);
      input.value = ""; // so that the same file can be chosen again
    });
    text.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (!this.max || files.length === 0) return;
      event.preventDefault();
      this.add(files);
    });
    document.addEventListener("dragover", (event) => this.acceptsDrop(event));
    document.addEventListener("drop", (event) => this.acceptsDrop(event) && this.add([...event.dataTransfer.files]));
  }

  // acceptsDrop keeps the browser from opening dropped files, and reports whether we take
  // them.
  acceptsDrop(event) {
    if (!event.dataTransfer?.types.includes("Files")) return false;
    event.preventDefault();
    return this.max > 0;
  }

  // limit sets the size limit for a file; 0: the server accepts none.
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
    this.setProblem("");
    for (const file of chosen) {
      if (this.files.length >= maxFiles) this.setProblem(`At most ${maxFiles} files fit into one message.`);
      else if (file.size > this.max) this.setProblem(`${file.name} is too large: at most ${size(this.max)} fit.`);
      else if (file.size === 0) this.setProblem(`${file.name} is empty.`);
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
          this.setProblem(`${entry.name}: ${error.status ? error.message : "it cannot be read or sent."}`);
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

  // take removes the files and returns them, for a message.
  take() {
    const taken = this.files.map(({ ref, name, type, bytes }) => ({ ref, name, type, bytes }));
    this.files = [];
    this.setProblem("");
    this.draw();
    return taken;
  }

  setProblem(words) {
    this.problem.textContent = words;
    this.problem.hidden = !words;
  }

  draw() {
    this.list.replaceChildren(...this.files.map((entry) => {
      const remove = element("button", { type: "button", ariaLabel: "Remove " + entry.name }, "×");
      remove.addEventListener("click", () => {
        this.drop(entry);
        this.text.focus(); // the button that had the focus is gone
      });
      return element("li", {}, element("span", {}, `${entry.name} · ${entry.ref ? size(entry.bytes) : "uploading"}`), remove);
    }));
    this.list.hidden = this.files.length === 0;
    this.changed();
  }
}
