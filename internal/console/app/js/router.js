// The address says what is drawn: /talk, /talk/KEY, /talk/KEY/details, /talk/KEY/12 (a
// message), /jobs. Links inside
// the page change the address without loading the page again.

import { useEffect, useState } from "../vendor/preact.js";

/**
 * Route is an address in parts.
 * @typedef {{view: string, key?: string, details: boolean, at?: number}} Route
 */

/** @returns {Route} */
export function route() {
  const [, view, key, part] = location.pathname.split("/");
  let name = key;
  try {
    name = key && decodeURIComponent(key);
  } catch {
    // Somebody typed a stray %: it is not a key.
  }
  const at = /^\d+$/.test(part ?? "") ? Number(part) : undefined;
  return { view: view || "talk", key: name || undefined, details: part === "details", at };
}

/**
 * @param {string} key
 * @param {string | number} [part] details, or the seq of a message
 */
export const talkPath = (key, part) => `/talk/${encodeURIComponent(key)}${part ? `/${part}` : ""}`;

// go changes the address. replace: the one before is not worth going back to.
/**
 * @param {string} path
 * @param {boolean} [replace]
 */
export function go(path, replace) {
  if (path === location.pathname) return;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  dispatchEvent(new Event("routed"));
}

// useRoute draws a view again whenever the address changes.
export function useRoute() {
  const [current, set] = useState(route);
  useEffect(() => {
    const changed = () => set(route());
    addEventListener("popstate", changed);
    addEventListener("routed", changed);
    document.addEventListener("click", follow);
    return () => {
      removeEventListener("popstate", changed);
      removeEventListener("routed", changed);
      document.removeEventListener("click", follow);
    };
  }, []);
  return current;
}

const ours = /^\/(talk|you|jobs|queue|channels|people|usage|health|log|settings|first)(\/|$)/;

// follow turns a click on a link of the page into a change of the address.
/** @param {MouseEvent} event */
function follow(event) {
  const link = /** @type {Element} */ (event.target).closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || link.target || link.hasAttribute("download")) return;
  if (link.origin !== location.origin || !ours.test(link.pathname)) return;
  event.preventDefault();
  go(link.pathname);
}
