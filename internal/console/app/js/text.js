// Texts, numbers and times as people say them. The key of a text is its English sentence,
// so the code reads as the page does. A language is one file of sentences; what it lacks
// is shown in English.

import { kept } from "./kept.js";

const languages = ["de", "ar"]; // beside English: the files in texts

// preferred is the language that was chosen here, or the browser's.
/** @returns {string} */
export const preferred = () => kept("language") ?? languages.find((name) => navigator.language.startsWith(name)) ?? "en";

/** @type {Record<string, string>} */
let sentences = {};
let language = "en";
/** @type {string | undefined} */
let locale; // of numbers and times; undefined is the browser's

// speak loads a language. It is called before anything is drawn.
/** @param {string} wanted */
export async function speak(wanted) {
  try {
    if (wanted !== "en") sentences = await (await fetch(new URL(`../texts/${wanted}.json`, import.meta.url))).json();
    language = wanted;
    if (wanted !== "en") locale = sentences["@locale"] ?? wanted;
  } catch {
    sentences = {}; // the language is not there
  }
  document.documentElement.lang = language;
  document.documentElement.dir = sentences["@dir"] ?? "ltr";
}

// t translates a sentence. {0}, {1} … are replaced by the values.
/**
 * @param {string} text
 * @param {...(string | number)} values
 */
export function t(text, ...values) {
  return (sentences[text] ?? text).replace(/\{(\d)\}/g, (_, i) => String(values[Number(i)]));
}

// plural chooses between a sentence for one and one for several. {0} is the number.
/**
 * @param {number} n
 * @param {string} one
 * @param {string} several
 * @param {...(string | number)} values
 */
export const plural = (n, one, several, ...values) => t(n === 1 ? one : several, number(n), ...values);

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/**
 * @param {Intl.DateTimeFormatOptions} options
 * @param {Date} at
 */
function formatted(options, at) {
  const name = JSON.stringify(options);
  const format = formats.get(name) ?? new Intl.DateTimeFormat(locale, options);
  formats.set(name, format);
  return format.format(at);
}

/** @type {(n: number) => string} */
export const number = (n) => new Intl.NumberFormat(locale).format(n);

/** @type {(n: number) => string} */
const tenths = (n) => new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(n);

/** @type {(at: string) => string} */
export const clock = (at) => formatted({ hour: "2-digit", minute: "2-digit" }, new Date(at));

/** @type {(at: string) => string} */
export const wholeTime = (at) => formatted({ dateStyle: "full", timeStyle: "short" }, new Date(at));

// daysAgo counts midnights between a time and now.
/** @param {Date} at */
function daysAgo(at) {
  const midnight = (/** @type {Date} */ d) => Date.UTC(d.getFullYear(), d.getMonth(), d.getDate());
  return Math.round((midnight(new Date()) - midnight(at)) / 86_400_000);
}

// day names a day: Today, Yesterday, or its date.
/** @param {string} at */
export function day(at) {
  const date = new Date(at);
  const ago = daysAgo(date);
  if (ago === 0) return t("Today");
  if (ago === 1) return t("Yesterday");
  const year = /** @type {Intl.DateTimeFormatOptions} */ (date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" });
  return formatted({ weekday: "long", day: "numeric", month: "long", ...year }, date);
}

// shortTime fits into a row: 19:41, Yesterday, Thu, 3 Oct. What is to come has its date.
/** @param {string} at */
export function shortTime(at) {
  const date = new Date(at);
  const ago = daysAgo(date);
  if (ago === 0) return clock(at);
  if (ago === 1) return t("Yesterday");
  if (ago > 0 && ago < 7) return formatted({ weekday: "short" }, date);
  return formatted(date.getFullYear() === new Date().getFullYear() ? { day: "numeric", month: "short" } : { dateStyle: "short" }, date);
}

// span says how long something is: 12 s, 3 min, 2 h, 5 days.
/** @param {number} ms */
export function span(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 60) return t("{0} s", number(Math.round(s)));
  if (s < 3600) return t("{0} min", number(Math.round(s / 60)));
  if (s < 48 * 3600) return t("{0} h", number(Math.round(s / 3600)));
  return t("{0} days", number(Math.round(s / 86400)));
}

/** @type {(at: string) => string} */
export const since = (at) => span(Date.now() - Date.parse(at));

// took is a duration that was measured: 6.2 s.
/** @param {number} ms */
export const took = (ms) => (ms < 60_000 ? t("{0} s", tenths(Math.max(0, ms) / 1000)) : span(ms));

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return t("{0} bytes", number(bytes));
  if (bytes < 999_500) return t("{0} KB", number(Math.round(bytes / 1000)));
  return t("{0} MB", tenths(bytes / 1e6));
}

// cost has as many digits as it takes to tell small sums apart. The currency is whatever
// the configured prices are in, so none is named.
/** @param {number} sum */
export function cost(sum) {
  const digits = sum >= 1 ? 2 : sum >= 0.01 ? 3 : 4;
  return new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(sum);
}
