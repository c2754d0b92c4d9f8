// A card for one thing that waits: what it is, of whom and since when, and what to do.

import { html, useState } from "../../vendor/preact.js";
import { path, post } from "../api.js";
import { network } from "../parts/avatar.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { Said } from "../parts/said.js";
import { State } from "../parts/state.js";
import { toast, trouble } from "../parts/toast.js";
import { go, talkPath } from "../router.js";
import { decide, may } from "../talk.js";
import { clock, day, since, span, t } from "../text.js";
import { answering, letIn, loadWaiting, putOff, shutOut, takeAlwaysBack, whole } from "../waiting.js";
import { ended, shapeOf, useAlive } from "./approval.js";
import { Arguments } from "./arguments.js";
import { nameOf, netOf } from "./whose.js";

/** @typedef {import("../types.js").WaitingItem} Item */
/** @typedef {import("../types.js").Approval} Approval */

/** @type {Record<string, (props: {of: Item}) => any>} */
const kinds = { approval: Asked, pairing: Stranger, channel: Down, dead: Undelivered, job: Job, budget: Budget };

/** @param {{of: Item}} props */
export const Request = ({ of }) => html`<${kinds[of.kind]} of=${of} />`;

/** @param {{icon: string, title: string, about: any, warn?: boolean, note?: string, actions?: any, item: Item, more?: any[], talkKey?: string, children?: any}} props */
function Card({ icon, title, about, warn, note, actions, item, more = [], talkKey, children }) {
  const off = () => {
    putOff(item.id);
    toast(t("Put off. It still waits."), () => putOff(item.id, false));
  };
  const items = [
    ...more,
    talkKey && talkKey.includes(":") && { icon: "message-circle", text: t("Open the conversation"), act: () => go(talkPath(talkKey)) },
    { icon: "clock", text: t("Not now"), act: off },
  ];
  return html`<article class=${warn ? "card warn request" : "card request"} aria-label=${title}>
    <header><${Icon} name=${icon} /><div class="grow"><h2 dir="auto">${title}</h2><p class="meta">${about}</p></div></header>
    ${children}
    <div class="actions">${actions}<${Menu} label=${t("More choices")} items=${items} button=${(/** @type {any} */ open) => html`<${Button} icon="ellipsis" kind="quiet" label=${t("More choices")} onClick=${open} />`} /></div>
    ${note && html`<p class="meta">${note}</p>`}
  </article>`;
}

/**
 * @param {string} key
 * @param {string} [at]
 */
const about = (key, at) => {
  const name = nameOf(key);
  const net = t(network(netOf(key))[1]);
  return html`<bdi>${name}</bdi>${!name.includes(net) && ` · ${net}`}${at && ` · ${t("{0} ago", since(at))}`}`;
};

// Asked is a question about a call. In a talk that is read along its words come when they
// are asked for.
/** @param {{of: Item}} props */
function Asked({ of: item }) {
  const [read, setRead] = useState(/** @type {Approval | undefined} */ (undefined));
  const a = /** @type {Approval} */ (read ?? item.of);
  const alive = useAlive();
  const hidden = !a.arguments && a.length > 0;
  const answer = async (/** @type {string} */ word) => {
    if (!alive) return;
    answering(a.id);
    try {
      const decision = await decide(a, word);
      const said = `${ended(decision.approval)}: ${a.tool}`;
      toast(said, word === "always" && decision.changed ? () => takeAlwaysBack(a).catch(trouble) : undefined);
    } catch (problem) {
      trouble(problem);
    }
    loadWaiting();
  };
  const dead = String(!alive);
  return html`<${Card} icon="hand" warn item=${item} talkKey=${a.key} title=${t("May Dragoman run {0}?", a.tool)} about=${about(a.key, a.asked)}
    note=${t("Denied by itself in {0}, at {1}.", span(Date.parse(a.until) - Date.now()), clock(a.until))}
    more=${a.may_always && !hidden ? [{ icon: "check", text: t("Always in this conversation"), act: () => answer("always") }] : []}
    actions=${hidden ? html`<${Button} kind="primary" icon="eye" onClick=${() => whole(a).then(setRead, trouble)}>${t("Show what it would do")}<//>`
    : html`<${Button} kind="primary" aria-disabled=${dead} onClick=${() => answer("allow")}>${t("Allow once")}<//><${Button} kind="danger" aria-disabled=${dead} onClick=${() => answer("deny")}>${t("Deny")}<//>`}>
    ${hidden ? html`<p>${t("It is asked in a talk of others. Whoever talks there is told that you read along.")}</p>`
    : html`<p><${Said} of=${a.why} /></p><${Arguments} of=${a} />`}
  <//>`;
}

// Settled is a question that somebody else has just decided. It goes by itself.
/** @param {{of: Approval}} props */
export const Settled = ({ of: a }) => html`<article class="card request settled" role="status" aria-label=${a.tool}>
  <header><${Icon} name="hand" /><div class="grow"><h2>${t("May Dragoman run {0}?", a.tool)}</h2><p class="meta">${about(a.key)}</p></div></header>
  <${State} of="quiet" icon=${shapeOf(a)[1]}>${ended(a)}<//>
</article>`;

/** @param {{of: Item}} props */
function Stranger({ of: item }) {
  const p = item.of;
  const approve = async () => {
    try {
      await letIn(p);
      toast(t("{0} may talk now.", p.name || p.person_id), () => shutOut(p).then(loadWaiting, trouble));
    } catch (problem) {
      trouble(problem);
    }
    loadWaiting();
  };
  return html`<${Card} icon="user-plus" warn item=${item} title=${t("{0} wants to talk", p.name || p.person_id)} about=${html`<bdi>${p.person_id}</bdi> · ${t(network(p.channel)[1])}`}
    note=${p.expires && t("The code ends in {0}.", span(Date.parse(p.expires) - Date.now()))} actions=${html`<${Button} kind="primary" onClick=${approve}>${t("Approve")}<//>`}>
    <p>${t("The code shown to them is {0}.", p.code)} ${t("Compare it if you can. Their message is kept and answered when you approve.")}</p>
  <//>`;
}

/** @param {{of: Item}} props */
function Down({ of: item }) {
  const c = item.of;
  const title = c.state === "down" ? t("{0} does not work", c.name) : t("{0} asks for its phone", c.name);
  return html`<${Card} icon="radio-tower" item=${item} title=${title} about=${`${t(network(c.type)[1])} · ${t("for {0}", since(c.since))}`}
    actions=${html`<a class="button" href="/channels">${t("Open channels")}</a>`}><p><${Said} of=${c.detail || c.reason} /></p><//>`;
}

/** @param {{of: Item}} props */
function Undelivered({ of: item }) {
  const q = item.of;
  const again = () => post(path`queue/${q.id}/retry`).then(() => toast(t("It is tried now.")), trouble).then(loadWaiting);
  return html`<${Card} icon="circle-alert" item=${item} talkKey=${q.key} title=${t("This answer could not be delivered")} about=${about(q.key, q.at)}
    actions=${html`<${Button} onClick=${again}>${t("Try again")}<//><a class="button quiet" href="/queue">${t("Open the queue")}</a>`}>
    <p><${Said} of=${q.error} /> ${t("Dragoman tried {0} times.", q.attempts)}</p><//>`;
}

/** @param {{of: Item}} props */
function Job({ of: item }) {
  const o = item.of;
  const reminder = /\/r\d+$/.test(o.job);
  const key = reminder ? o.job.replace(/\/r\d+$/, "") : "";
  const name = reminder ? t("A reminder") : o.job;
  const title = { failed: t("{0} failed", name), missed: t("{0} was missed", name), waiting: t("{0} is late", name) }[/** @type {string} */ (o.outcome)];
  return html`<${Card} icon="calendar-clock" item=${item} talkKey=${key} title=${title} about=${html`${key && html`<bdi>${nameOf(key)}</bdi> · `}${day(o.due)}, ${clock(o.due)}`}
    actions=${html`<a class="button" href="/jobs">${t("Open jobs")}</a>`}><p><${Said} of=${o.why} /></p><//>`;
}

/** @param {{of: Item}} props */
function Budget({ of: item }) {
  const b = item.of;
  const whose = b.name ? (b.name.includes(":") ? nameOf(b.name) : b.name) : t("everybody");
  const title = b.share >= 1 ? t("A budget is used up") : t("A budget is almost used up");
  const period = b.period === "day" ? t("today") : t("this month");
  return html`<${Card} icon="wallet" warn=${b.share >= 1} item=${item} title=${title} about=${html`<bdi>${whose}</bdi> · ${period}`}
    note=${t("It begins anew on {0} at {1}.", day(b.until), clock(b.until))} actions=${may("read") && html`<a class="button" href="/usage">${t("Open usage")}</a>`}>
    <p>${t("{0} % of {1} are used.", Math.round(b.share * 100), b.limit)}</p><//>`;
}
