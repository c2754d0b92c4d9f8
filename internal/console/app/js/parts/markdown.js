import { html, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { copyText } from "../clipboard.js";
import { Rendered } from "../markdown.js";
import { t } from "../text.js";
import { speakUp } from "./toast.js";

const mayHaveFormula = /\$|\\[([b]/;
/** @type {typeof import("../formula.js").keepFormulas | undefined} */
let keepFormulas;

// Markdown shows text. It is built from nodes and never from markup. While text grows, only
// the last block is drawn again, at most once a frame.
/** @param {{text: string, growing?: boolean}} props */
export function Markdown({ text, growing }) {
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const rendered = useRef(/** @type {Rendered | undefined} */ (undefined));
  const frame = useRef(0);
  const latest = useRef({ text, growing });
  latest.current = { text, growing };
  useLayoutEffect(() => {
    if (!root.current) return;
    rendered.current ??= new Rendered(root.current);
    cancelAnimationFrame(frame.current);
    const draw = () => {
      const box = root.current;
      if (!box) return;
      const now = latest.current;
      const formulas = mayHaveFormula.test(now.text);
      rendered.current?.update(now.text, formulas ? keepFormulas : undefined);
      name(box);
      if (box.querySelector(".block, .formula")) import("../rich.js").then((rich) => rich.enrich(box, Boolean(now.growing)), () => {}); // without a network it stays plain
      if (!formulas || keepFormulas) return;
      import("../formula.js").then((m) => {
        keepFormulas = m.keepFormulas;
        draw();
      }, () => {});
    };
    if (growing) frame.current = requestAnimationFrame(draw);
    else draw();
  }, [text, growing]);
  return html`<div class=${growing ? "answer growing" : "answer"} ref=${root} onClick=${copy} />`;
}

// name gives what was drawn its role and its words.
/** @param {HTMLElement} root */
function name(root) {
  for (const box of root.querySelectorAll("pre:not([role]), .table:not([role])")) {
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", box.tagName === "PRE" ? t("Code") : t("Table"));
    const button = box.previousElementSibling?.querySelector(".copy");
    if (button) button.textContent = t("Copy");
  }
}

/** @param {MouseEvent} event */
async function copy(event) {
  const button = /** @type {Element} */ (event.target).closest?.(".copy");
  const code = button?.closest(".block")?.querySelector("code");
  if (!button || !code) return;
  button.textContent = (await copyText(code.textContent ?? "")) ? t("Copied") : t("Press Ctrl+C");
  speakUp(button.textContent);
  setTimeout(() => { button.textContent = t("Copy"); }, 1500);
}
