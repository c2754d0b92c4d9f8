// A view that is loaded when it is opened for the first time.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { Empty } from "../parts/empty.js";
import { places, sees } from "../places.js";
import { useStore } from "../store.js";
import { styled } from "../styled.js";
import { t } from "../text.js";

/** @param {{route: import("../router.js").Route}} props */
export function Lazy({ route }) {
  const { view } = route;
  const [found, set] = useState(/** @type {{view: string, Part?: any, problem?: boolean}} */ ({ view: "" }));
  const me = useStore((s) => s.me);
  const online = useStore((s) => s.online);
  const place = places.find((p) => p.view === view);
  const allowed = place && sees(place, me);
  useEffect(() => {
    if (found.view === view && found.Part) return;
    let over = false;
    Promise.all([place?.find?.(), view !== "talk" && styled("ops")]).then(
      ([Part]) => over || set({ view, Part }),
      () => over || set({ view, problem: true }),
    );
    return () => { over = true; };
  }, [view, online]);
  if (place && me && !allowed) return html`<${Missing} title=${t("This view is not for you")}>${t("It needs the scope {0}. Whoever runs Dragoman can give you a token with it.", place.scope)}<//>`;
  if (!place?.find) return html`<${Missing} title=${t("This view is not here yet")} />`;
  if (found.view === view && found.problem) return html`<${Missing} title=${t("This view could not be loaded")} again=${online}>${online ? t("Dragoman was updated, or cannot be reached.") : t("It was never opened here before. It opens as soon as Dragoman can be reached.")}<//>`;
  if (found.view !== view || !found.Part || !allowed) return html`<main class="view" id="main" tabindex="-1" aria-busy="true"><h1>${t(place.title)}</h1></main>`;
  return html`<${found.Part} route=${route} />`;
}

// Missing stands where a view is not made yet or not for this person, or where an updated
// Dragoman no longer has its file.
/** @param {{title: string, again?: boolean, children?: any}} props */
const Missing = ({ title, again, children }) => html`<main class="view" id="main" tabindex="-1"><h1 class="unseen">${title}</h1>
  <${Empty} icon="wrench" title=${title} actions=${again ? html`<button type="button" class="button" onClick=${() => location.reload()}>${t("Load the page again")}</button>` : html`<a class="button" href="/talk">${t("Go to Talk")}</a>`}>
    ${children ?? t("The command dragoman has what belongs here.")}<//></main>`;
