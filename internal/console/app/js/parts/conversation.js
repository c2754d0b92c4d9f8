import { html } from "../../vendor/preact.js";
import { talkPath } from "../router.js";
import { useStore } from "../store.js";
import { t } from "../text.js";
import { titleOf } from "../views/row.js";
import { isGroup, nameOf } from "../views/whose.js";
import { network } from "./avatar.js";
import { Icon } from "./icon.js";

// Conversation names one by its network's icon and its title, if the page knows that, else by
// its key. Nobody knows a group or a room by that. link: it leads there.
/** @param {{of: string, link?: boolean}} props */
export function Conversation({ of: key, link }) {
  const known = useStore((s) => s.list.rows.find((c) => c.key === key) ?? s.list.pinned.find((c) => c.key === key));
  const names = useStore((s) => s.names);
  const [icon, name] = network(known?.network ?? key.slice(0, Math.max(0, key.indexOf(":"))));
  const title = known && (known.title || known.derived_title || known.network === "web") ? titleOf(known) : names?.[key] ?? (isGroup(key) || key.startsWith("web:") ? nameOf(key) : key);
  const shown = html`<${Icon} name=${icon} small label=${t(name)} /><span class=${title.length < 24 ? "whole" : ""} dir="auto">${title}</span>`;
  return link && key.includes(":") ? html`<a class="convo" href=${talkPath(key)} title=${key}>${shown}</a>` : html`<span class="convo" title=${key}>${shown}</span>`;
}
