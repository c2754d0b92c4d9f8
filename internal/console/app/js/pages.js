// Long lists: the page asks for as many pages as are shown, and for one more when somebody
// wants it.

import { html, useState } from "../vendor/preact.js";
import { get } from "./api.js";
import { useLoad } from "./load.js";
import { Button } from "./parts/button.js";
import { t } from "./text.js";

const pageSize = 50;

/**
 * Pages are the first pages of a list.
 * @template T
 * @typedef {{data: T[], next?: string}} Pages
 */

// readPages reads so many pages of a list.
/**
 * @param {string} address
 * @param {Record<string, any>} query
 * @param {number} pages
 * @returns {Promise<Pages<any>>}
 */
export async function readPages(address, query, pages) {
  const all = /** @type {any[]} */ ([]);
  let next = "";
  for (let n = 0; n < pages; n++) {
    const page = await get(address, { limit: pageSize, ...query, after: next });
    all.push(...page.data);
    next = page.next ?? "";
    if (!next) break;
  }
  return { data: all, next };
}

// usePages is useLoad for a list. more asks for another page; it goes back to one when the
// query is another.
/**
 * @param {string} address
 * @param {Record<string, any>} query
 * @param {string[]} names
 */
export function usePages(address, query, names) {
  const about = JSON.stringify(query);
  const [shown, show] = useState({ about, pages: 1 });
  const pages = shown.about === about ? shown.pages : 1;
  const list = useLoad(() => readPages(address, query, pages), [about, pages], names);
  return { ...list, more: () => show({ about, pages: pages + 1 }) };
}

// More is the button below a list that goes on.
/** @param {{of: {data?: Pages<any>, more: () => void}}} props */
export const More = ({ of }) => (of.data?.next ? html`<p class="rowline"><${Button} onClick=${of.more}>${t("More")}<//></p>` : null);
