// Linking a channel to a phone, and logging it out. A code is on the page only while the
// panel is open: closing the panel ends the request.

import { Refused, call, lines } from "./stream.js";
import { drawing, element } from "/app/js/element.js";

const border = 4; // the quiet zone around a QR code that scanners need, in modules
const maxWidth = 320; // of the picture, in pixels

export class Linking {
  // changed is called when an action here has changed the channel's state.
  constructor(name, title, changed) {
    Object.assign(this, { name, title, changed });
    this.box = element("div", { className: "linking" });
    this.note = element("p", { className: "note" });
    this.note.setAttribute("role", "status");
    this.body = element("div", { className: "steps" });
    this.box.append(this.note, this.body);
  }

  get path() {
    return "/api/channels/" + encodeURIComponent(this.name);
  }

  // show sets whether the channel needs a phone, and whether this person may link one. An
  // action under way stays on the page.
  show(unlinked, allowed) {
    if (this.unlinked === unlinked && this.allowed === allowed) return;
    this.unlinked = unlinked;
    this.allowed = allowed;
    if (!this.busy) this.showActions();
  }

  // reset ends the current action and removes its codes from the page.
  reset() {
    this.stop();
    this.setNote("");
    this.showActions();
  }

  stop() {
    this.request?.abort();
    this.request = undefined;
    this.busy = false;
  }

  setNote(text, problem = false) {
    this.note.textContent = text;
    this.note.classList.toggle("problem", problem);
  }

  // showStep replaces the step on the page. If the old step had the focus, next gets it.
  showStep(step, next) {
    const here = this.body.contains(document.activeElement);
    this.body.replaceChildren(...step);
    if (here) (next ?? this.body.querySelector("button"))?.focus();
  }

  // showActions offers the possible actions.
  showActions() {
    this.busy = false;
    if (!this.allowed) {
      const what = this.unlinked ? "Link a phone" : "Log out";
      this.showStep([element("p", { className: "need" }, what + " on a page that ", element("code", {}, "dragoman console"), " opens: run it where Dragoman runs.")]);
    } else if (this.unlinked) {
      const command = element("code", {}, "dragoman login " + this.name);
      this.showStep([element("p", {}, "Link a phone here, or in a terminal with ", command, "."), buttons(button("Show the QR code", "main", () => this.link("")), button("Use a phone number", "quiet", () => this.askNumber()))]);
    } else {
      this.showStep([buttons(button("Log out", "quiet", () => this.askLogout(), `Log ${this.name} out of ${this.title}`))]);
    }
  }

  cancel(word = "Cancel") {
    return button(word, "quiet", () => this.reset());
  }

  // link shows one code after the other until a phone has used one.
  async link(phone) {
    this.stop();
    const request = (this.request = new AbortController());
    this.busy = true;
    this.setNote("");
    this.showStep([element("p", { className: "wait" }, `Asking ${this.title} for a code …`), buttons(this.cancel())]);
    let end;
    try {
      await lines(this.path + "/link", { phone }, request.signal, (line) => {
        if (this.request !== request) return;
        if (line.qr) this.showQR(line.qr);
        else if (line.code) this.showCode(line.code);
        else end = line;
      });
      end ??= { error: "The daemon stopped before a phone used the code." };
    } catch (error) {
      end = { error: error instanceof Refused ? error.message : "The daemon does not answer." };
    }
    if (this.request !== request) return; // canceled
    this.stop();
    this.showResult(end, phone);
  }

  showResult({ account, expired, error }, phone) {
    if (account) {
      this.setNote(`Linked to ${account}.`);
      this.unlinked = false;
      this.showActions();
      this.changed();
      return;
    }
    this.setNote(expired ? "The code has expired." : sentence(error), !expired);
    const again = button(expired ? "Show a new code" : "Try again", "main", () => this.link(phone));
    this.showStep([buttons(again, this.cancel())], again);
    this.changed();
  }

  showQR(qr) {
    const step = [
      instructions(this.title, "Link a device", "and scan this. The code changes by itself."),
      picture(qr, this.title, Math.min(maxWidth, this.body.clientWidth)),
      buttons(button("Use a phone number instead", "quiet", () => this.askNumber()), this.cancel()),
    ];
    const old = this.body.querySelector("svg");
    if (old) old.replaceWith(step[1]);
    else {
      this.showStep(step);
      this.box.scrollIntoView({ block: "nearest" });
    }
  }

  showCode(code) {
    const text = element("output", { className: "code" }, code);
    this.showStep([instructions(this.title, "Link a device", "Link with phone number instead", "and type this code."), text, buttons(this.cancel())]);
  }

  askNumber() {
    this.stop();
    this.busy = true;
    this.setNote("");
    const id = "phone-" + this.name;
    const input = element("input", { id, type: "tel", placeholder: "+49 170 1234567", autocomplete: "off", required: true });
    const form = element(
      "form", {},
      Object.assign(element("label", {}, "The phone's number, with its country code"), { htmlFor: id }),
      input, buttons(element("button", { type: "submit", className: "main" }, "Get a code"), this.cancel()),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (input.value.trim()) this.link(input.value.trim());
    });
    this.showStep([form], input);
  }

  askLogout() {
    this.busy = true;
    this.setNote("");
    const keep = this.cancel("Keep it");
    this.showStep([
      element("p", {}, `Log out of ${this.title}? No messages arrive until a phone is linked again. Conversations are kept.`),
      buttons(button("Log out", "danger", () => this.logout()), keep),
    ], keep);
  }

  async logout() {
    this.showStep([element("p", { className: "wait" }, "Logging out …")]);
    try {
      const { told } = await call(this.path + "/unlink", {}, {});
      this.setNote(told ? "Logged out." : `Logged out here. ${this.title} could not be reached; remove the device on the phone too, under Linked devices.`, !told);
      this.unlinked = true;
    } catch (error) {
      this.setNote(error instanceof Refused ? sentence(error.message) : "The daemon does not answer.", true);
    }
    this.showActions();
    this.changed();
  }
}

function button(word, className, act, label) {
  const b = element("button", { type: "button", className }, word);
  if (label) b.setAttribute("aria-label", label);
  b.addEventListener("click", act);
  return b;
}

function buttons(...all) {
  return element("div", { className: "buttons" }, ...all);
}

// instructions say where to tap on the phone, and what to do then.
function instructions(title, ...rest) {
  const p = element("p", { className: "way" }, "On the phone: ");
  const taps = [title, "Settings", "Linked devices", ...rest.slice(0, -1)];
  taps.forEach((tap, i) => p.append(...(i ? [" › "] : []), element("b", {}, tap)));
  p.append(", " + rest.at(-1));
  return p;
}

// picture draws a QR code in black on white, whatever the page's colours, with the same
// whole number of pixels for each module.
function picture({ size, path }, title, room) {
  const whole = size + 2 * border;
  const side = Math.max(3, Math.floor(room / whole)) * whole;
  return drawing(
    "svg", { class: "qr", viewBox: `${-border} ${-border} ${whole} ${whole}`, width: side, height: side, role: "img", "aria-label": `QR code for ${title}`, "shape-rendering": "crispEdges" },
    drawing("rect", { x: -border, y: -border, width: whole, height: whole, fill: "#fff" }), drawing("path", { d: path, fill: "#000" }),
  );
}

const sentence = (text) => (/[.!?]$/.test(text) ? text : text + ".");
