// How full the model's window is: what it read and wrote for the last answer, of what it can.
// A summary makes room.

import { html } from "../../vendor/preact.js";
import { useLoad } from "../load.js";
import { summary } from "../memory.js";
import { Button } from "../parts/button.js";
import { Meter } from "../parts/meter.js";
import { toast, trouble } from "../parts/toast.js";
import { useStore } from "../store.js";
import { summarise } from "../talk.js";
import { number, shortTime, t } from "../text.js";

/** @param {{of: import("../types.js").Conversation, fixed: boolean}} props */
export function Window({ of: c, fixed }) {
  const last = useStore((s) => lastCounted(s.talks[c.key]));
  const models = useStore((s) => s.models);
  const made = useLoad(() => summary(c.key), [c.key], ["context_compacted", "session_create"]).data;
  if (!last?.usage) return null;
  const tokens = last.usage.input + last.usage.output;
  const window = models.find((m) => m.name === last.model)?.window;
  const make = () => summarise(c.key).then(() => toast(t("It is being summarised. The conversation says what comes of it.")), trouble);
  return html`<section>
    ${window ? html`<${Meter} name=${t("The model's window")} share=${tokens / window}>${t("{0} of {1} tokens", number(tokens), number(window))}<//>`
    : html`<h2>${t("The model's window")}</h2><p class="meta">${t("{0} tokens. How many fit is not known.", number(tokens))}</p>`}
    ${made?.text && html`<details class="summary"><summary class="meta">${t("Summarised {0}", shortTime(made.at))}${made.at > last.at && ` · ${t("the next answer shows how full it is now")}`}</summary><p class="meta" dir="auto">${made.text}</p></details>`}
    ${!fixed && html`<p><${Button} icon="sparkles" onClick=${make}>${t("Summarise now")}<//></p>`}
  </section>`;
}

// lastCounted is the last message of a model whose tokens were counted.
/** @param {import("../types.js").Talk | undefined} talk */
const lastCounted = (talk) => [...(talk?.messages ?? []), ...(talk?.running?.messages ?? [])].findLast((m) => m.role === "assistant" && m.usage);
