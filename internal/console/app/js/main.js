// The page begins here: language, theme, what is kept, and the frame.

import { html, render } from "../vendor/preact.js";
import { kept, keptNames } from "./kept.js";
import { begin } from "./live.js";
import { restore } from "./outbox.js";
import { change } from "./store.js";
import { preferred, speak } from "./text.js";
import { Shell } from "./views/shell.js";

const theme = kept("theme");
if (theme) document.documentElement.dataset.theme = theme;
restore();
await speak(preferred());

// start draws at once, and asks again for who is there until the server answers.
async function start() {
  try {
    await begin();
    if (/\?room=|#channels$/.test(location.href) || keptNames("outbox.").length) (await import("./former.js")).begin();
  } catch {
    change({ online: false });
    setTimeout(start, 3000);
  }
}

start();
if (matchMedia("(pointer: coarse)").matches) import("./covered.js");
const root = document.getElementById("app");
if (root) render(html`<${Shell} />`, root);
