// What a conversation is called where only its key is at hand.

import { known } from "../list.js";
import { now } from "../store.js";
import { titleOf } from "./row.js";

/** @param {string} key */
export function nameOf(key) {
  const c = known(key);
  if (c && (c.title || c.derived_title || c.network === "web" || c.group)) return titleOf(c);
  return now().names?.[key] ?? (key.includes(":") ? key.slice(key.indexOf(":") + 1) : key);
}

// netOf is the network's type of a conversation, or the channel's name.
/** @param {string} key */
export const netOf = (key) => known(key)?.network ?? key.split(":")[0];
