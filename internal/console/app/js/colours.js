// Colours of code. The library's tree of words becomes nodes here, because markup cannot.

import library from "../vendor/highlight.js";
import { element } from "./element.js";

const longest = 50_000; // characters; more would stop the page for a moment

// coloured is code as nodes with the classes of their kinds, or undefined if the language is
// not known.
/**
 * @param {string} code
 * @param {string} language
 */
export function coloured(code, language) {
  if (code.length > longest || !library.getLanguage(language)) return undefined;
  return library.highlight(code, { language, ignoreIllegals: true })._emitter.rootNode.children.map(node);
}

/**
 * @param {import("../vendor/highlight.js").Part} part
 * @returns {Node | string}
 */
function node(part) {
  if (typeof part === "string") return part;
  const className = part.scope ? `tok-${part.scope.split(".")[0]}` : "";
  return element("span", { className }, ...part.children.map(node));
}
