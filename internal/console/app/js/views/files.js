// The files of a message: pictures as pictures, other files as links.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { fetched, path, url } from "../api.js";
import { Icon } from "../parts/icon.js";
import { size, t } from "../text.js";

const shown = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** @param {{of: import("../types.js").Attachment[], talkKey: string, seq?: number}} props */
export const Files = ({ of, talkKey, seq }) => html`<div class="files">
  ${of.map((file, n) => {
    if (!file.file || !seq) return html`<${File} of=${file} />`;
    const Shown = shown.includes(file.type ?? "") ? Picture : file.type?.startsWith("audio/") ? Sound : undefined;
    return Shown ? html`<${Shown} of=${file} address=${address(talkKey, seq, n)} />` : html`<${File} of=${file} address=${address(talkKey, seq, n).href} />`;
  })}
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

/** @param {{of: import("../types.js").Attachment, address: URL}} props */
function Picture({ of: file, address }) {
  const { source, failed, setFailed } = useFile(file, address);
  if (failed) return html`<${File} of=${file} address=${address.href} />`;
  if (!source) return html`<div class="picture bone" role="status" aria-label=${t("Loading")} />`;
  return html`<a href=${source} target="_blank" rel="noopener"><img class="picture" src=${source} alt=${file.name || t("Picture")} onError=${() => setFailed(true)} /></a>`;
}

/** @param {{of: import("../types.js").Attachment, address: URL}} props */
function Sound({ of: file, address }) {
  const { source, failed } = useFile(file, address);
  if (failed || !source) return html`<${File} of=${file} address=${address.href} />`;
  return html`<audio class="sound" controls src=${source} aria-label=${file.name || t("Voice message")} />`;
}

// useFile fetches a file, because the server sends each as one to save.
/**
 * @param {import("../types.js").Attachment} file
 * @param {URL} address
 */
function useFile(file, address) {
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
  return { source, failed, setFailed };
}
