// The names of people, for those who run Dragoman: a talk of others whose words the page does
// not have is called by its person, not by a number.

import { get } from "./api.js";
import { change } from "./store.js";

const most = 200; // people; whoever wrote last comes first

// loadNames reads who has which identity.
export async function loadNames() {
  const { data } = await get("people", { limit: most }).catch(() => ({ data: [] }));
  const named = data.filter((/** @type {any} */ p) => p.name);
  change({ names: Object.fromEntries(named.flatMap((/** @type {any} */ p) => [...p.identities, p.id].map((id) => [id, p.name]))) });
}
