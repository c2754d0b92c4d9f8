import { html, useEffect, useRef } from "../../vendor/preact.js";
import { t } from "../text.js";
import { Button } from "./button.js";

// Dialog is the browser's own: it keeps the focus inside and closes with Escape. That is
// its event cancel; the event close comes late, when it may be open again.
/** @param {{title: string, open: boolean, close: () => void, children?: any}} props */
export function Dialog({ title, open, close, children }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    if (open) box.current?.showModal();
    else box.current?.close();
  }, [open]);
  return html`<dialog class="dialog" ref=${box} onCancel=${close} aria-label=${title}>
    <header><h2>${title}</h2><${Button} icon="x" kind="quiet" label=${t("Close")} onClick=${close} /></header>
    ${open && children}
  </dialog>`;
}
