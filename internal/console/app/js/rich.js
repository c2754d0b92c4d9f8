// What an answer gets beside its words when they come into sight: colours of code, and
// formulas. The libraries for it are loaded for the first one that is seen.

import { styled } from "./styled.js";
import { t } from "./text.js";

const ahead = "400px"; // so far outside the sight it begins
const marked = new WeakSet();
/** @type {typeof import("./maths.js") | undefined} */
let maths;

const inSight = new IntersectionObserver((/** @type {IntersectionObserverEntry[]} */ seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting) continue;
    inSight.unobserve(target);
    (target.className === "block" ? colour : set)(target).catch(() => marked.delete(target)); // without a network it stays plain, until it is drawn again
  }
}, /** @type {IntersectionObserverInit} */ ({ rootMargin: ahead, scrollMargin: ahead }));

// enrich looks after the code and the formulas in an answer. Of a growing one it leaves the
// last block, unless that can be done at once.
/**
 * @param {Element} root
 * @param {boolean} growing
 */
export async function enrich(root, growing) {
  await styled("rich");
  for (const box of root.querySelectorAll(".block, .formula")) {
    if (marked.has(box)) continue;
    const formula = box.className !== "block";
    if (growing && !formula && root.lastElementChild?.contains(box)) continue;
    marked.add(box);
    if (formula && maths) set(box);
    else inSight.observe(box);
  }
}

/** @param {Element} block */
async function colour(block) {
  const language = block.querySelector(".bar span")?.textContent ?? "";
  const code = block.querySelector("code");
  if (!code || language === "text") return;
  const { coloured } = await import("./colours.js");
  const nodes = await coloured(code.textContent ?? "", language);
  if (nodes) code.replaceChildren(...nodes);
}

// set shows a formula. A wrong one stays as it was written.
/** @param {Element} formula */
async function set(formula) {
  maths ??= await import("./maths.js");
  const source = formula.textContent ?? "";
  const node = maths.formulaNode(source);
  formula.classList.add(node ? "set" : "wrong");
  formula.setAttribute("title", source);
  if (node) formula.replaceChildren(node);
  if (!formula.classList.contains("display")) return;
  formula.setAttribute("tabindex", "0");
  formula.setAttribute("role", "group");
  formula.setAttribute("aria-label", t("Formula"));
}
