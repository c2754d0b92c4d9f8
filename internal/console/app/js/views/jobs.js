// Jobs and reminders: what comes, what came of it, and what can be done with each.

import { html, useState } from "../../vendor/preact.js";
import { path, post, put, remove } from "../api.js";
import { More, usePages } from "../pages.js";
import { Button } from "../parts/button.js";
import { Conversation } from "../parts/conversation.js";
import { Dialog } from "../parts/dialog.js";
import { Empty } from "../parts/empty.js";
import { Search } from "../parts/search.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { toast, trouble } from "../parts/toast.js";
import { View } from "../parts/view.js";
import { dueIn, inWords } from "../schedule.js";
import { useStore } from "../store.js";
import { t, wholeTime } from "../text.js";
import { told } from "../told.js";
import { Last, Outcomes } from "./outcomes.js";
import { Remind } from "./remind.js";
import { Timeline } from "./timeline.js";

/** @typedef {import("../../../../../docs/openapi.js").Job} Job */

const changes = ["job_done", "job_change", "settings_change"];

// title is what people call a job or a reminder.
/** @param {Job} j */
export const title = (j) => (j.reminder ? j.text || t("A reminder of {0}", j.name.slice(0, j.name.lastIndexOf("/"))) : j.name);

// useActs are what can be done with a job. Everything can be undone, so nothing asks before.
/** @param {() => void} again */
function useActs(again) {
  const act = (/** @type {Promise<any>} */ done, /** @type {string} */ said, /** @type {() => void} */ undo) => done.then(() => toast(said, undo), trouble).then(again);
  const back = (/** @type {Promise<any>} */ done) => done.then(() => toast(t("Undone.")), trouble).then(again);
  return {
    run: (/** @type {Job} */ j) => post(path`jobs/${j.name}/run`).then(() => toast(t("It runs now.")), trouble).then(again),
    pause: (/** @type {Job} */ j) => act(put(path`jobs/${j.name}/pause`), t("Paused."), () => back(remove(path`jobs/${j.name}/pause`))),
    resume: (/** @type {Job} */ j) => act(remove(path`jobs/${j.name}/pause`), t("Resumed."), () => back(put(path`jobs/${j.name}/pause`))),
    cancel: (/** @type {Job} */ j) => act(remove(path`reminders/${j.name}`), t("Cancelled."), () => back(post(path`reminders/${j.name}/restore`))),
  };
}

export function Jobs() {
  const operates = useStore((s) => s.me?.scope === "operate" || s.me?.scope === "admin");
  const [words, look] = useState("");
  const jobs = usePages("jobs", { kind: "job", text: words }, changes);
  const reminders = usePages("jobs", { kind: "reminder", text: words }, changes);
  const [making, make] = useState(/** @type {{job?: Job} | null} */ (null));
  const [past, show] = useState(/** @type {Job | null} */ (null));
  const again = () => {
    jobs.again();
    reminders.again();
  };
  const acts = useActs(again);
  const both = jobs.data && reminders.data && { jobs: jobs.data.data, reminders: reminders.data.data };
  const many = words || (both && both.jobs.length + both.reminders.length > 12);
  const done = () => {
    make(null);
    again();
  };
  return html`<${View} title=${t("Jobs and reminders")} say=${t("What happens by itself, and what came of it.")} of=${{ data: both, problem: jobs.problem ?? reminders.problem, again }}
    tools=${html`<${Button} icon="plus" kind="primary" label=${t("New reminder")} onClick=${() => make({})}>${t("New")}<//>`}>
    ${(/** @type {{jobs: Job[], reminders: Job[]}} */ of) => html`
      ${many && html`<${Search} label=${t("Search jobs and reminders")} value=${words} onInput=${(/** @type {any} */ e) => look(e.currentTarget.value)} />`}
      ${!of.jobs.length && !of.reminders.length ? html`<${Nothing} words=${words} make=${() => make({})} />` : html`
        <section class="card" aria-label=${t("The next 24 hours")}><${Timeline} jobs=${of.jobs} reminders=${of.reminders} title=${title} /></section>
        ${of.jobs.length > 0 && html`<section><header><h2>${t("Jobs")}</h2></header><${Table} label=${t("Jobs")} rows=${of.jobs} name=${(/** @type {Job} */ j) => j.name} columns=${columns(operates && acts, show)} /><${More} of=${jobs} /></section>`}
        ${of.reminders.length > 0 && html`<section><header><h2>${t("Reminders")}</h2></header><ul class="card soon">${of.reminders.map((j) => html`<${Reminder} key=${j.name} of=${j} acts=${acts} may=${operates || j.own} change=${() => make({ job: j })} past=${() => show(j)} />`)}</ul><${More} of=${reminders} /></section>`}`}
      <${Dialog} title=${making?.job ? t("Change the reminder") : t("New reminder")} open=${making !== null} close=${() => make(null)}><${Remind} job=${making?.job} done=${done} /><//>
      <${Dialog} title=${past ? title(past) : ""} open=${past !== null} close=${() => show(null)}><${Outcomes} job=${past?.name ?? ""} /><//>`}
  <//>`;
}

/** @param {{words: string, make: () => void}} props */
const Nothing = ({ words, make }) => words
  ? html`<${Empty} icon="calendar-clock" title=${t("Nothing found")}>${t("No job and no reminder has these words.")}<//>`
  : html`<${Empty} icon="calendar-clock" title=${t("Nothing is scheduled")} actions=${html`<${Button} onClick=${make}>${t("Set a reminder")}<//>`}>${t("Say “remind me tomorrow at nine” in any conversation, or write a job into the configuration.")}<//>`;

// Word is what a button's shape means. A table shows it where its rows are folded, and have
// room below.
/** @param {{children?: any}} props */
const Word = ({ children }) => html`<span class="word">${children}</span>`;

/** @param {{of: Job, title: string, act: (j: Job) => void}} props */
const Resume = ({ of: j, title, act }) => html`<${Button} icon="rotate-cw" label=${t("Resume {0}", title)} onClick=${() => act(j)}>${t("Resume")}<//>`;

/** @param {{of: string | undefined}} props */
const Next = ({ of: at }) => (at ? html`<time title=${wholeTime(at)}>${dueIn(at)}</time>` : t("not due"));

/**
 * @param {false | ReturnType<typeof useActs>} acts
 * @param {(j: Job) => void} show
 */
const columns = (acts, show) => [
  { title: t("Job"), kind: "wide", cell: (/** @type {Job} */ j) => html`<b dir="auto">${j.name}</b>` },
  { title: t("When"), cell: (/** @type {Job} */ j) => inWords(j.schedule) },
  { title: t("To"), cell: (/** @type {Job} */ j) => html`<${Conversation} of=${j.target} link />` },
  { title: t("Last time"), cell: (/** @type {Job} */ j) => (j.paused ? html`<${State} of="warn" icon="pause">${t("Paused")}<//><br /><span class="soft">${told(j.paused)}</span>` : j.last && html`<${Last} of=${j.last} />`) },
  { title: t("Next"), kind: "num", label: true, cell: (/** @type {Job} */ j) => (j.paused ? "" : html`<${Next} of=${j.next} />`) },
  { title: t("Actions"), kind: "act below", hidden: true, cell: (/** @type {Job} */ j) => html`<span class="rowline">
    ${acts && html`${j.paused
      ? html`<${Resume} of=${j} title=${j.name} act=${acts.resume} />`
      : html`<${Button} icon="pause" kind="quiet" label=${t("Pause {0}", j.name)} onClick=${() => acts.pause(j)}><${Word}>${t("Pause")}<//><//>`}
      <${Button} icon="play" kind="quiet" label=${t("Run {0} now", j.name)} onClick=${() => acts.run(j)}><${Word}>${t("Run")}<//><//>`}
    <${Button} icon="list" kind="quiet" label=${t("History of {0}", j.name)} onClick=${() => show(j)}><${Word}>${t("History")}<//><//></span>` },
];

/** @param {{of: Job, acts: ReturnType<typeof useActs>, may: boolean, change: () => void, past: () => void}} props */
const Reminder = ({ of: j, acts, may, change, past }) => html`<li>
  <div class="grow"><b dir="auto">${title(j)}</b>
    <p class="meta">${j.next ? html`<${Next} of=${j.next} />` : t("not due")}${j.schedule !== "once" && html` · ${inWords(j.schedule)}`} · <${Conversation} of=${j.target} link /></p>
    ${j.paused && html`<${State} of="warn" icon="pause">${t("Paused: {0}", told(j.paused))}<//>`}
    ${j.last && !j.paused && html`<${Last} of=${j.last} />`}</div>
  <span class="rowline">${may && html`${j.paused
    ? html`<${Resume} of=${j} title=${title(j)} act=${acts.resume} />`
    : html`<${Button} icon="pause" kind="quiet" label=${t("Pause {0}", title(j))} onClick=${() => acts.pause(j)} />`}
    <${Button} icon="pencil" kind="quiet" label=${t("Change {0}", title(j))} onClick=${change} />`}
    <${Button} icon="list" kind="quiet" label=${t("History of {0}", title(j))} onClick=${past} />
    ${may && html`<${Button} icon="x" kind="quiet" label=${t("Cancel {0}", title(j))} onClick=${() => acts.cancel(j)} />`}</span></li>`;
