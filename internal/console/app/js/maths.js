// Formulas as MathML, made by Temml. Nothing in a formula can load or lead anywhere: the
// library trusts no formula unless it is told to.

import temml from "../vendor/temml.js";

const longest = 5000; // characters
const limits = { throwOnError: true, maxExpand: 500, maxSize: /** @type {[number, number]} */ ([20, 20]) };

// formulaNode makes a formula of its source with delimiters, or returns undefined if it is
// wrong.
/** @param {string} source */
export function formulaNode(source) {
  if (source.length > longest) return undefined;
  const displayMode = source.startsWith("$$") || /^\\[[b]/.test(source);
  const ends = source.startsWith("\\begin") ? 0 : /^\$(?!\$)/.test(source) ? 1 : 2; // characters of its delimiters
  try {
    const tree = temml.__renderToMathMLTree(source.slice(ends, source.length - ends), { displayMode, ...limits });
    dropStyles(tree);
    return tree.toNode();
  } catch {
    return undefined;
  }
}

// dropStyles takes out style attributes, which the page's policy does not allow. Two rare
// commands set one, for looks.
/** @param {import("../vendor/temml.js").Part} part */
function dropStyles(part) {
  if (part.attributes) delete part.attributes.style;
  part.children?.forEach(dropStyles);
}
