// Erasing a conversation for good: what would go, and doing it.

import { get, post } from "./api.js";
import { loadList } from "./list.js";

/** @typedef {import("../../../../docs/openapi.js").ErasePlan} ErasePlan */

/**
 * @param {string} key
 * @returns {Promise<ErasePlan>}
 */
export const plan = (key) => get("erasures", { target: key, only_conversation: true });

/** @param {ErasePlan} planned */
export async function erase(planned) {
  await post("erasures", planned.erasure);
  await loadList();
}
