// Requests to the API. What goes wrong becomes a sentence for people.

import { t } from "./text.js";

const root = "/api/v1/";
const patience = 30_000;

// Refused is the server's refusal. Any other error means that the server was not reached.
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} sentence
   * @param {string} code
   */
  constructor(status, sentence, code) {
    super(sentence);
    this.status = status;
    this.code = code;
    this.again = status >= 500 || status === 429; // it may be taken later
  }
}

// path writes values into an address: path`conversations/${key}/messages`.
/**
 * @param {TemplateStringsArray} parts
 * @param {...(string | number)} values
 */
export const path = (parts, ...values) => String.raw({ raw: parts }, ...values.map((v) => encodeURIComponent(v)));

/**
 * @param {string} address
 * @param {Record<string, string | number | boolean | undefined>} [query]
 */
export function url(address, query = {}) {
  const found = new URL(root + address, location.origin);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") found.searchParams.append(name, String(value));
  }
  return found;
}

// leaving: the person logs out, and the browser is on its way. What is refused meanwhile leads
// nowhere else.
let leaving = false;
export const leaves = () => { leaving = true; };

// login leads to the login, and from there back to where the person is.
export const login = () => leaving || location.assign(`/login?to=${encodeURIComponent(location.pathname + location.search + location.hash)}`);

// fetched makes one request and returns its answer, or throws. Whoever is not logged in
// goes to the login.
/**
 * @param {URL} address
 * @param {RequestInit} [options]
 */
export async function fetched(address, options = {}) {
  const answer = await fetch(address, { ...options, headers: { Accept: "application/json", ...options.headers } });
  if (answer.ok) return answer;
  if (answer.status === 401) login();
  const { error } = await answer.json().catch(() => ({}));
  if (!error && answer.status >= 502) throw new Error(String(answer.status)); // a proxy speaks, not Dragoman
  throw new Refused(answer.status, error?.message ?? t("The server answered {0}.", answer.status), error?.code ?? "");
}

/**
 * @param {string} method
 * @param {string} address
 * @param {Record<string, any>} [query]
 * @param {unknown} [body]
 */
async function call(method, address, query, body) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  const answer = await fetched(url(address, query), { method, signal: AbortSignal.timeout(patience), ...sent });
  const text = await answer.text();
  return text ? JSON.parse(text) : undefined;
}

/** @type {(address: string, query?: Record<string, any>) => Promise<any>} */
export const get = (address, query) => call("GET", address, query);
/** @type {(address: string, body?: object) => Promise<any>} */
export const post = (address, body = {}) => call("POST", address, {}, body);
/** @type {(address: string, body?: object) => Promise<any>} */
export const put = (address, body = {}) => call("PUT", address, {}, body);
/** @type {(address: string, body: object) => Promise<any>} */
export const patch = (address, body) => call("PATCH", address, {}, body);
/** @type {(address: string, query?: Record<string, any>) => Promise<any>} */
export const remove = (address, query) => call("DELETE", address, query);

// randomID makes requests safe to repeat. crypto.randomUUID needs https or localhost.
export function randomID() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
