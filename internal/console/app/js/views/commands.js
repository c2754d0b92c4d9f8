// The menu of commands: a place to go to, a conversation, something to do, by a few letters.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { actionsHere, actionsOf } from "../actions.js";
import { foundBy } from "../find.js";
import { findTalks, known, loadList } from "../list.js";
import { network } from "../parts/avatar.js";
import { Icon } from "../parts/icon.js";
import { mine } from "../places.js";
import { go, route, talkPath } from "../router.js";
import { now } from "../store.js";
import { t } from "../text.js";
import { Found, titleOf } from "./row.js";

/** @typedef {{icon: string, text: string, extra?: string, hit?: import("../types.js").Hit, act: () => void}} Choice */

const most = 8; // of each kind

/** @param {{close: () => void, keys: () => void}} props */
export function Commands({ close, keys }) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const [found, setFound] = useState(/** @type {import("../types.js").Row[]} */ ([]));
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!now().list.loaded) loadList();
    document.getElementById("command")?.focus();
  }, []);
  useEffect(() => {
    setAt(0);
    if (words.trim().length < 2) return setFound([]);
    let over = false;
    const timer = setTimeout(() => findTalks(words.trim(), most).then((rows) => { if (!over) setFound(rows); }, () => {}), 200);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [words]);
  const groups = grouped(words, found, keys);
  const all = groups.flatMap(([, choices]) => choices);
  const choose = (/** @type {Choice} */ choice) => {
    list.current?.closest("dialog")?.close(); // at once: what is opened next takes the focus
    close();
    choice.act();
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && all.length) {
      event.preventDefault();
      const next = (at + step + all.length) % all.length;
      setAt(next);
      list.current?.querySelectorAll("[role=option]")[next]?.scrollIntoView({ block: "nearest" });
    }
    if (event.key === "Enter" && !event.isComposing && all[at]) {
      event.preventDefault();
      choose(all[at]);
    }
  };
  let n = 0;
  return html`<div class="commands">
    <label class="search"><span class="unseen">${t("Search places, conversations and actions")}</span><${Icon} name="search" small />
      <input class="input" id="command" role="combobox" aria-expanded="true" aria-controls="choices" aria-activedescendant=${all.length ? `choice${at}` : null} autocomplete="off" placeholder=${t("Search places, conversations and actions")} value=${words} onInput=${(/** @type {any} */ e) => setWords(e.currentTarget.value)} onKeyDown=${press} /></label>
    <div id="choices" role="listbox" aria-label=${t("Commands")} ref=${list}>
      ${groups.map(([title, choices]) => choices.length > 0 && html`<div role="group" aria-label=${title}><p class="label" aria-hidden="true">${title}</p>
        ${choices.map((c) => {
          const i = n++;
          return html`<div role="option" id=${`choice${i}`} class="choice" aria-selected=${String(i === at)} onClick=${() => choose(c)} onMouseMove=${() => i !== at && setAt(i)}>
            <${Icon} name=${c.icon} small /><span class="cut" dir="auto">${c.text}${c.hit && html`<small><${Found} hit=${c.hit} /></small>`}</span>${c.extra && html`<small>${c.extra}</small>`}</div>`;
        })}</div>`)}
    </div>
    ${!all.length && html`<p class="meta" role="status">${t("Nothing found")}</p>`}
  </div>`;
}

// visit opens a conversation, at the message in which the words were found.
/**
 * @param {import("../types.js").Row} c
 * @param {string} words
 */
function visit(c, words) {
  if (c.hit) foundBy(c.key, words);
  go(talkPath(c.key, c.hit?.message.seq));
}

// grouped are the choices that have these words.
/**
 * @param {string} words
 * @param {import("../types.js").Row[]} found
 * @param {() => void} keys
 * @returns {[string, Choice[]][]}
 */
function grouped(words, found, keys) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (/** @type {{text: string}} */ c) => wanted.every((word) => c.text.toLowerCase().includes(word));
  const { key } = route();
  const here = key ? known(key) : undefined;
  const places = mine(now().me).map((p) => ({ icon: p.icon, text: t(p.title), act: () => go(`/${p.view}`) }));
  const rows = wanted.length ? [...found, ...[...now().list.pinned, ...now().list.rows].filter((c) => has({ text: titleOf(c) }))] : [...now().list.pinned, ...now().list.rows].slice(0, 5);
  const once = rows.filter((c, i) => rows.findIndex((other) => other.key === c.key) === i && c.key !== key).slice(0, most);
  const talks = once.map((c) => ({ icon: network(c.network)[0], text: titleOf(c), extra: t(network(c.network)[1]), hit: c.hit, act: () => visit(c, words.trim()) }));
  return [
    [t("In this conversation"), here ? actionsOf(here).filter(has) : []],
    [t("Go to"), places.filter(has)],
    [t("Conversations"), talks],
    [t("Actions"), actionsHere(keys).filter(has)],
  ];
}
