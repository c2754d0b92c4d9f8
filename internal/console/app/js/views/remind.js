// Making and changing a reminder.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { get, patch, path, post } from "../api.js";
import { Notice } from "../parts/notice.js";
import { Segments } from "../parts/segments.js";
import { toast } from "../parts/toast.js";
import { weekdayName } from "../schedule.js";
import { useStore } from "../store.js";
import { t } from "../text.js";

/** @typedef {import("../../../../../docs/openapi.js").Job} Job */
/** @typedef {import("../types.js").Conversation} Conversation */

const days = ["mo", "tu", "we", "th", "fr", "sa", "su"];
const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

// local is a time as an input of date and time has it.
/** @param {Date} at */
function local(at) {
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

// tomorrow at nine is what most people mean.
function tomorrow() {
  const at = new Date();
  at.setDate(at.getDate() + 1);
  at.setHours(9, 0, 0, 0);
  return at;
}

// when is what the form says about time, as the API has it.
/** @param {FormData} form */
function when(form) {
  const how = form.get("how");
  if (how === "same") return {};
  if (how === "once") return { at: String(form.get("at")), zone };
  const times = [String(form.get("time"))];
  if (how === "daily") return { repeat: { freq: "daily", times }, zone };
  if (how === "weekly") return { repeat: { freq: "weekly", days: form.getAll("day").map(String), times }, zone };
  return { repeat: { freq: "monthly", days: [String(form.get("date"))], times }, zone };
}

/** @param {{job?: Job, done: () => void}} props */
export function Remind({ job, done }) {
  const home = useStore((s) => s.me?.home ?? "");
  const [how, choose] = useState(job ? "same" : "once");
  const [kind, be] = useState(job?.prompt ? "prompt" : "text");
  const [places, know] = useState(/** @type {Conversation[]} */ ([]));
  const [problem, fail] = useState("");
  useEffect(() => {
    if (!job) get("conversations", { limit: 100 }).then((page) => know(page.data.filter((/** @type {Conversation} */ c) => c.own && c.key !== home && c.network !== "heartbeat")), () => {});
  }, [job?.name]);
  const send = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const words = String(form.get("words") ?? "").trim();
    const body = { ...when(form), ...(words && words !== job?.text || kind !== (job?.prompt ? "prompt" : "text") ? { [kind]: words } : {}) };
    const sent = job ? patch(path`reminders/${job.name}`, body) : post("reminders", { ...body, key: form.get("key") || undefined });
    sent.then(() => {
      toast(job ? t("Changed.") : t("The reminder is made."));
      done();
    }, (refused) => fail("status" in refused ? refused.message : t("Dragoman cannot be reached. Try again.")));
  };
  const first = job?.next ? new Date(job.next) : tomorrow();
  const hows = /** @type {[string, string][]} */ ([...(job ? [["same", t("As it is")]] : []), ["once", t("Once")], ["daily", t("Every day")], ["weekly", t("Every week")], ["monthly", t("Every month")]]);
  return html`<form class="stack" onSubmit=${send}>
    ${problem && html`<${Notice} of="bad">${problem}<//>`}
    ${(!job || job.own) && html`<div class="field"><label for="remind-words">${t("What")}</label><textarea class="input" id="remind-words" name="words" rows="3" required dir="auto" placeholder=${t("Take the cake out of the freezer")}>${job?.text ?? ""}</textarea></div>
      <${Segments} label=${t("How")} of=${[["text", t("Say it as it is")], ["prompt", t("Let the assistant do it")]]} value=${kind} set=${be} />`}
    <input type="hidden" name="how" value=${how} />
    <${Segments} label=${t("When")} of=${hows} value=${how} set=${choose} />
    ${how === "once" && html`<div class="field"><label for="remind-at">${t("Day and time")}</label><input class="input" id="remind-at" type="datetime-local" name="at" required min=${local(new Date())} value=${local(first)} /></div>`}
    ${how === "weekly" && html`<fieldset class="days"><legend class="label">${t("Days")}</legend>${days.map((day, i) => html`<label class="rowline"><input type="checkbox" name="day" value=${day} checked=${i === (first.getDay() + 6) % 7} /> ${weekdayName(i + 1)}</label>`)}</fieldset>`}
    ${how === "monthly" && html`<div class="field"><label for="remind-date">${t("Day of the month")}</label><input class="input" id="remind-date" type="number" name="date" min="1" max="31" required value=${first.getDate()} /></div>`}
    ${how !== "once" && how !== "same" && html`<div class="field"><label for="remind-time">${t("Time")}</label><input class="input" id="remind-time" type="time" name="time" required value=${local(first).slice(11)} /></div>`}
    ${!job && places.length > 0 && html`<div class="field"><label for="remind-key">${t("Where")}</label><select class="input" id="remind-key" name="key"><option value=${home}>${t("This page")}</option>${places.map((c) => html`<option value=${c.key}>${c.title || c.key}</option>`)}</select></div>`}
    ${how !== "same" && html`<p class="meta">${t("Times are those of {0}.", zone)}</p>`}
    <div class="actions"><button class="button primary">${job ? t("Change") : t("Remind me")}</button></div>
  </form>`;
}
