// The conversation as it is shown: a list of messages, the answer that is
// being written, and the place in it where the reader is.

import { element } from "./element.js";
import { size } from "./files.js";
import { Rendered } from "./markdown.js";
import { fileURL } from "./stream.js";

const knowable = 40; // characters of an answer by which it can be known
const mostThoughts = 64 * 1024; // characters of a model's thoughts that are kept
const near = 60; // pixels from the end that still count as being there

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const calendar = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });

export class Conversation {
  constructor({ scroll, list, empty, progress, note, jump, spoken, edit, again }) {
    Object.assign(this, { scroll, list, empty, progress, note, jump, spoken, edit, again });
    this.reset();
    this.atEnd = true;
    scroll.addEventListener("scroll", () => this.look(), { passive: true });
    new ResizeObserver(() => this.settle()).observe(scroll); // the keyboard came, the window changed
    jump.addEventListener("click", () => this.toEnd());
    list.addEventListener("click", (event) => {
      copy(event.target.closest(".copy"));
      if (event.target.matches(".retry")) this.retry(event.target);
    });
  }

  // retry asks once more what an answer failed to.
  retry(button) {
    let element = button.closest("li");
    while (element && !element.classList.contains("person")) element = element.previousElementSibling;
    if (element?.asked) this.again(element.asked);
    button.remove();
  }

  reset() {
    this.list.replaceChildren();
    this.known = new Map(); // id -> element
    this.previews = new Map(); // turn -> {element, rendered, text}
    this.first = 0; // Seq of the oldest item, 0: none
    this.last = 0;
    this.jump.hidden = true;
  }

  // look notes where the reader is. Only what the reader does counts: growing
  // text moves the end away from under somebody who is there.
  look() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroll;
    this.atEnd = scrollHeight - scrollTop - clientHeight < near;
    if (this.atEnd) this.jump.hidden = true;
  }

  settle() {
    if (this.atEnd) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  toEnd() {
    this.atEnd = true;
    this.jump.hidden = true;
    this.settle();
  }

  // add shows a message of the feed at the end, once. fresh: it is news.
  add(item, fresh = true) {
    this.last = Math.max(this.last, item.seq);
    if (!this.first || (item.seq && item.seq < this.first)) this.first = item.seq;
    if (isStop(item)) return;
    const turn = item.from === "dragoman" ? this.turnOf(item) : undefined;
    const preview = this.previews.get(turn);
    if (preview) {
      this.previews.delete(turn);
      if (this.known.has(item.id)) preview.element.remove();
      else {
        this.known.set(item.id, preview.element);
        preview.element.classList.remove("writing", "ended");
        preview.element.thought();
      }
    }
    const element = this.known.get(item.id) ?? this.make(item);
    element.refresh(item);
    if (!element.isConnected) this.append(element, item.at);
    if (fresh && item.from === "dragoman") {
      this.spoken.textContent = item.text.slice(0, 2000);
      if (!this.atEnd) this.jump.hidden = false;
    }
    this.empty.hidden = true;
    this.settle();
  }

  // turnOf finds the answer being written that item is the end of: the one it
  // names, or, where an answer was stopped, the one it begins with.
  turnOf(item) {
    if (this.previews.has(item.replaces)) return item.replaces;
    for (const [turn, { text }] of this.previews) {
      if (text.length >= knowable && item.text.startsWith(text.trimEnd())) return turn;
    }
    return undefined;
  }

  append(element, at) {
    const day = new Date(at).toDateString();
    const before = this.list.lastElementChild?.dataset.day ?? new Date().toDateString(); // a new chat needs no "Today"
    if (before !== day) this.list.append(dayMark(day));
    element.dataset.day = day;
    this.list.append(element);
  }

  // prepend shows older messages above, without moving what is being read.
  prepend(items) {
    const height = this.scroll.scrollHeight;
    const top = document.createDocumentFragment();
    let day = "";
    for (const item of items) {
      this.first = Math.min(this.first || item.seq, item.seq);
      if (this.known.has(item.id) || isStop(item)) continue;
      const of = new Date(item.at).toDateString();
      if (of !== day) top.append(dayMark(of));
      day = of;
      const element = this.make(item);
      element.refresh(item);
      element.dataset.day = of;
      top.append(element);
    }
    const next = this.list.firstElementChild;
    if (next?.dataset.day === day && next.classList.contains("day")) next.remove();
    this.list.prepend(top);
    this.scroll.scrollTop += this.scroll.scrollHeight - height;
  }

  make(item) {
    const element = item.from === "person" ? person() : answer();
    this.known.set(item.id, element);
    return element;
  }

  // mine shows a message that is not on the server yet.
  mine(message, problem, refused) {
    const element = this.known.get(message.id) ?? this.make({ ...message, from: "person" });
    element.refresh(message);
    element.classList.add("unsent");
    element.classList.toggle("refused", Boolean(refused));
    element.meta.replaceChildren(problem ?? "Sending");
    if (refused) {
      const edit = document.createElement("button");
      edit.type = "button";
      edit.textContent = "Edit";
      edit.addEventListener("click", () => {
        this.known.delete(message.id);
        element.remove();
        this.edit(message.text);
      });
      element.meta.append(edit);
    }
    if (!element.isConnected) {
      this.append(element, message.at);
      this.toEnd();
    }
    this.empty.hidden = true;
    this.settle();
  }

  taken(id) {
    const element = this.known.get(id);
    element?.classList.remove("unsent");
    element?.stamp();
  }

  // preview shows how far an answer is; more says that text only adds to it.
  // thoughts always add to those before.
  preview({ turn, text, note, thoughts }, more) {
    let preview = this.previews.get(turn);
    if (!preview) {
      if (more) return; // its beginning was not seen; the answer will be
      for (const [old, { element }] of this.previews) {
        if (element.classList.contains("ended")) this.previews.delete(old);
      }
      preview = { element: answer(), text: "" };
      preview.element.classList.add("writing");
      this.previews.set(turn, preview);
      this.empty.hidden = true;
    }
    preview.text = more ? preview.text + text : text;
    if (!more) this.note.textContent = note ?? "";
    if (thoughts) preview.element.think(thoughts);
    if ((preview.text.trim() || thoughts) && !preview.element.isConnected) {
      this.append(preview.element, new Date());
      if (!this.atEnd) this.jump.hidden = false;
    }
    if (preview.drawing) return;
    preview.drawing = true; // once a frame, however fast the text comes
    requestAnimationFrame(() => {
      preview.drawing = false;
      if (preview.element.classList.contains("writing")) preview.element.draw(preview.text);
      this.settle();
    });
  }

  // end marks an answer that was broken off.
  end({ turn }) {
    const preview = this.previews.get(turn);
    if (!preview) return;
    preview.element.draw(preview.text);
    preview.element.classList.replace("writing", "ended");
    preview.element.thought();
    this.settle();
  }

  busy(on) {
    this.progress.classList.toggle("on", on);
    if (!on) this.note.textContent = "";
  }

  // forget drops what a lost connection leaves half shown; the answer so far
  // comes again with the next one.
  forget() {
    for (const { element } of this.previews.values()) element.remove();
    this.previews.clear();
  }
}

// isStop tells the button's doing from what somebody said: the answer that was
// stopped says so itself.
function isStop(item) {
  return item.from === "person" && item.text.trim() === "/stop";
}

function dayMark(day) {
  const mark = document.createElement("li");
  mark.className = "day";
  mark.dataset.day = day;
  mark.textContent = day === new Date().toDateString() ? "Today" : calendar.format(new Date(day));
  return mark;
}

function person() {
  const element = document.createElement("li");
  const body = document.createElement("div");
  const sent = document.createElement("ul");
  element.className = "person";
  sent.className = "sent";
  element.meta = document.createElement("div");
  element.meta.className = "meta";
  body.className = "body";
  element.append(label("You:"), body, sent, element.meta);
  element.stamp = () => {
    const time = document.createElement("time");
    time.dateTime = element.at.toISOString();
    time.textContent = clock.format(element.at);
    time.title = whole.format(element.at);
    element.meta.replaceChildren(time);
  };
  element.refresh = (item) => {
    element.at = new Date(item.at);
    element.classList.remove("unsent", "refused");
    element.asked = item.text;
    body.textContent = item.text;
    sent.replaceChildren(...(item.files ?? []).map((file, n) => sentFile(file, item.seq, n)));
    element.stamp();
  };
  return element;
}

const shown = ["image/jpeg", "image/png", "image/gif", "image/webp"];

// sentFile is a file of a message: a link once the server numbers it, and a
// picture if it is one. What is none after all stays a link.
function sentFile(file, seq, n) {
  const li = document.createElement("li");
  const words = `${file.name || "file"} · ${size(file.bytes ?? 0)}`;
  if (!seq) {
    li.textContent = words;
    return li;
  }
  const link = document.createElement("a");
  link.href = fileURL(seq, n);
  link.target = "_blank";
  link.rel = "noopener";
  link.textContent = words;
  li.append(link);
  if (shown.includes(file.type)) {
    const img = document.createElement("img");
    img.alt = words;
    img.loading = "lazy";
    img.addEventListener("error", () => link.replaceChildren(words), { once: true });
    img.src = link.href;
    link.replaceChildren(img);
  }
  return li;
}

function answer() {
  const element = document.createElement("li");
  const body = document.createElement("div");
  element.className = "dragoman";
  body.className = "text";
  element.append(label("Dragoman:"), body);
  const rendered = new Rendered(body);
  element.draw = (text) => rendered.update(text);
  element.refresh = (item) => {
    element.draw(item.text);
    element.said = item.text;
    if (!item.failed && !element.querySelector(".take")) {
      const take = document.createElement("button");
      take.type = "button";
      take.className = "take copy";
      take.textContent = "Copy";
      element.append(take);
    }
    if (!item.failed || element.classList.contains("failed")) return;
    element.classList.add("failed");
    const retry = document.createElement("button");
    retry.type = "button";
    retry.className = "quiet retry";
    retry.textContent = "Try again";
    element.append(retry);
  };
  let fold;
  element.think = (more) => {
    if (!fold) body.before((fold = thoughts()));
    fold.add(more);
  };
  element.thought = () => fold?.end();
  return element;
}

// thoughts is what the model thinks, folded away until somebody opens it. Its
// text is put into the page once a frame, and only while it is open.
function thoughts() {
  const title = element("summary", { textContent: "Thinking…" });
  const body = element("div", { className: "thoughts-text", tabIndex: 0, role: "region", ariaLabel: "Thoughts" });
  const fold = element("details", { className: "thoughts" }, title, body);
  let text = "";
  let drawing = false;
  const draw = () => {
    drawing = false;
    const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < near;
    body.textContent = text.slice(-mostThoughts);
    if (atEnd) body.scrollTop = body.scrollHeight;
  };
  const drawSoon = () => {
    if (!fold.open || drawing) return;
    drawing = true;
    requestAnimationFrame(draw);
  };
  fold.addEventListener("toggle", drawSoon);
  fold.add = (more) => {
    text = text ? text + more : more.trimStart();
    if (text.length > 2 * mostThoughts) text = text.slice(-mostThoughts);
    drawSoon();
  };
  fold.end = () => (title.textContent = "Thoughts");
  return fold;
}

// label tells who speaks to those who do not see it.
function label(text) {
  const span = document.createElement("span");
  span.className = "unseen";
  span.textContent = text;
  return span;
}

// copy puts a code block's text, or an answer's as it was written, on the
// clipboard; on plain http the modern way is closed, and the old one must do.
async function copy(button) {
  if (!button) return;
  const code = button.closest(".block")?.querySelector("code");
  const answer = button.closest("li");
  let done = false;
  try {
    await navigator.clipboard.writeText(code ? code.textContent : answer.said);
    done = true;
  } catch {
    getSelection().selectAllChildren(code ?? answer.querySelector(".text"));
    done = document.execCommand("copy");
  }
  button.textContent = done ? "Copied" : "Press Ctrl+C";
  setTimeout(() => (button.textContent = "Copy"), 1500);
}
