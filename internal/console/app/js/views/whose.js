// What a conversation is called where only its key is at hand.

import { known } from "../list.js";
import { now } from "../store.js";
import { titleOf } from "./row.js";

/** @param {string} key */
export function nameOf(key) {
  if (!key.includes(":")) return now().names?.[key] ?? key;
  return titleOf(/** @type {any} */ ({ group: isGroup(key), ...known(key), key, network: netOf(key) }));
}

// isGroup says whether a key is that of a group that is only a number.
/** @param {string} key */
export const isGroup = (key) => /:-\d+(:\d+)?$|@g\.us$/.test(key);

// netOf is the network's type of a conversation, or the channel's name.
/** @param {string} key */
export const netOf = (key) => known(key)?.network ?? key.split(":")[0];
