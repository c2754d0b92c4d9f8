// The model that answers, and a menu to choose another for the next message.

import { html } from "../../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { useStore } from "../store.js";
import { t } from "../text.js";

/** @param {{own: string, chosen: string, choose: (name: string) => void}} props */
export function ModelChip({ own, chosen, choose }) {
  const models = useStore((s) => s.models);
  const usual = own || models.find((m) => m.default)?.name || models[0]?.name || "";
  const now = chosen || usual;
  if (!now) return null;
  if (models.length < 2) return html`<span class="chip">${now}</span>`;
  const items = models.map((m) => ({ icon: m.name === now ? "check" : "sparkles", text: m.name, act: () => choose(m.name === usual ? "" : m.name) }));
  return html`<${Menu} label=${t("Model of the next answer")} items=${items} button=${(/** @type {any} */ open) => html`<button type="button" class="chip" aria-label=${t("Model of the next answer: {0}", now)} onClick=${open}>${now}<${Icon} name="chevron-down" small /></button>`} />`;
}
