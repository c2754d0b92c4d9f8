// Steps: one line for everything between question and answer. Failures and what still runs
// show in it.

import { html } from "../../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { State } from "../parts/state.js";
import { plural, t, took } from "../text.js";

const longest = 20_000; // characters of a result that are shown

/** @param {{of: import("../turns.js").Step[], live?: import("../types.js").Live, growing: boolean}} props */
export function Steps({ of, live, growing }) {
  const thought = live?.thought.trim() ?? "";
  if (of.length === 0 && !thought) return null;
  const failed = of.filter((s) => s.failed).length;
  const running = growing && of.find((s) => s.result === undefined);
  const words = [thought && t("Thought"), of.length > 0 && plural(of.length, "1 tool", "{0} tools")].filter(Boolean).join(" · ");
  return html`<details class="steps">
    <summary><span class="turn"><${Icon} name="chevron-right" small flip /></span><span>${words}</span>
      ${failed > 0 && html`<${State} of="bad">${t("{0} failed", failed)}<//>`}${running && html`<${State} of="busy">${running.tool}<//>`}</summary>
    <ol>
      ${thought && html`<li><p class="thought" dir="auto"><${Icon} name="lightbulb" small label=${t("Thought")} /> ${thought}</p></li>`}
      ${of.map((s) => html`<li key=${s.id}><${Step} of=${s} growing=${growing} /></li>`)}
    </ol>
  </details>`;
}

/** @param {{of: import("../turns.js").Step, growing: boolean}} props */
function Step({ of: s, growing }) {
  const runs = growing && s.result === undefined;
  const icon = runs ? "loader-circle" : s.failed ? "circle-alert" : "check";
  return html`<details class="step">
    <summary><${Icon} name=${icon} small spin=${runs} label=${runs ? t("runs") : s.failed ? t("failed") : t("done")} /><b>${s.tool}</b><span class="cut">${brief(s.input)}</span><span class="meta num">${s.took === undefined ? "" : took(s.took)}</span><span class="turn"><${Icon} name="chevron-right" small flip /></span></summary>
    <div class="io"><p class="label">${t("Input")}</p><pre tabindex="0" role="group" aria-label=${t("Input of {0}", s.tool)}>${readable(s.input)}</pre>
      ${s.result !== undefined && html`<p class="label">${s.failed ? t("Problem") : t("Result")}</p><pre tabindex="0" role="group" aria-label=${t("Result of {0}", s.tool)}>${s.result.slice(0, longest)}</pre>`}</div>
  </details>`;
}

// brief is the first text among a call's arguments.
/** @param {string} input */
export function brief(input) {
  const first = Object.values(parsed(input) ?? {}).find((value) => typeof value === "string");
  return first === undefined ? "" : String(first).slice(0, 200);
}

// readable shows arguments line by line, if they are JSON.
/** @param {string} input */
export function readable(input) {
  const found = parsed(input);
  if (!found) return input;
  const width = Math.min(14, Math.max(...Object.keys(found).map((name) => name.length + 1)));
  return Object.entries(found).map(([name, value]) => `${(name + ":").padEnd(width)} ${typeof value === "string" ? value : JSON.stringify(value, null, 1)}`).join("\n") || "{}";
}

/** @param {string} input */
function parsed(input) {
  try {
    const found = JSON.parse(input);
    return found && typeof found === "object" && !Array.isArray(found) ? /** @type {Record<string, unknown>} */ (found) : undefined;
  } catch {
    return undefined;
  }
}
