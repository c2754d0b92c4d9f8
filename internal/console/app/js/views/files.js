// The files of a message: pictures as pictures, other files as links.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { fetched, path, url } from "../api.js";
import { Icon } from "../parts/icon.js";
import { size, t } from "../text.js";

const shown = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** @param {{of: import("../types.js").Attachment[], talkKey: string, seq?: number}} props */
export const Files = ({ of, talkKey, seq }) => html`<div class="files">
  ${of.map((file, n) => (file.file && seq && shown.includes(file.type ?? "") ? html`<${Picture} of=${file} address=${address(talkKey, seq, n)} />` : html`<${File} of=${file} address=${seq && file.file ? address(talkKey, seq, n).href : undefined} />`))}
</div>`;

/**
 * @param {string} key
 * @param {number} seq
 * @param {number} n
 */
const address = (key, seq, n) => url(path`conversations/${key}/messages/${seq}/files/${n}`);

/** @param {{of: import("../types.js").Attachment, address?: string}} props */
function File({ of: file, address }) {
  const words = html`<${Icon} name="file-text" /><span class="cut">${file.name || t("File")}<small>${file.missing ?? (file.bytes ? size(file.bytes) : "")}</small></span>`;
  return address ? html`<a class="file" href=${address} download=${file.name || "file"}>${words}</a>` : html`<span class="file">${words}</span>`;
}

// Picture fetches a picture, because the server sends every file as one to save.
/** @param {{of: import("../types.js").Attachment, address: URL}} props */
function Picture({ of: file, address }) {
  const [source, setSource] = useState("");
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let made = "";
    fetched(address).then((answer) => answer.blob()).then((blob) => {
      made = URL.createObjectURL(new Blob([blob], { type: file.type }));
      setSource(made);
    }, () => setFailed(true));
    return () => URL.revokeObjectURL(made);
  }, [address.href]);
  if (failed) return html`<${File} of=${file} address=${address.href} />`;
  if (!source) return html`<div class="picture bone" role="status" aria-label=${t("Loading")} />`;
  return html`<a href=${source} target="_blank" rel="noopener"><img class="picture" src=${source} alt=${file.name || t("Picture")} onError=${() => setFailed(true)} /></a>`;
}
