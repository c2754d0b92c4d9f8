// A picture that came with a message. It is fetched when it comes into sight, and shown
// large when it is pressed.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { heldFile } from "../blobs.js";
import { useInSight } from "../sight.js";
import { styled } from "../styled.js";
import { t } from "../text.js";

/** @param {{of: import("../types.js").Attachment, address: string, plain: any}} props */
export function Picture({ of: file, address, plain }) {
  const box = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const seen = useInSight(box);
  const [source, setSource] = useState("");
  const [failed, fail] = useState(false);
  useEffect(() => { styled("media"); }, []);
  useEffect(() => {
    if (seen) heldFile(address, file.type).then((held) => setSource(held.url), () => fail(true));
  }, [seen, address]);
  if (failed) return plain;
  const name = file.name || t("Picture");
  const open = () => import("./lightbox.js").then((m) => box.current && m.lightbox(box.current), () => {});
  return html`<button type="button" class="shows" ref=${box} title=${t("Show it large")} data-address=${address} data-type=${file.type} data-name=${name} onClick=${open}>
    ${source ? html`<img class="picture" src=${source} alt=${name} onError=${() => fail(true)} />` : html`<span class="picture bone" role="img" aria-label=${name} />`}</button>`;
}
