// The files of the next message, with how far they are, and a way to take each out again.

import { html } from "../../vendor/preact.js";
import { detach } from "../attach.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { size, t } from "../text.js";

/** @param {{of: import("../types.js").Attached[], talkKey: string}} props */
export const Attached = ({ of, talkKey }) => of.length > 0 && html`<ul class="attached" aria-label=${t("Files of the next message")}>
  ${of.map((f) => html`<li key=${f.id} class="file"><${Icon} name=${f.ref || f.problem ? "file-text" : "loader-circle"} small spin=${!f.ref && !f.problem} />
    <span class="cut">${f.name}<small class=${f.problem ? "bad" : ""}>${f.problem ?? (f.ref ? size(f.bytes) : t("Uploading"))}</small></span>
    <${Button} icon="x" kind="quiet" label=${t("Remove {0}", f.name)} onClick=${() => detach(talkKey, f.id)} /></li>`)}
</ul>`;
