// The page begins here: it draws what the address says.
import { html, render } from "../vendor/preact.js";

const root = document.querySelector("#app");
if (root) render(html`<main><h1>Dragoman</h1></main>`, root);
