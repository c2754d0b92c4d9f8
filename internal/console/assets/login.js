// The login with a one-time link. Its secret follows the "#", so that no request has it in
// its address, and is taken out of the address bar at once.

const secret = new URLSearchParams(location.hash.slice(1)).get("link");
const form = document.getElementById("with-link");
const state = document.getElementById("link-state");
const [replace, keep] = form.querySelectorAll("button, a");

// say shows a sentence, and whether there is a choice.
function say(sentence, choice) {
  state.textContent = sentence;
  replace.hidden = keep.hidden = !choice;
}

// exchange trades the secret for a session. Somebody else's session is replaced only if
// the person says so.
async function exchange(replacing) {
  say("Logging in …", false);
  let answer;
  try {
    answer = await fetch("/login/link", {
      method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ secret, replace: replacing }),
    });
  } catch {
    say("The daemon does not answer. Open the link again.", false);
    return;
  }
  if (answer.ok) {
    location.replace("/" + location.search);
    return;
  }
  const { error } = await answer.json().catch(() => ({}));
  say(error?.message ?? answer.statusText, error?.code === "other_session");
}

if (secret) {
  history.replaceState(null, "", location.pathname + location.search);
  document.getElementById("with-token").hidden = true;
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    exchange(true);
  });
  exchange(false);
}
