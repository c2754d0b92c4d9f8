// What the assistant said in a turn, and what it did for it.

import { html } from "../../vendor/preact.js";
import { copyText } from "../clipboard.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Lazily } from "../parts/lazily.js";
import { Markdown } from "../parts/markdown.js";
import { State } from "../parts/state.js";
import { toast, trouble } from "../parts/toast.js";
import { useStore } from "../store.js";
import { again, feedback, may } from "../talk.js";
import { clock, cost, number, t, took, wholeTime } from "../text.js";
import { Files } from "./files.js";
import { Steps } from "./steps.js";

const approval = () => import("./approval.js").then((m) => m.Approval);
const mark = new URL("../../mark.svg", import.meta.url).pathname;

/** @type {Record<string, [of: string, text: string]>} */
const deliveries = {
  queued: ["busy", "Waits to be sent"], sending: ["busy", "Sending"], sent: ["good", "Sent"], unknown: ["warn", "Sent, or not"],
};

/** @param {{of: import("../turns.js").Entry, say: import("./entry.js").Say}} props */
export function Answer({ of: e, say }) {
  const live = useStore((s) => s.live[e.turn ?? ""]);
  const growing = Boolean(e.growing);
  const text = growing && live?.text ? live.from ? [e.text, `… ${live.text}`].filter(Boolean).join("\n\n") : live.text : e.text ?? "";
  const at = growing ? "" : e.at;
  return html`<article class="message" data-seq=${e.seq} aria-label=${t("Dragoman, {0}", at ? clock(at) : t("now"))}>
    <p class="who"><span class="avatar small mark" aria-hidden="true"><img src=${mark} alt="" /></span><b>Dragoman</b>${e.who && html`<span class="meta">${t("written by {0}", e.who)}</span>`}${at && html` <time class="meta" datetime=${at} title=${wholeTime(at)}>${clock(at)}</time>`}</p>
    <${Steps} of=${e.steps ?? []} live=${live} growing=${growing} />
    ${text ? html`<${Markdown} text=${text} growing=${growing} />` : growing && html`<p class="dots" role="status" aria-label=${t("is answering")}><i /><i /><i /></p>`}
    ${e.sent?.map(({ seq, files }) => html`<${Files} key=${`f${seq}`} of=${files} talkKey=${say.talkKey} seq=${seq} />`)}
    ${e.stopped !== undefined && html`<p class="meta rowline"><${Icon} name="square" small />${e.stopped === "you" ? t("You stopped it.") : t("{0} stopped it.", e.stopped)}</p>`}
    ${e.approvals?.map((a) => html`<${Lazily} key=${a.id} load=${approval} props=${{ of: a }} />`)}
    ${text && !growing && html`<${Under} of=${e} text=${text} say=${say} />`}
  </article>`;
}

/** @param {{of: import("../turns.js").Entry, text: string, say: import("./entry.js").Say}} props */
function Under({ of: e, text, say }) {
  const copy = async () => toast((await copyText(text)) ? t("Copied") : t("Press Ctrl+C"));
  const delivery = say.net !== "web" && deliveries[e.state ?? ""];
  const rate = (/** @type {string} */ value) => feedback(say.talkKey, e.seq ?? 0, e.feedback?.value === value ? "" : value).catch(trouble);
  const thumb = (/** @type {string} */ value, /** @type {string} */ icon, /** @type {string} */ label) => html`<${Button} icon=${icon} kind="quiet" label=${label} aria-pressed=${String(e.feedback?.value === value)} onClick=${() => rate(value)} />`;
  return html`<div class="under">
    ${delivery && html`<${State} of=${delivery[0]}>${t(delivery[1])}<//>`}
    <${Button} icon="copy" kind="quiet" data-key="c" label=${t("Copy")} onClick=${copy} />
    ${say.own && say.last === e.id && html`<${Button} icon="rotate-cw" kind="quiet" data-key="r" label=${t("Retry")} onClick=${() => again(say.talkKey).catch(trouble)} />`}
    <${Button} icon="quote" kind="quiet" label=${t("Quote")} onClick=${() => say.quote(text)} />
    ${e.seq && !e.who && thumb("up", "thumbs-up", t("Good answer"))}
    ${e.seq && !e.who && thumb("down", "thumbs-down", t("Bad answer"))}
    ${may("operate") && html`<${Cost} of=${e} />`}
  </div>`;
}

// Cost is what an answer took, for operators. The tokens show on hover.
/** @param {{of: import("../turns.js").Entry}} props */
function Cost({ of: e }) {
  if (!e.model) return null;
  const used = e.usage;
  const tokens = used ? t("{0} in · {1} out · {2} cached", number(used.input), number(used.output), number(used.cached)) : "";
  return html`<span class="cost" title=${used?.cost ? `${tokens} · ${t("Cost in the currency of your prices")}` : tokens}>${[e.model, used?.cost ? cost(used.cost) : "", e.took !== undefined ? took(e.took) : ""].filter(Boolean).join(" · ")}</span>`;
}
