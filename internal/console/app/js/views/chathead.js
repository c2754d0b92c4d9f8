// The head of a conversation: who, where, and what can be done with it as a whole.

import { html } from "../../vendor/preact.js";
import { pin } from "../list.js";
import { url } from "../api.js";
import { Avatar, network } from "../parts/avatar.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { toast, trouble } from "../parts/toast.js";
import { go, talkPath } from "../router.js";
import { beginAnew, isClosed } from "../talk.js";
import { t } from "../text.js";
import { titleOf } from "./row.js";

/** @param {{of: import("../types.js").Conversation, growing: boolean, details: boolean}} props */
export function ChatHead({ of: c, growing, details }) {
  const name = titleOf(c);
  const about = [t(network(c.network)[1]), c.group && t("group"), growing && t("is answering")].filter(Boolean).join(" · ");
  const items = [
    { icon: "search", text: t("Search in it"), act: () => import("../find.js").then((m) => m.openFind(c.key)) },
    { icon: "pin", text: c.pinned ? t("Unpin") : t("Pin"), act: () => pin(c.key, !c.pinned).catch(trouble) },
    { icon: "pencil", text: t("Rename"), act: () => import("../actions.js").then((m) => m.rename(c.key)) },
    c.own && { icon: "bell", text: t("Mark as unread"), act: () => import("../actions.js").then((m) => m.leaveUnread(c.key)) },
    { icon: "undo-2", text: t("Start anew"), extra: "/new", act: () => beginAnew(c.key).then(() => toast(t("A new start. What was said before is kept.")), trouble) },
    { icon: "download", text: t("Export"), act: () => location.assign(exportURL(c.key)) },
    { icon: "eraser", text: t("Erase …"), danger: true, act: () => go(talkPath(c.key, "details")) },
  ];
  return html`<header>
    <a class="button quiet icononly back" href="/talk" aria-label=${t("Back to the list")}><${Icon} name="arrow-left" small flip /></a>
    <${Avatar} name=${name} net=${c.network} small />
    <div class="grow"><h1 class="cut"><bdi>${name}</bdi></h1><p class="meta"><span class="cut">${about}</span></p></div>
    <a class="button quiet icononly" href=${talkPath(c.key, details ? "" : "details")} data-key="d" aria-label=${t("Details")} title=${`${t("Details")} (D)`} aria-expanded=${String(details)} role="button"><${Icon} name="panel-right" small flip /></a>
    ${!isClosed(c) && html`<${Menu} label=${t("Conversation")} items=${items} button=${(/** @type {any} */ open) => html`<${Button} icon="ellipsis" kind="quiet" label=${t("More")} onClick=${open} />`} />`}
  </header>`;
}

/** @param {string} key */
export const exportURL = (key) => url("export", { key, format: "markdown" }).href;
