// Formulas in TeX's notation, as the networks find them (channels/markup/formula.go). To
// Markdown, their backslashes are escapes and their stars emphasis. So a sign stands in
// for each while the text is read, and it is put back as it was written.
//
// This file is loaded when a text may have a formula. How one looks is for rich.js.

import { element } from "./element.js";

const opens = "\ufdd0"; // no text has these two: Unicode keeps them from meaning anything
const closes = "\ufdd1";
const sign = /\ufdd0(\d+)\ufdd1/g;
const inAddress = /%EF%B7%90(\d+)%EF%B7%91/g; // a sign, in the address of a link

/** @type {Record<string, string>} */
const closers = { "\\(": "\\)", "\\[": "\\]", $$: "$$", $: "$" };
const environment = /^\\begin\{[a-zA-Z]+\*?\}/;
const fence = /^[ \t>]*(`{3,}|~{3,})([^`]*)$/;

/**
 * Kept is a text whose formulas are signs. known is by what a part of it is known again, and
 * fill puts the formulas into the nodes that were made of a part.
 * @typedef {{text: string, known: (source: string) => string, fill: (node: Node) => void}} Kept
 */

// keepFormulas hides the formulas of a text from whatever reads it.
/**
 * @param {string} text
 * @returns {Kept | undefined} undefined if it has none
 */
export function keepFormulas(text) {
  const spans = text.includes(opens) ? [] : formulas(text);
  if (spans.length === 0) return undefined;
  const shown = spans.map(([from, to]) => unquoted(text.slice(from, to), text.slice(text.lastIndexOf("\n", from - 1) + 1, from)));
  let kept = "";
  let done = 0;
  for (const [i, [from, to]] of spans.entries()) {
    kept += `${text.slice(done, from)}${opens}${i}${closes}`;
    done = to;
  }
  const known = (/** @type {string} */ source) => (source.includes(opens) ? `with formulas\n${source.replace(sign, (_, i) => shown[i])}` : source);
  return { text: kept + text.slice(done), known, fill: (node) => fill(node, shown, false) };
}

// formulas finds the formulas that are not in code, from where to where. None has an empty line.
/**
 * @param {string} text
 * @returns {[from: number, to: number][]}
 */
export function formulas(text) {
  /** @type {[number, number][]} */
  const found = [];
  let from = 0; // of the paragraph
  let at = 0;
  let code = "";
  for (const line of text.split("\n")) {
    const mark = fence.exec(line);
    const closing = code && mark && mark[1].startsWith(code) && !mark[2].trim();
    if (code || mark || /^[ \t>]*$/.test(line)) {
      find(text, from, at, found);
      from = at + line.length + 1;
    }
    if (closing) code = "";
    else if (!code && mark) code = mark[1];
    at += line.length + 1;
  }
  find(text, from, text.length, found);
  return found;
}

// find adds the formulas of a paragraph to found.
/**
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @param {[number, number][]} found
 */
function find(text, from, to, found) {
  const missing = new Set(); // what does not end in the rest of the paragraph
  const begin = /[`\\$]/g;
  for (let at = from; at < to; ) {
    begin.lastIndex = at;
    at = begin.exec(text)?.index ?? to;
    if (at >= to) return;
    const rest = text.slice(at, to);
    const open = opener(rest);
    const end = closers[open] ?? `\\end${open.slice("\\begin".length)}`;
    if (rest[0] === "`") at += codeLength(rest, missing);
    else if (!open) at += 2; // an escape
    else if (missing.has(open)) at += open.length;
    else {
      const length = inside(rest.slice(open.length), end);
      const whole = open.length + length + end.length;
      if (length < 0 && open !== "$") missing.add(open); // a $ may be closed in a later line
      const is = length >= 0 && isFormula(open, rest.slice(open.length, open.length + length), rest[whole]);
      if (is) found.push([at, at + whole]);
      at += is ? whole : open.length;
    }
  }
}

// opener is what begins a formula at the start of a text, or "".
/** @param {string} text */
const opener = (text) => environment.exec(text)?.[0] ?? Object.keys(closers).find((open) => text.startsWith(open)) ?? "";

// inside counts what comes before end, -1 without one. A $ ends within its line.
/**
 * @param {string} text
 * @param {string} end
 */
function inside(text, end) {
  for (let i = 0; i < text.length; i++) {
    if (text.startsWith(end, i)) return i;
    if (text[i] === "\\") i++;
    else if (text[i] === "\n" && end === "$") return -1;
  }
  return -1;
}

// codeLength is how long the code is that begins a text, or its backquotes if nothing closes them.
/**
 * @param {string} text
 * @param {Set<string>} missing
 */
function codeLength(text, missing) {
  const [mark] = /^`+/.exec(text) ?? ["`"];
  if (missing.has(mark)) return mark.length;
  for (const run of text.slice(mark.length).matchAll(/`+/g)) {
    if (run[0] === mark) return 2 * mark.length + run.index;
  }
  missing.add(mark);
  return mark.length;
}

// isFormula tells formulas from escaped brackets (\[sic\]) and from amounts of money.
/**
 * @param {string} open
 * @param {string} body
 * @param {string | undefined} after what follows it
 */
function isFormula(open, body, after) {
  if (!body.trim()) return false;
  if (open === "\\[") return /[\\^_={}+<>*/|]/.test(body) || body.trimStart() !== body;
  if (open === "$") return body.trim() === body && !/\d/.test(after ?? "") && /[\\^_{]/.test(body);
  return true;
}

// unquoted is a formula without the marks of the quote or list that its lines are in.
// before stands in front of its first line.
/**
 * @param {string} formula
 * @param {string} before
 */
function unquoted(formula, before) {
  const marks = before.trimStart().startsWith(">") ? " \t>" : " \t";
  return formula.split("\n").map((line, i) => {
    let n = 0;
    while (i > 0 && n < Math.min(before.length, line.length) && marks.includes(line[n])) n++;
    return line.slice(n);
  }).join("\n");
}

// fill puts formulas in place of their signs. In code and in addresses they are text.
/**
 * @param {any} node
 * @param {string[]} shown
 * @param {boolean} code
 */
function fill(node, shown, code) {
  const restored = (/** @type {string} */ text, pattern = sign) => text.replace(pattern, (_, i) => shown[i]);
  if (node.tagName === "A" && /%EF%B7%90/.test(node.href)) {
    node.href = restored(node.href, inAddress);
    node.title = node.href;
  }
  const within = code || node.tagName === "CODE" || node.className === "bar";
  const parts = [...node.childNodes].flatMap((child) => {
    if (child.tagName !== undefined) {
      fill(child, shown, within);
      return [child];
    }
    if (!child.textContent.includes(opens)) return [child];
    return within ? [restored(child.textContent)] : child.textContent.split(sign).map((/** @type {string} */ part, /** @type {number} */ i) => (i % 2 ? formula(shown[Number(part)]) : part));
  });
  if (parts.some((part, i) => part !== node.childNodes[i])) node.replaceChildren(...parts.filter((part) => part !== ""));
}

// formula is a formula as it was written, until rich.js sets it.
/** @param {string} source */
const formula = (source) => element("span", { className: source.startsWith("$$") || /^\\[[b]/.test(source) ? "formula display" : "formula" }, source);
