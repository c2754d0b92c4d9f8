// The log: the newest records, and each new one as it is logged, by level, channel,
// conversation and words.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { copyText } from "../clipboard.js";
import { Button } from "../parts/button.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { Search } from "../parts/search.js";
import { Segments } from "../parts/segments.js";
import { State } from "../parts/state.js";
import { toast } from "../parts/toast.js";
import { View } from "../parts/view.js";
import { talkPath } from "../router.js";
import { Stream } from "../stream.js";
import { number, t, wholeTime } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").LogRecord} LogRecord */
/** @typedef {import("../../../../../docs/openapi.js").Channel} Channel */
/** @typedef {{level: string, channel: string, key: string, text: string}} Filter */

const shapes = /** @type {Record<string, string>} */ ({ debug: "quiet", info: "good", warn: "warn", error: "bad" });
const atFirst = 200;
const mostShown = 1000;

// useLog follows the log. While paused nothing comes, and it goes on where it was.
/**
 * @param {Filter} filter
 * @param {boolean} paused
 */
function useLog({ level, channel, key, text }, paused) {
  const [lines, set] = useState(/** @type {LogRecord[] | undefined} */ (undefined));
  const [problem, fail] = useState(/** @type {Error | undefined} */ (undefined));
  const filter = [level, channel, key, text].join("\n");
  const seen = useRef({ filter, id: "" }); // the newest record
  useEffect(() => {
    if (seen.current.filter !== filter) {
      seen.current = { filter, id: "" };
      set([]); // with undefined, the box in which somebody writes would go
    }
    if (paused) return;
    /** @type {LogRecord[]} */
    let waiting = [];
    let frame = 0;
    const draw = () => {
      frame = 0;
      const fresh = waiting.reverse();
      waiting = [];
      set((shown = []) => [...fresh, ...shown].slice(0, mostShown));
    };
    const stream = new Stream({
      address: "log/events", query: { level, channel, key, text, limit: atFirst }, after: seen.current.id,
      on: (record) => {
        waiting.push(record);
        seen.current.id = record.id;
        frame ||= requestAnimationFrame(draw);
      },
      onState: (online) => {
        fail(online ? undefined : new Error("offline"));
        if (online) set((shown = []) => shown);
      },
    });
    return () => {
      stream.close();
      cancelAnimationFrame(frame);
    };
  }, [filter, paused]);
  return { data: lines, problem, again: () => {} };
}

/** @type {Filter} */
const everything = { level: "info", channel: "", key: "", text: "" };

export function Log() {
  const [filter, choose] = useState(everything);
  const [paused, pause] = useState(false);
  const [channels, know] = useState(/** @type {Channel[]} */ ([]));
  useEffect(() => { get("channels").then((page) => know(page.data), () => {}); }, []);
  const log = useLog(filter, paused);
  const only = (/** @type {Partial<Filter>} */ parts) => choose({ ...filter, ...parts });
  const levels = /** @type {[string, string][]} */ ([["info", t("All")], ["warn", t("Warnings")], ["error", t("Errors only")]]);
  const narrowed = filter.text || filter.channel || filter.key || filter.level !== "info";
  return html`<${View} title=${t("Log")} of=${log} say=${t("Ids and counts, never the text of messages.")} tools=${html`<${Segments} label=${t("Level")} of=${levels} value=${filter.level} set=${(/** @type {string} */ level) => only({ level })} />`}>
    ${(/** @type {LogRecord[]} */ lines) => html`
      <div class="rowline filters"><div class="grow"><${Search} label=${t("Search the log")} value=${filter.text} onInput=${(/** @type {any} */ e) => only({ text: e.currentTarget.value })} /></div>
        <select class="input narrow" aria-label=${t("Channel")} value=${filter.channel} onChange=${(/** @type {any} */ e) => only({ channel: e.currentTarget.value })}>
          <option value="">${t("All channels")}</option>${channels.map((c) => html`<option value=${c.name}>${c.name}</option>`)}</select>
        <${Button} icon=${paused ? "play" : "pause"} aria-pressed=${String(paused)} onClick=${() => pause(!paused)}>${t("Pause")}<//></div>
      ${filter.key && html`<p><button type="button" class="chip" aria-pressed="true" onClick=${() => only({ key: "" })}><span dir="auto">${t("Only {0}", filter.key)}</span><${Icon} name="x" small label=${t("Show all conversations")} /></button></p>`}
      ${lines.length ? html`<ol class="log">${lines.map((r) => html`<${Line} key=${r.id} of=${r} only=${only} />`)}</ol>`
      : html`<${Empty} icon="scroll-text" title=${narrowed ? t("Nothing found") : t("Nothing was logged since the start")}>${t("New lines appear here by themselves.")}<//>`}`}
  <//>`;
}

/** @param {{of: LogRecord, only: (parts: Partial<Filter>) => void}} props */
const Line = ({ of: r, only }) => html`<li><details>
  <summary><time title=${wholeTime(r.at)}>${new Date(r.at).toTimeString().slice(0, 8)}</time><${State} of=${shapes[r.level] ?? "quiet"}>${r.level}<//>
    <span class="text" lang="en" dir="ltr">${r.message} <span class="attrs">${facts(r)}</span></span></summary>
  <${Details} of=${r} only=${only} />
</details>${r.lost ? html`<p class="meta">${t("{0} lines before this one were dropped.", number(r.lost))}</p>` : null}</li>`;

/** @param {LogRecord} r */
const facts = (r) => Object.entries(r.facts).map(([name, value]) => `${name}=${value}`).join(" ");

/** @param {{of: LogRecord, only: (parts: Partial<Filter>) => void}} props */
function Details({ of: r, only }) {
  const copy = async () => toast((await copyText(`${r.at} ${r.level} ${r.message} ${facts(r)}`)) ? t("Copied") : t("Press Ctrl+C"));
  const key = r.facts.key;
  return html`<dl class="facts"><dt>${t("Time")}</dt><dd>${wholeTime(r.at)}</dd>
      ${Object.entries(r.facts).map(([name, value]) => html`<dt class="mono">${name}</dt><dd class="mono" dir="auto">${value}</dd>`)}</dl>
    <div class="actions"><${Button} icon="copy" onClick=${copy}>${t("Copy")}<//>
      ${key && html`<${Button} icon="filter" onClick=${() => only({ key })}>${t("Only this conversation")}<//>${!key.startsWith("heartbeat:") && html`<a class="button" href=${talkPath(key)}>${t("Open the conversation")}</a>`}`}
      ${r.facts.channel && html`<${Button} icon="filter" onClick=${() => only({ channel: r.facts.channel })}>${t("Only this channel")}<//>`}</div>`;
}
