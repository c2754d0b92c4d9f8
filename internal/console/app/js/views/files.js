// The files of a message: pictures and sound as what they are, other files as links.

import { html } from "../../vendor/preact.js";
import { path, url } from "../api.js";
import { Icon } from "../parts/icon.js";
import { Lazily } from "../parts/lazily.js";
import { size, t } from "../text.js";

const pictures = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const picture = () => import("./picture.js").then((m) => m.Picture);
const voice = () => import("./voice.js").then((m) => m.Voice);

/** @param {{of: import("../types.js").Attachment[], talkKey: string, seq?: number}} props */
export const Files = ({ of, talkKey, seq }) => html`<div class="files">
  ${of.map((file, n) => {
    if (!file.file || !seq) return html`<${File} of=${file} />`;
    const address = url(path`conversations/${talkKey}/messages/${seq}/files/${n}`).href;
    const plain = html`<${File} of=${file} address=${address} />`;
    const load = pictures.includes(file.type ?? "") ? picture : file.type?.startsWith("audio/") ? voice : undefined;
    return load ? html`<${Lazily} load=${load} props=${{ of: file, address, plain }} meanwhile=${plain} />` : plain;
  })}
</div>`;

/** @param {{of: import("../types.js").Attachment, address?: string}} props */
function File({ of: file, address }) {
  const words = html`<${Icon} name="file-text" /><span class="cut">${file.name || t("File")}<small>${file.missing ?? (file.bytes ? size(file.bytes) : "")}</small></span>`;
  return address ? html`<a class="file" href=${address} download=${file.name || "file"}>${words}</a>` : html`<span class="file">${words}</span>`;
}
