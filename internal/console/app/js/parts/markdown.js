import { html, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { copyText } from "../clipboard.js";
import { Rendered } from "../markdown.js";
import { t } from "../text.js";

// Markdown shows text. It is built from nodes and never from markup. While text grows, only
// the last block is drawn again, at most once a frame.
/** @param {{text: string, growing?: boolean}} props */
export function Markdown({ text, growing }) {
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const rendered = useRef(/** @type {Rendered | undefined} */ (undefined));
  const frame = useRef(0);
  useLayoutEffect(() => {
    if (!root.current) return;
    rendered.current ??= new Rendered(root.current);
    cancelAnimationFrame(frame.current);
    const draw = () => {
      rendered.current?.update(text);
      if (root.current) name(root.current);
    };
    if (growing) frame.current = requestAnimationFrame(draw);
    else draw();
  }, [text, growing]);
  return html`<div class=${growing ? "answer growing" : "answer"} ref=${root} onClick=${copy} />`;
}

// name gives the boxes that scroll by themselves a role and a name.
/** @param {HTMLElement} root */
function name(root) {
  for (const box of root.querySelectorAll("pre:not([role]), .table:not([role])")) {
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", box.tagName === "PRE" ? t("Code") : t("Table"));
  }
}

/** @param {MouseEvent} event */
async function copy(event) {
  const button = /** @type {Element} */ (event.target).closest?.(".copy");
  const code = button?.closest(".block")?.querySelector("code");
  if (!button || !code) return;
  button.textContent = (await copyText(code.textContent ?? "")) ? t("Copied") : t("Press Ctrl+C");
  setTimeout(() => { button.textContent = t("Copy"); }, 1500);
}
