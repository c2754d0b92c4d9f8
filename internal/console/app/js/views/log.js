// The log: the newest records, by level and words. It is read again by itself unless paused.

import { html, useRef, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { useLoad } from "../load.js";
import { Button } from "../parts/button.js";
import { Empty } from "../parts/empty.js";
import { Search } from "../parts/search.js";
import { Segments } from "../parts/segments.js";
import { State } from "../parts/state.js";
import { View } from "../parts/view.js";
import { number, t, wholeTime } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").LogRecord} LogRecord */

const shapes = /** @type {Record<string, string>} */ ({ debug: "quiet", info: "good", warn: "warn", error: "bad" });

export function Log() {
  const [level, setLevel] = useState("info");
  const [words, look] = useState("");
  const [paused, pause] = useState(false);
  const shown = useRef(/** @type {any} */ (undefined));
  const log = useLoad(async () => {
    if (!paused || !shown.current) shown.current = await get("log", { level, text: words, limit: 200 });
    return shown.current;
  }, [level, words, paused], 3000);
  const levels = /** @type {[string, string][]} */ ([["info", t("All")], ["warn", t("Warnings")], ["error", t("Errors")]]);
  return html`<${View} title=${t("Log")} of=${log} say=${t("Ids and counts, never the text of messages.")} tools=${html`<${Segments} label=${t("Level")} of=${levels} value=${level} set=${setLevel} />`}>
    ${(/** @type {{data: LogRecord[]}} */ page) => html`
      <div class="rowline"><div class="grow"><${Search} label=${t("Search the log")} value=${words} onInput=${(/** @type {any} */ e) => look(e.currentTarget.value)} /></div>
        <${Button} icon=${paused ? "play" : "pause"} aria-pressed=${String(paused)} onClick=${() => pause(!paused)}>${t("Pause")}<//></div>
      ${page.data.length ? html`<ol class="log">${page.data.toReversed().map((r) => html`<${Line} key=${r.id} of=${r} />`)}</ol>`
      : html`<${Empty} icon="scroll-text" title=${words || level !== "info" ? t("Nothing found") : t("Nothing was logged since the start")}>${t("New lines appear here by themselves.")}<//>`}`}
  <//>`;
}

/** @param {{of: LogRecord}} props */
const Line = ({ of: r }) => html`<li>
  <time title=${wholeTime(r.at)}>${r.at.slice(11, 19)}</time><${State} of=${shapes[r.level] ?? "quiet"}>${r.level}<//>
  <span class="text">${r.message} <span class="attrs">${Object.entries(r.facts).map(([name, value]) => `${name}=${value}`).join(" ")}</span>
    ${r.lost ? html`<br /><span class="soft">${t("{0} lines before this one were dropped.", number(r.lost))}</span>` : null}</span></li>`;
