// Colours of code. The library's tree of words becomes nodes here, because markup cannot.

import library, { named, within } from "../vendor/highlight.js";
import { element } from "./element.js";

const longest = 50_000; // characters; more would stop the page for a moment

// coloured is code as nodes with the classes of their kinds, or undefined if the language is
// not known. Each language is a file of its own, loaded for the first code in it.
/**
 * @param {string} code
 * @param {string} language
 * @returns {Promise<(Node | string)[] | undefined>}
 */
export async function coloured(code, language) {
  const called = language.toLowerCase();
  const name = Object.hasOwn(named, called) ? named[called] : undefined;
  if (code.length > longest || !name) return undefined;
  await learn(name);
  return library.highlight(code, { language: name, ignoreIllegals: true })._emitter.rootNode.children.map(node);
}

// learn teaches the library a language and those inside it.
/** @param {string} name */
async function learn(name) {
  if (library.getLanguage(name)) return;
  await Promise.all((within[name] ?? []).map(learn));
  const { default: language } = await import(`../vendor/languages/${name}.js`);
  library.registerLanguage(name, language);
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
