// The lightbox: one picture of a conversation, as large as the screen, and the way to the
// others. Arrows lead to them, Escape leads back to where the reader was.

import { html, render, useEffect, useRef, useState } from "../../vendor/preact.js";
import { heldFile } from "../blobs.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { styled } from "../styled.js";
import { t } from "../text.js";

// lightbox shows the picture of a button, and those of the others in its conversation.
/** @param {HTMLElement} from */
export async function lightbox(from) {
  await styled("media");
  const all = /** @type {HTMLElement[]} */ ([...(from.closest(".scroll") ?? document).querySelectorAll(".shows")]);
  const host = document.createElement("div");
  document.body.append(host);
  const close = () => {
    render(null, host);
    host.remove();
    from.focus();
  };
  render(html`<${Lightbox} all=${all.map((button) => button.dataset)} first=${all.indexOf(from)} close=${close} />`, host);
}

/** @param {{all: DOMStringMap[], first: number, close: () => void}} props */
function Lightbox({ all, first, close }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [at, go] = useState(first);
  const [shown, show] = useState({ at: -1, url: "", failed: false });
  const { address = "", type, name = "" } = all[at];
  useEffect(() => {
    box.current?.showModal();
    box.current?.querySelector("button")?.focus();
  }, []);
  useEffect(() => {
    let over = false;
    heldFile(address, type).then(({ url }) => over || show({ at, url, failed: false }), () => over || show({ at, url: "", failed: true }));
    return () => { over = true; };
  }, [at]);
  const step = (/** @type {number} */ by) => go((/** @type {number} */ now) => Math.max(0, Math.min(all.length - 1, now + by)));
  const press = (/** @type {KeyboardEvent} */ event) => {
    const rtl = document.documentElement.dir === "rtl" ? -1 : 1;
    const by = /** @type {Record<string, number>} */ ({ ArrowRight: rtl, ArrowLeft: -rtl, Home: -all.length, End: all.length })[event.key];
    if (by) step(by);
    event.stopPropagation(); // no key of the page below
  };
  const outside = (/** @type {MouseEvent} */ event) => { if (/** @type {Element} */ (event.target).matches("dialog, figure")) box.current?.close(); };
  const here = shown.at === at;
  return html`<dialog class="lightbox" ref=${box} aria-label=${t("Picture")} onClose=${close} onKeyDown=${press} onClick=${outside}>
    <header><p class="grow cut" dir="auto">${name}</p>${all.length > 1 && html`<span class="num" role="status">${t("{0} of {1}", at + 1, all.length)}</span>`}
      <a class="button quiet icononly" href=${here ? shown.url : address} download=${name} aria-label=${t("Save")} title=${t("Save")}><${Icon} name="download" small /></a>
      <${Button} icon="x" kind="quiet" label=${t("Close")} onClick=${() => box.current?.close()} /></header>
    <figure>${here && shown.url && html`<img src=${shown.url} alt=${name} />`}${here && shown.failed && html`<p role="alert">${t("This picture could not be loaded.")}</p>`}${!here && html`<p class="dots" role="status" aria-label=${t("Loading")}><i /><i /><i /></p>`}</figure>
    ${all.length > 1 && html`<${Button} icon="chevron-left" flip kind="round before" label=${t("Picture before")} disabled=${at === 0} onClick=${() => step(-1)} />
      <${Button} icon="chevron-right" flip kind="round after" label=${t("Next picture")} disabled=${at === all.length - 1} onClick=${() => step(1)} />`}
  </dialog>`;
}
