// The message box: it grows with its text, keeps a draft, completes commands.

import { element } from "/app/js/element.js";

// composes reports whether a key belongs to an input method, which writes Japanese, say:
// Enter and Escape then end its composition. Some browsers send 229 instead.
const composes = (event) => event.isComposing || event.keyCode === 229;

export class Composer {
  constructor({ form, text, send, stop, menu, room, files, onSend, onStop }) {
    Object.assign(this, { form, text, send, stop, menu, files, onSend, onStop });
    files.changed = () => this.buttons();
    this.draftKey = "dragoman.draft." + room;
    this.commands = [];
    this.max = Infinity;
    this.answering = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    stop.addEventListener("click", () => this.onStop());
    text.addEventListener("input", () => this.changed());
    text.addEventListener("keydown", (event) => this.key(event));
    text.addEventListener("blur", () => setTimeout(() => this.showCommands([]), 150));
    menu.addEventListener("pointerdown", (event) => {
      const li = event.target.closest("li");
      event.preventDefault();
      if (li) this.complete(li.dataset.name);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !composes(event) && this.answering && this.menu.hidden && !event.defaultPrevented) this.onStop();
    });
    this.value = this.draft();
  }

  draft() {
    try {
      return localStorage.getItem(this.draftKey) ?? "";
    } catch {
      return "";
    }
  }

  set value(text) {
    this.text.value = text;
    this.changed();
  }

  changed() {
    try {
      localStorage.setItem(this.draftKey, this.text.value);
    } catch {
      // Storage is off: keep no draft.
    }
    this.text.style.height = "auto";
    this.text.style.height = this.text.scrollHeight + "px";
    this.buttons();
    const typed = /^\/(\w*)$/.exec(this.text.value);
    this.showCommands(typed && document.activeElement === this.text ? this.commands.filter((c) => c.name.startsWith(typed[1].toLowerCase())) : []);
  }

  // buttons shows the stop button while an answer arrives and the box is empty.
  buttons() {
    const blank = this.text.value.trim() === "" && this.files.count === 0;
    this.stop.hidden = !(this.answering && blank);
    this.send.hidden = !this.stop.hidden;
    this.send.disabled = blank || this.files.pending;
  }

  busy(on) {
    this.answering = on;
    const focused = document.activeElement === this.stop || document.activeElement === this.send;
    this.buttons();
    if (focused && document.activeElement !== this.text) this.text.focus();
  }

  key(event) {
    if (composes(event)) return;
    if (!this.menu.hidden && this.menuKey(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.submit();
    }
  }

  menuKey({ key }) {
    const at = this.options.findIndex((o) => o.getAttribute("aria-selected") === "true");
    switch (key) {
      case "ArrowDown":
        this.select((at + 1) % this.options.length);
        return true;
      case "ArrowUp":
        this.select((at + this.options.length - 1) % this.options.length);
        return true;
      case "Tab":
      case "Enter":
        this.complete(this.options[at].dataset.name);
        if (key === "Enter") this.submit();
        return true;
      case "Escape":
        this.showCommands([]);
        return true;
    }
    return false;
  }

  showCommands(commands) {
    this.options = commands.map(({ name, help }, i) => {
      const li = element("li", { id: "command-" + i, role: "option" }, element("b", {}, "/" + name), element("span", {}, help));
      li.dataset.name = name;
      return li;
    });
    this.menu.replaceChildren(...this.options);
    this.menu.hidden = this.options.length === 0;
    if (this.menu.hidden) this.text.removeAttribute("aria-activedescendant");
    else this.select(0);
  }

  select(at) {
    this.options.forEach((o, i) => o.setAttribute("aria-selected", String(i === at)));
    this.options[at].scrollIntoView({ block: "nearest" });
    this.text.setAttribute("aria-activedescendant", this.options[at].id);
  }

  complete(name) {
    this.value = "/" + name;
    this.showCommands([]);
    this.text.focus();
  }

  submit() {
    const text = this.text.value.trim();
    if ((!text && this.files.count === 0) || this.files.pending) return;
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > this.max) {
      const over = Math.ceil((bytes - this.max) / 1024);
      this.text.setCustomValidity(`This is ${over} KiB too long for one message.`);
      this.text.reportValidity();
      this.text.addEventListener("input", () => this.text.setCustomValidity(""), { once: true });
      return;
    }
    this.value = "";
    this.onSend(text, this.files.take());
  }
}
