// The chat page: it connects the history, the stream, the outbox and the message box.

import { Channels } from "./channels.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { element } from "/app/js/element.js";
import { Files } from "./files.js";
import { Outbox } from "./outbox.js";
import { Refused, Stream, feed, randomID, session, stop } from "./stream.js";

const pageSize = 50; // messages loaded at once
const $ = (id) => document.getElementById(id);
const room = new URLSearchParams(location.search).get("room") ?? "default";

if (room !== "default") {
  $("room").textContent = room;
  document.title = room + " · Dragoman";
}
const title = document.title;
let unread = 0;

const conversation = new Conversation({
  scroll: $("scroll"), list: $("messages"), empty: $("empty"), progress: $("progress"),
  note: $("note"), jump: $("jump"), spoken: $("spoken"),
  edit: (text) => {
    composer.value = text;
    composer.text.focus();
  },
  again: (text) => outbox.add(text),
});

const outbox = new Outbox({
  room,
  show: (message, problem, refused) => conversation.showUnsent(message, problem, refused),
  taken: (id) => conversation.markSent(id),
});

const files = new Files({
  button: $("attach"), input: $("files"), list: $("attached"), problem: $("file-problem"), text: $("text"),
});

const composer = new Composer({
  form: $("composer"), text: $("text"), send: $("send"), stop: $("stop"), menu: $("commands"), room, files,
  onSend: (text, sent) => outbox.add(text, sent),
  onStop: () => stop(randomID()).catch(() => {}), // the state event shows whether it stopped
});

// Not the autofocus attribute, which logs an error if the reader has already clicked.
if (document.activeElement === document.body) composer.text.focus();

for (const button of document.querySelectorAll(".tries button")) {
  button.addEventListener("click", () => {
    outbox.add(button.textContent);
    composer.text.focus();
  });
}

const stream = new Stream({
  after: () => conversation.last,
  on: {
    hello: (hello) => {
      composer.commands = hello.commands;
      composer.max = hello.max_text;
      files.limit(hello.max_file);
      conversation.dropPreviews();
      outbox.flush();
      if (!hello.whole) start(); // we missed too much: load the history and open the stream again
    },
    message: (item) => {
      outbox.remove(item.id);
      conversation.add(item);
      if (item.from === "dragoman" && document.hidden) document.title = `(${++unread}) ${title}`;
    },
    preview: (preview) => conversation.preview(preview),
    delta: (preview) => conversation.preview(preview, true),
    end: (preview) => conversation.end(preview),
    state: ({ busy }) => {
      conversation.busy(busy);
      composer.busy(busy);
    },
  },
  onState: (state) => {
    const words = { connected: "Connected", lost: "Reconnecting" };
    $("link").dataset.state = state;
    $("link").firstElementChild.textContent = words[state];
    if (state === "lost") {
      conversation.busy(false);
      composer.busy(false);
    }
  },
});

new Channels({
  panel: $("channels"), list: $("channels-list"), problem: $("channels-problem"),
  open: $("channels-open"), close: $("channels-close"), mark: $("channels-mark"),
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  unread = 0;
  document.title = title;
});

// history shows the newest page of the history.
async function history() {
  const items = await feed(0, pageSize);
  conversation.reset();
  for (const item of items) conversation.add(item, false);
  showEarlier(items.length === pageSize);
  for (const message of outbox.messages) conversation.showUnsent(message, "Not sent yet. It is saved and will be sent.");
  conversation.empty.hidden = items.length > 0 || outbox.waiting;
  conversation.toEnd();
}

let loading = false;

// earlier loads the page before, when the reader comes near the top.
async function earlier() {
  if (loading || $("earlier").hidden) return;
  loading = true;
  try {
    const items = await feed(conversation.first, pageSize);
    conversation.prepend(items);
    showEarlier(items.length === pageSize);
  } catch {
    // The button stays, to try again.
  }
  loading = false;
}

function showEarlier(available) {
  $("earlier").hidden = !available;
}

$("earlier").firstElementChild.addEventListener("click", earlier);
$("scroll").addEventListener("scroll", () => $("scroll").scrollTop < 300 && earlier(), { passive: true });

// If the keyboard covers the page (iOS), the message box must stay above it.
visualViewport?.addEventListener("resize", () => {
  const covered = Math.max(0, innerHeight - visualViewport.height - visualViewport.offsetTop);
  document.body.style.setProperty("--keyboard", (visualViewport.scale > 1.01 ? 0 : covered) + "px");
  conversation.stickToEnd();
});

// start loads the newest history and then opens the stream after it, so that nothing falls
// between the two.
async function start(tries = 0) {
  try {
    $("logout").hidden = !(await session()).login;
    await history();
    stream.open();
  } catch (error) {
    if (error instanceof Refused && !error.again) return showRefusal(error.message);
    stream.onState("lost");
    setTimeout(() => start(tries + 1), Math.min(8000, 400 * 2 ** tries));
  }
}

// showRefusal shows why the page cannot be used, such as an invalid room name.
function showRefusal(sentence) {
  const home = element("p", { className: "hint" }, element("a", { href: "/" }, "Go to the main room"));
  $("empty").replaceChildren(element("h2", { id: "hello" }, "Nothing is here"), element("p", {}, sentence), home);
  $("empty").hidden = false;
  $("link").hidden = $("composer").hidden = $("keys").hidden = true;
}

start();
