// What is remembered in a conversation.

import { get, path, post, remove } from "./api.js";

/**
 * @param {string} key
 * @returns {Promise<import("./types.js").Remembered[]>}
 */
export const facts = (key) => get("facts", { target: key }).then((page) => page.data);

/**
 * @param {string} key
 * @returns {Promise<import("./types.js").Summary | null>}
 */
export const summary = (key) => get(path`conversations/${key}/summary`);

/** @type {(key: string, fact: import("./types.js").Remembered) => Promise<void>} */
export const forget = (key, fact) => remove(path`facts/${fact.id}`, { target: key });

// takeForgettingBack undoes the newest forgetting in the memory of a fact.
/** @type {(key: string, fact: import("./types.js").Remembered) => Promise<void>} */
export const takeForgettingBack = (key, fact) => post("facts/undo", { target: key, scope: fact.scope });
