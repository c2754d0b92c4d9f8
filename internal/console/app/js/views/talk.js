// Talk: all conversations in one list, one of them open, its details beside it.

import { html, useEffect } from "../../vendor/preact.js";
import { kept } from "../kept.js";
import { loadList } from "../list.js";
import { Empty } from "../parts/empty.js";
import { Lazily } from "../parts/lazily.js";
import { useStore } from "../store.js";
import { may } from "../talk.js";
import { styled } from "../styled.js";
import { t } from "../text.js";
import { Chat } from "./chat.js";
import { List } from "./list.js";

const hello = () => import("./hello.js").then((m) => m.Hello);
const first = () => import("./first.js").then((module) => module.found());
const details = () => Promise.all([import("./details.js"), styled("details")]).then(([module]) => module.Details);

/** @param {{route: import("../router.js").Route}} props */
export function Talk({ route }) {
  useEffect(() => { loadList(); }, []);
  const nobody = useStore((s) => s.list.loaded && !s.list.problem && !s.list.rows.length && !s.list.words && s.list.of === "All" && !s.skipped && s.me !== undefined);
  if (nobody && !route.key && may("read") && !kept("first")) return html`<${Lazily} load=${first} props=${{}} meanwhile=${html`<main class="view" id="main" tabindex="-1" aria-busy="true" />`} />`;
  const classes = ["talk", route.key && "open", route.details && "withdetails"].filter(Boolean).join(" ");
  const alone = route.details && matchMedia("(max-width: 79.99rem)").matches; // then the details take the place of the conversation
  return html`<div class=${classes}>
    <${List} current=${route.key} />
    ${!route.key ? html`<${Nothing} />` : route.key === "new" ? html`<${Lazily} load=${hello} props=${{}} meanwhile=${html`<main class="chat" id="main" tabindex="-1" aria-busy="true" />`} />` : html`<${Chat} key=${route.key} of=${route.key} at=${route.at} details=${route.details} hidden=${alone} />`}
    ${route.details && route.key && html`<${Lazily} key=${route.key} load=${details} props=${{ of: route.key, alone }} meanwhile=${html`<aside class="details" aria-label=${t("Details")} />`} />`}
  </div>`;
}

const Nothing = () => html`<section class="chat" aria-label=${t("Conversation")}><div class="scroll">
  <${Empty} icon="message-circle" title=${t("No conversation is open")}>${t("Choose one from the list, or start a new one.")}<//>
</div></section>`;
