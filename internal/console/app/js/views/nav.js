// The navigation: a bar below on phones, a rail on tablets, a list on desktops.

import { html, useRef, useState } from "../../vendor/preact.js";
import { leaves } from "../api.js";
import { keep } from "../kept.js";
import { Button } from "../parts/button.js";
import { Count } from "../parts/count.js";
import { Icon } from "../parts/icon.js";
import { Dialog } from "../parts/dialog.js";
import { toast } from "../parts/toast.js";
import { mine } from "../places.js";
import { useStore } from "../store.js";
import { t } from "../text.js";

const mark = new URL("../../mark.svg", import.meta.url).pathname;

// waitsFor is how many things wait that were not put off.
/** @param {import("../types.js").Waiting} [w] */
export const waitsFor = (w) => (w ? w.items.filter((i) => !w.later.includes(i.id)).length : 0);

// useUnread is how many conversations have something new. While the list shows what a search
// or another filter found, the number is the one from before.
export function useUnread() {
  const last = useRef(0);
  const unread = useStore((s) => (s.list.words || s.list.loading || !["All", "Unread"].includes(s.list.of) ? undefined : s.list.rows.filter((c) => c.own && c.unread).length));
  last.current = unread ?? last.current;
  return last.current;
}

/** @param {{current: string, keys: () => void}} props */
export function Nav({ current, keys }) {
  const unread = useUnread();
  const waiting = useStore((s) => waitsFor(s.waiting));
  const me = useStore((s) => s.me);
  const [more, showMore] = useState(false);
  const session = me?.token && me.token !== "http.identities"; // a proxy's login ends at the proxy
  const leave = (/** @type {string} */ classes) => session && html`<form class="rest" method="post" action="/logout" onSubmit=${leaves}><button class=${classes}><${Icon} name="log-out" small=${classes !== "tab"} /><span>${t("Log out")}</span></button></form>`;
  const rest = mine(me).filter((p) => !p.phone);
  return html`<nav class="nav" aria-label=${t("Main")}>
    <a class="brand" href="/talk" tabindex="-1" aria-hidden="true"><img src=${mark} alt="" /><span>Dragoman</span></a>
    ${mine(me).map((p, i, all) => html`${p.scope !== "chat" && all[i - 1].scope === "chat" && html`<span class="group">${t("Operate")}</span>`}<a class=${p.phone ? "" : "rest"} href=${`/${p.view}`} aria-current=${current === p.view ? "page" : null}><${Icon} name=${p.icon} /><span>${t(p.title)}</span><${Count} of=${p.view === "talk" ? unread : p.view === "you" ? waiting : 0} warn=${p.view === "you"} label=${p.view === "you" ? t("waiting") : t("unread")} /></a>`)}
    <button type="button" class="tab more" aria-haspopup="dialog" onClick=${() => showMore(true)}><${Icon} name="menu" /><span>${t("More")}</span></button>
    <div class="foot">
      <button type="button" class="tab" onClick=${switchTheme}><${Icon} name="sun-moon" /><span>${t("Theme")}</span></button>
      <button type="button" class="tab" onClick=${keys}><${Icon} name="keyboard" /><span>${t("Keys")}</span></button>
      ${leave("tab")}
    </div>
    <${Dialog} title=${t("More")} open=${more} close=${() => showMore(false)}><ul class="stack" onClick=${() => showMore(false)}>
      ${rest.map((p) => html`<li><a class="button quiet" href=${`/${p.view}`}><${Icon} name=${p.icon} small />${t(p.title)}</a></li>`)}
      <li><${Button} icon="sun-moon" kind="quiet" onClick=${switchTheme}>${t("Theme")}<//></li>
      <li>${leave("button quiet")}</li>
    </ul><//>
  </nav>`;
}

// switchTheme goes from the system's theme to the other one, then to the one that the system
// has now, and then back to whatever the system has. It keeps that.
export function switchTheme() {
  const { dataset } = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const other = system === "dark" ? "light" : "dark";
  if (!dataset.theme) dataset.theme = other;
  else if (dataset.theme === other) dataset.theme = system;
  else delete dataset.theme;
  keep("theme", dataset.theme);
  toast(dataset.theme === "dark" ? t("Dark") : dataset.theme ? t("Light") : t("As the system"));
}
