// Schedules of jobs as people say them.

import { clock, t } from "./text.js";

const cron = /^(\d{1,2}) (\d{1,2}) (\*|\S+) \* (\*|\S+)(?:\s|,|$)/;

// inWords is a schedule of the API, like "every 30m0s, 08:00-22:00" or "0 8 * * 1-5 Europe/Rome",
// or one of a reminder, which is in English: "every 2 weeks on Monday at 09:00, 3 times". What it
// cannot say it leaves as it is.
/** @param {string} schedule */
export function inWords(schedule) {
  const rule = ruleWords(schedule);
  if (rule) return rule;
  const [what, hours] = schedule.split(", ", 2);
  const said = (schedule.startsWith("every ") ? everyWords(what) : cronWords(what)) ?? what;
  return hours && /^\d/.test(hours) ? t("{0}, {1}", said, hours.replace("-", "–")) : schedule === what ? said : t("{0}, {1}", said, schedule.slice(what.length + 2));
}

/** @param {string} what */
function everyWords(what) {
  const found = /^every (?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?: (\S+))?$/.exec(what.replace(/(\d) (h|m)(?:ours?|inutes?) ?/g, "$1$2"));
  if (!found) return undefined;
  const [h, m, s] = found.slice(1, 4).map((n) => Number(n ?? 0));
  if (h && h % 24 === 0 && !m && !s) return h === 24 ? t("Every day") : t("Every {0} days", h / 24);
  if (h && !m && !s) return h === 1 ? t("Every hour") : t("Every {0} hours", h);
  if (m && !h && !s) return m === 1 ? t("Every minute") : t("Every {0} minutes", m);
  return undefined;
}

const rule = /^every (?:(\d+) )?(day|week|month)s?(?: on (.+?))? at (.+?)(?: until (\S+)|, (\d+) times)?$/;
const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]; // as the API has them

// ruleWords is the rule of a reminder, if it has nothing rare in it.
/** @param {string} schedule */
function ruleWords(schedule) {
  const found = rule.exec(schedule);
  if (!found) return undefined;
  const [, every = "1", unit, on = "", times, until, count] = found;
  const days = parts(on);
  const said = rhythm(unit, Number(every), days, listed(parts(times)));
  if (!said) return undefined;
  if (until) return t("{0}, until {1}", said, until);
  return count ? t("{0}, {1} times", said, count) : said;
}

/**
 * @param {string} unit
 * @param {number} every
 * @param {string[]} days
 * @param {string} at
 */
function rhythm(unit, every, days, at) {
  const names = days.map((day) => weekdays.indexOf(day));
  if (unit === "day" && !days.length) return every === 1 ? t("Every day at {0}", at) : t("Every {0} days at {1}", every, at);
  if (unit === "week" && days.length && !names.includes(-1)) {
    const on = listed(names.map(weekdayName));
    return every === 1 ? t("Every {0} at {1}", on, at) : t("Every {0} weeks on {1} at {2}", every, on, at);
  }
  const date = /^the (\d+)\w\w day$/.exec(days.join());
  return unit === "month" && every === 1 && date ? t("On day {0} of each month at {1}", date[1], at) : undefined;
}

// parts are those of an English list: "a, b and c".
/** @param {string} list */
const parts = (list) => list.split(/, | and /).filter(Boolean);

/** @param {string[]} names */
const listed = (names) => new Intl.ListFormat(document.documentElement.lang).format(names);

/** @param {string} what */
function cronWords(what) {
  const found = cron.exec(what);
  if (!found) return undefined;
  const [minute, hour, day, weekday] = found.slice(1);
  const at = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  const zone = what.split(" ").slice(5).join(" ");
  const said = days(day, weekday, at);
  return said && zone ? t("{0}, {1}", said, zone) : said;
}

/**
 * @param {string} day
 * @param {string} weekday
 * @param {string} at
 */
function days(day, weekday, at) {
  if (day === "*" && weekday === "*") return t("Every day at {0}", at);
  if (day === "*" && weekday === "1-5") return t("Monday to Friday at {0}", at);
  if (day === "*" && /^[0-7]$/.test(weekday)) return t("Every {0} at {1}", weekdayName(Number(weekday)), at);
  if (weekday === "*" && /^\d+$/.test(day)) return t("On day {0} of each month at {1}", day, at);
  return undefined;
}

// dueIn says when something comes: 21:00, Tomorrow 08:00, Fri 08:00, 3 Oct 08:00.
/** @param {string} at */
export function dueIn(at) {
  const then = new Date(at);
  const days = Math.round((new Date(then).setHours(0, 0, 0, 0) - new Date().setHours(0, 0, 0, 0)) / 86_400_000);
  if (days <= 0) return clock(at);
  if (days === 1) return t("Tomorrow {0}", clock(at));
  const lang = document.documentElement.lang;
  const day = new Intl.DateTimeFormat(lang === "en" ? undefined : lang, days < 7 ? { weekday: "short" } : { day: "numeric", month: "short", ...(days > 300 ? { year: "numeric" } : {}) });
  return `${day.format(then)} ${clock(at)}`;
}

// weekdayName is that of a number: 0 and 7 are Sunday.
/** @param {number} n */
export const weekdayName = (n) => new Intl.DateTimeFormat(document.documentElement.lang, { weekday: "long", timeZone: "UTC" }).format(new Date(Date.UTC(2026, 10, 29 + n)));
