// The login: its words in the reader's language, and the exchange of a one-time link. The
// link's secret follows the "#", so that no request has it in its address, and is taken
// out of the address bar at once.

import { kept } from "./kept.js";
import { preferred, speak, t } from "./text.js";

const secret = new URLSearchParams(location.hash.slice(1)).get("link");
if (secret) history.replaceState(null, "", location.pathname + location.search);
const theme = kept("theme");
if (theme) document.documentElement.dataset.theme = theme;
const form = /** @type {HTMLElement} */ (document.getElementById("with-link"));
const said = /** @type {HTMLElement} */ (document.getElementById("link-state"));
const choices = /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("button, a"));

// say shows a sentence, and whether there is a choice.
/**
 * @param {string} sentence
 * @param {boolean} [choice]
 */
function say(sentence, choice) {
  said.textContent = sentence;
  for (const one of choices) one.hidden = !choice;
}

// target is where the person wanted to go, if that is one of our addresses.
function target() {
  const wanted = new URL(new URLSearchParams(location.search).get("to") ?? "/", location.origin);
  return wanted.origin === location.origin ? wanted.href : "/";
}

// exchange trades the secret for a session. Somebody else's session is replaced only if
// the person says so.
/** @param {boolean} replace */
async function exchange(replace) {
  say(t("Logging in …"));
  let answer;
  try {
    answer = await fetch("/login/link", {
      method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ secret, replace }),
    });
  } catch {
    say(t("Dragoman does not answer. Open the link again."));
    return;
  }
  if (answer.ok) {
    location.replace(target());
    return;
  }
  const { error } = await answer.json().catch(() => ({}));
  say(error?.message ?? answer.statusText, error?.code === "other_session");
  if (answer.status === 401) withToken(true);
}

// withToken shows or hides the form for a token.
/** @param {boolean} on */
const withToken = (on) => { /** @type {HTMLElement} */ (document.getElementById("with-token")).hidden = !on; };

if (secret) {
  withToken(false);
  form.hidden = false;
}
await speak(preferred());
for (const one of document.querySelectorAll("[data-t]")) one.textContent = t(one.textContent ?? "");
if (secret) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    exchange(true);
  });
  exchange(false);
}
