// What a conversation is called where only its key is at hand.

import { known } from "../list.js";
import { network } from "../parts/avatar.js";
import { now } from "../store.js";
import { t } from "../text.js";
import { titleOf } from "./row.js";

/** @param {string} key */
export function nameOf(key) {
  const c = known(key);
  if (c && (c.title || c.derived_title || c.network === "web")) return titleOf(c);
  if (!key.includes(":")) return now().names?.[key] ?? key;
  const chat = key.slice(key.indexOf(":") + 1);
  if (netOf(key) === "web") return titleOf(/** @type {any} */ ({ ...c, key, network: "web" }));
  const group = c?.group || /^-\d+(:\d+)?$|@g\.us$/.test(chat);
  return now().names?.[key] ?? (group ? t("Group on {0}", t(network(netOf(key))[1])) : chat);
}

// netOf is the network's type of a conversation, or the channel's name.
/** @param {string} key */
export const netOf = (key) => known(key)?.network ?? key.split(":")[0];
