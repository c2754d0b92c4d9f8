// The conversation on the page: the messages, the answer being written, and the reader's
// scroll position.

import { element } from "/app/js/element.js";
import { size } from "./files.js";
import { Rendered } from "/app/js/markdown.js";
import { fileURL } from "./stream.js";

const recognisable = 40; // characters by which an answer can be recognised
const maxThoughts = 64 * 1024; // characters of thoughts that are kept
const near = 60; // pixels from the end that count as the end

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const calendar = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });

export class Conversation {
  constructor({ scroll, list, empty, progress, note, jump, spoken, edit, again }) {
    Object.assign(this, { scroll, list, empty, progress, note, jump, spoken, edit, again });
    this.reset();
    this.atEnd = true;
    scroll.addEventListener("scroll", () => this.trackScroll(), { passive: true });
    new ResizeObserver(() => this.stickToEnd()).observe(scroll); // the keyboard opened or the window changed
    jump.addEventListener("click", () => this.toEnd());
    list.addEventListener("click", (event) => {
      copy(event.target.closest(".copy"));
      if (event.target.matches(".retry")) this.retry(event.target);
      if (event.target.matches(".choices button")) this.choose(event.target);
    });
  }

  // retry asks the question of a failed answer again.
  retry(button) {
    let li = button.closest("li");
    while (li && !li.classList.contains("person")) li = li.previousElementSibling;
    if (li?.text) this.again(li.text);
    button.remove();
  }

  // choose answers a question of Dragoman.
  choose(button) {
    this.again(button.dataset.say);
    button.parentElement.remove();
  }

  reset() {
    this.list.replaceChildren();
    this.known = new Map(); // id -> li
    this.previews = new Map(); // turn -> {li, text}
    this.first = 0; // seq of the oldest item, 0: none
    this.last = 0;
    this.jump.hidden = true;
  }

  // trackScroll notes whether the reader is at the end. Only scrolling counts: growing
  // text must not move a reader away from the end.
  trackScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroll;
    this.atEnd = scrollHeight - scrollTop - clientHeight < near;
    if (this.atEnd) this.jump.hidden = true;
  }

  stickToEnd() {
    if (this.atEnd) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  toEnd() {
    this.atEnd = true;
    this.jump.hidden = true;
    this.stickToEnd();
  }

  // add shows a message of the feed at the end, once. fresh: it is new, not history.
  add(item, fresh = true) {
    this.last = Math.max(this.last, item.seq);
    if (!this.first || (item.seq && item.seq < this.first)) this.first = item.seq;
    if (isStop(item)) return;
    const turn = item.from === "dragoman" ? this.turnOf(item) : undefined;
    const preview = this.previews.get(turn);
    if (preview) {
      this.previews.delete(turn);
      if (this.known.has(item.id)) preview.li.remove();
      else {
        this.known.set(item.id, preview.li);
        preview.li.classList.remove("writing", "ended");
        preview.li.endThinking();
      }
    }
    const li = this.known.get(item.id) ?? this.make(item);
    if (item.from === "dragoman" && !li.isConnected) removeChoices(this.list);
    li.refresh(item);
    if (!li.isConnected) this.append(li, item.at);
    if (fresh && item.from === "dragoman") {
      this.spoken.textContent = item.text.slice(0, 2000);
      if (!this.atEnd) this.jump.hidden = false;
    }
    this.empty.hidden = true;
    this.stickToEnd();
  }

  // turnOf finds the preview that item completes: the one it names or, for a stopped
  // answer, the one it begins with.
  turnOf(item) {
    if (this.previews.has(item.replaces)) return item.replaces;
    for (const [turn, { text }] of this.previews) {
      if (text.length >= recognisable && item.text.startsWith(text.trimEnd())) return turn;
    }
    return undefined;
  }

  append(li, at) {
    const day = new Date(at).toDateString();
    const before = this.list.lastElementChild?.dataset.day ?? new Date().toDateString(); // a new chat shows no "Today"
    if (before !== day) this.list.append(dayMark(day));
    li.dataset.day = day;
    this.list.append(li);
  }

  // prepend shows older messages above without moving the text being read.
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
      const li = this.make(item);
      li.refresh(item);
      li.dataset.day = of;
      top.append(li);
    }
    removeChoices(top);
    const next = this.list.firstElementChild;
    if (next?.dataset.day === day && next.classList.contains("day")) next.remove();
    this.list.prepend(top);
    this.scroll.scrollTop += this.scroll.scrollHeight - height;
  }

  make(item) {
    const li = item.from === "person" ? person() : answer();
    this.known.set(item.id, li);
    return li;
  }

  // showUnsent shows a message that is not on the server yet.
  showUnsent(message, problem, refused) {
    const li = this.known.get(message.id) ?? this.make({ ...message, from: "person" });
    li.refresh(message);
    li.classList.add("unsent");
    li.classList.toggle("refused", Boolean(refused));
    li.meta.replaceChildren(problem ?? "Sending");
    if (refused) {
      const edit = element("button", { type: "button" }, "Edit");
      edit.addEventListener("click", () => {
        this.known.delete(message.id);
        li.remove();
        this.edit(message.text);
      });
      li.meta.append(edit);
    }
    if (!li.isConnected) {
      this.append(li, message.at);
      this.toEnd();
    }
    this.empty.hidden = true;
    this.stickToEnd();
  }

  markSent(id) {
    const li = this.known.get(id);
    li?.classList.remove("unsent");
    li?.stamp();
  }

  // preview shows an answer so far; more: text is only the addition. thoughts always
  // continue the earlier ones.
  preview({ turn, text, note, thoughts }, more) {
    let preview = this.previews.get(turn);
    if (!preview) {
      if (more) return; // we missed its beginning; the complete answer will come
      for (const [old, { li }] of this.previews) {
        if (li.classList.contains("ended")) this.previews.delete(old);
      }
      preview = { li: answer(), text: "" };
      preview.li.classList.add("writing");
      this.previews.set(turn, preview);
      this.empty.hidden = true;
    }
    preview.text = more ? preview.text + text : text;
    if (!more) this.note.textContent = note ?? "";
    if (thoughts) preview.li.addThoughts(thoughts);
    if ((preview.text.trim() || thoughts) && !preview.li.isConnected) {
      this.append(preview.li, new Date());
      if (!this.atEnd) this.jump.hidden = false;
    }
    if (preview.drawing) return;
    preview.drawing = true; // at most once per frame
    requestAnimationFrame(() => {
      preview.drawing = false;
      if (preview.li.classList.contains("writing")) preview.li.draw(preview.text);
      this.stickToEnd();
    });
  }

  // end marks an answer as broken off.
  end({ turn }) {
    const preview = this.previews.get(turn);
    if (!preview) return;
    preview.li.draw(preview.text);
    preview.li.classList.replace("writing", "ended");
    preview.li.endThinking();
    this.stickToEnd();
  }

  busy(on) {
    this.progress.classList.toggle("on", on);
    if (!on) this.note.textContent = "";
  }

  // dropPreviews removes what a lost connection left half shown; the next connection
  // sends the answer so far again.
  dropPreviews() {
    for (const { li } of this.previews.values()) li.remove();
    this.previews.clear();
  }
}

// isStop reports whether item is only a stop, which is not shown: the stopped answer says
// so itself.
function isStop(item) {
  return item.from === "person" && item.text.trim() === "/stop";
}

function dayMark(day) {
  const mark = element("li", { className: "day" }, day === new Date().toDateString() ? "Today" : calendar.format(new Date(day)));
  mark.dataset.day = day;
  return mark;
}

// person is a message of the reader.
function person() {
  const body = element("div", { className: "body" });
  const sent = element("ul", { className: "sent" });
  const meta = element("div", { className: "meta" });
  const li = element("li", { className: "person", meta }, label("You:"), body, sent, meta);
  li.stamp = () => meta.replaceChildren(element("time", { dateTime: li.at.toISOString(), title: whole.format(li.at) }, clock.format(li.at)));
  li.refresh = (item) => {
    li.at = new Date(item.at);
    li.classList.remove("unsent", "refused");
    li.text = item.text;
    body.textContent = item.text;
    sent.replaceChildren(...(item.files ?? []).map((file, n) => sentFile(file, item.seq, n)));
    li.stamp();
  };
  return li;
}

const shown = ["image/jpeg", "image/png", "image/gif", "image/webp"];

// sentFile shows a file of a message: a link once the message has a seq, with the picture
// in it if the file is one.
function sentFile(file, seq, n) {
  const words = `${file.name || "file"} · ${size(file.bytes ?? 0)}`;
  if (!seq) return element("li", {}, words);
  const link = element("a", { href: fileURL(seq, n), target: "_blank", rel: "noopener" }, words);
  if (shown.includes(file.type)) {
    const img = element("img", { alt: words, loading: "lazy" });
    img.addEventListener("error", () => link.replaceChildren(words), { once: true });
    img.src = link.href;
    link.replaceChildren(img);
  }
  return element("li", {}, link);
}

// answer is a message of Dragoman.
function answer() {
  const body = element("div", { className: "text" });
  const li = element("li", { className: "dragoman" }, label("Dragoman:"), body);
  const rendered = new Rendered(body);
  li.draw = (text) => rendered.update(text);
  li.refresh = (item) => {
    li.draw(item.text);
    li.source = item.text;
    if (!item.failed && !li.querySelector(".take")) {
      li.append(element("button", { type: "button", className: "take copy" }, "Copy"));
      if (item.asks) li.append(choices(item.asks));
    }
    if (!item.failed || li.classList.contains("failed")) return;
    li.classList.add("failed");
    li.append(element("button", { type: "button", className: "quiet retry" }, "Try again"));
  };
  let fold;
  li.addThoughts = (more) => {
    if (!fold) body.before((fold = thoughts()));
    fold.add(more);
  };
  li.endThinking = () => fold?.end();
  return li;
}

// choices are the buttons that answer a question of Dragoman.
function choices(question) {
  const button = (text, command) => {
    const made = element("button", { type: "button", className: "quiet" }, text);
    made.dataset.say = `/${command} ${question}`;
    return made;
  };
  return element("div", { className: "choices" }, button("Allow once", "allow"), button("Deny", "deny"));
}

// removeChoices removes the buttons of questions that something newer has followed.
function removeChoices(list) {
  for (const one of list.querySelectorAll(".choices")) one.remove();
}

// thoughts shows the model's thoughts, folded until the reader opens them. The text is
// redrawn at most once per frame, and only while it is open.
function thoughts() {
  const title = element("summary", { textContent: "Thinking…" });
  const body = element("div", { className: "thoughts-text", tabIndex: 0, role: "region", ariaLabel: "Thoughts" });
  const fold = element("details", { className: "thoughts" }, title, body);
  let text = "";
  let drawing = false;
  const draw = () => {
    drawing = false;
    const atEnd = body.scrollHeight - body.scrollTop - body.clientHeight < near;
    body.textContent = text.slice(-maxThoughts);
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
    if (text.length > 2 * maxThoughts) text = text.slice(-maxThoughts);
    drawSoon();
  };
  fold.end = () => (title.textContent = "Thoughts");
  return fold;
}

// label names the speaker for screen readers.
const label = (text) => element("span", { className: "unseen" }, text);

// copy copies a code block's text, or the source of an answer. On plain http the clipboard
// API is not available, so it falls back to the old command.
async function copy(button) {
  if (!button) return;
  const code = button.closest(".block")?.querySelector("code");
  const answer = button.closest("li");
  let done = false;
  try {
    await navigator.clipboard.writeText(code ? code.textContent : answer.source);
    done = true;
  } catch {
    getSelection().selectAllChildren(code ?? answer.querySelector(".text"));
    done = document.execCommand("copy");
  }
  button.textContent = done ? "Copied" : "Press Ctrl+C";
  setTimeout(() => (button.textContent = "Copy"), 1500);
}
