// The search of a conversation: a line above its messages, and what was found marked in them.

import { html, useEffect, useRef } from "../../vendor/preact.js";
import { closeFind, go, typeWords } from "../find.js";
import { Button } from "../parts/button.js";
import { Search } from "../parts/search.js";
import { speakUp } from "../parts/toast.js";
import { useStore } from "../store.js";
import { show } from "../target.js";
import { number, t } from "../text.js";

/** @param {{of: import("../types.js").Finding}} props */
export function Find({ of: f }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const entries = useStore((s) => s.talks[f.key]);
  useEffect(() => {
    if (!f.words) box.current?.querySelector("input")?.focus();
    return unmark;
  }, []);
  useEffect(() => mark(f.words), [f.words, f.shown, entries]);
  useEffect(() => {
    if (!f.shown) return;
    show(f.hits[f.at]);
    bring(wordsOf(f.words));
  }, [f.shown]);
  const count = f.problem ? t("The search failed.") : !f.words.trim() ? "" : f.hits.length ? t("{0} of {1}", number(f.at + 1), number(f.hits.length)) : f.loading ? t("Searching") : t("Nothing found");
  useEffect(() => { if (count) speakUp(count); }, [count]);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      closeFind();
      document.getElementById("text")?.focus();
    }
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    go(f.at + (event.shiftKey ? 1 : -1));
  };
  const none = f.hits.length === 0;
  return html`<div class="find" role="search" ref=${box} onKeyDown=${press}>
    <div class="grow"><${Search} label=${t("Search in this conversation")} value=${f.words} onInput=${(/** @type {any} */ e) => typeWords(e.currentTarget.value)} /></div>
    <span class="meta num">${count}</span>
    <${Button} icon="arrow-up" kind="quiet" label=${t("The one before")} disabled=${none} onClick=${() => go(f.at - 1)} />
    <${Button} icon="arrow-down" kind="quiet" label=${t("The one after")} disabled=${none} onClick=${() => go(f.at + 1)} />
    <${Button} icon="x" kind="quiet" data-key="esc" label=${t("Close the search")} onClick=${closeFind} />
  </div>`;
}

/** @param {string} words */
const wordsOf = (words) => words.toLowerCase().split(/\s+/).filter(Boolean);

// bring scrolls to the place in the message that is shown where most of the words are: it may
// be longer than the screen.
/** @param {string[]} wanted */
function bring(wanted) {
  const message = document.querySelector(".chat .target");
  if (!message) return;
  let most = 0;
  /** @type {Node | null} */
  let best = null;
  const walk = document.createTreeWalker(message, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const text = (node.textContent ?? "").toLowerCase();
    const has = wanted.filter((word) => text.includes(word)).length;
    if (has > most) [most, best] = [has, node];
  }
  best?.parentElement?.scrollIntoView({ block: "center" });
}

// mark shows the words in what is drawn. It changes nothing of it.
/** @param {string} words */
function mark(words) {
  if (!("highlights" in CSS)) return;
  const wanted = wordsOf(words);
  /** @type {Range[]} */
  const ranges = [];
  for (const box of wanted.length ? document.querySelectorAll(".chat :is(.bubble, .answer)") : []) {
    const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) ranges.push(...within(node, wanted));
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

/**
 * @param {Node} node
 * @param {string[]} wanted
 */
function within(node, wanted) {
  const text = (node.textContent ?? "").toLowerCase();
  /** @type {Range[]} */
  const ranges = [];
  if (text.length !== node.textContent?.length) return ranges; // a letter became two
  for (const word of wanted) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + word.length);
      ranges.push(range);
    }
  }
  return ranges;
}

function unmark() {
  if ("highlights" in CSS) CSS.highlights.delete("found");
  for (const e of document.querySelectorAll(".target")) e.classList.remove("target");
}
