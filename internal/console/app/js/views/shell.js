// The frame: what is drawn where, the line that says that nothing can be reached, keys.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { useKeys } from "../keys.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { Lazily } from "../parts/lazily.js";
import { Toasts } from "../parts/toast.js";
import { useRoute } from "../router.js";
import { useStore } from "../store.js";
import { styled } from "../styled.js";
import { t } from "../text.js";
import { Lazy } from "./lazy.js";
import { Nav, useUnread, waitsFor } from "./nav.js";

const commands = () => Promise.all([import("./commands.js"), styled("find")]).then(([module]) => module.Commands);
const sheet = () => import("./keysheet.js").then((module) => module.Keys);

export function Shell() {
  const route = useRoute();
  const online = useStore((s) => s.online);
  const [keys, showKeys] = useState(false);
  const [menu, showMenu] = useState(false);
  useKeys(() => showKeys(true), () => showMenu(true));
  const news = useUnread() + useStore((s) => waitsFor(s.waiting));
  useEffect(() => { document.title = news ? `(${news}) Dragoman` : "Dragoman"; }, [news]);
  useEffect(() => {
    if (document.activeElement === document.body || !document.activeElement) focusMain();
  }, [route.view, route.key, route.details]);
  return html`<div class=${route.view === "talk" && route.key ? "shell inchat" : "shell"}>
    <a class="skip" href="#main" onClick=${skip}>${t("Skip to the content")}</a>
    <div class="page">
      ${online ? html`<span />` : html`<p class="offline" role="status"><${Icon} name="wifi-off" small />${t("No connection to Dragoman. What you write is kept here and sent later.")}</p>`}
      <${Lazy} route=${route} />
    </div>
    <${Nav} current=${route.view} keys=${() => showKeys(true)} />
    <${Toasts} />
    <${Dialog} title=${t("Keys")} open=${keys} close=${() => showKeys(false)}><${Lazily} load=${sheet} props=${{}} /><//>
    <${Dialog} title=${t("Commands")} open=${menu} close=${() => showMenu(false)}><${Lazily} load=${commands} props=${{ close: () => showMenu(false), keys: () => showKeys(true) }} /><//>
  </div>`;
}

const focusMain = () => document.getElementById("main")?.focus({ preventScroll: true });

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  focusMain();
}
