// Files of messages in a form that the page can show. The server sends each as one to save,
// so it is fetched, and the last ones are held.

import { fetched } from "./api.js";

const most = 30;

/** @typedef {{url: string, blob: Blob}} Held */

/** @type {Map<string, Promise<Held>>} */
const held = new Map();

// heldFile fetches a file, once.
/**
 * @param {string} address
 * @param {string} [type]
 */
export function heldFile(address, type) {
  const found = held.get(address) ?? load(address, type);
  held.delete(address);
  held.set(address, found); // the newest is last
  found.catch(() => held.delete(address));
  for (const [old, made] of held) {
    if (held.size <= most) break;
    held.delete(old);
    made.then(({ url }) => URL.revokeObjectURL(url), () => {});
  }
  return found;
}

/**
 * @param {string} address
 * @param {string} [type]
 * @returns {Promise<Held>}
 */
async function load(address, type) {
  const answer = await fetched(new URL(address));
  const blob = new Blob([await answer.blob()], { type });
  return { url: URL.createObjectURL(blob), blob };
}
