import { html } from "../../vendor/preact.js";
import { t } from "../text.js";
import { Bones } from "./bones.js";
import { Button } from "./button.js";
import { Notice } from "./notice.js";

// View is a whole view of the operator's: its title, what it says of itself, and what is loaded,
// on its way, or could not be. children draws the data.
/** @param {{title: string, say?: string, tools?: any, of: import("../load.js").Loaded<any>, children: (data: any) => any}} props */
export const View = ({ title, say, tools, of, children }) => html`<main class="view" id="main" tabindex="-1"><div class="inner">
  <div class="head"><h1 class="grow">${title}</h1>${tools}${say && html`<p>${say}</p>`}</div>
  ${of.problem && html`<${Notice} of="bad"><b>${of.data ? t("This could not be read again.") : t("This could not be loaded.")}</b> ${sentence(of.problem)}
    <div class="actions"><${Button} onClick=${of.again}>${t("Retry")}<//></div><//>`}
  ${of.data ? children(of.data) : !of.problem && html`<${Bones} />`}
</div></main>`;

/** @param {Error} problem */
const sentence = (problem) => ("status" in problem ? problem.message : t("Dragoman cannot be reached."));
