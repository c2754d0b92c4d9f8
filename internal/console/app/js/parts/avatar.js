import { html } from "../../vendor/preact.js";
import { Icon } from "./icon.js";

/** @type {Record<string, [icon: string, name: string]>} */
const networks = {
  web: ["globe", "This console"], telegram: ["send", "Telegram"], whatsapp: ["phone", "WhatsApp"],
  irc: ["hash", "IRC"], cli: ["terminal", "Terminal"], heartbeat: ["clock", "Job"],
};

// network is a network's icon and its name, a sentence for t.
/** @param {string | undefined} type */
export const network = (type) => networks[type ?? ""] ?? ["message-circle", type ?? ""];

// Avatar is the first letter of a name, with the network in its corner. It is decoration:
// the name stands beside it.
/** @param {{name: string, net?: string, small?: boolean}} props */
export function Avatar({ name, net, small }) {
  const letter = [...name.replace(/^[^\p{L}\p{N}]+/u, "")][0]?.toUpperCase() ?? "";
  return html`<span class=${small ? "avatar small" : "avatar"} aria-hidden="true">${letter}${net && html`<span class="net"><${Icon} name=${network(net)[0]} /></span>`}</span>`;
}
