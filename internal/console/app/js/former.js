// What is left of the page that was before this one: its addresses, and messages that it kept
// in this browser because it could not send them.

import { keep, kept, keptNames } from "./kept.js";
import { say } from "./outbox.js";
import { go, talkPath } from "./router.js";
import { now } from "./store.js";

// roomKey is the conversation of a room of this person's.
/** @param {string} room */
const roomKey = (room) => (now().me?.home ?? "").replace(/default$/, room);

// begin leads from a former address to the present one, /?room=work and /#channels, and sends
// what the former page kept, under the ids that it had: what has arrived is not said twice.
export function begin() {
  if (!now().me?.home) return;
  const room = new URLSearchParams(location.search).get("room");
  if (location.hash === "#channels") go("/channels", true);
  else if (room) go(talkPath(roomKey(room)), true);
  for (const name of keptNames("outbox.")) {
    const m = kept(name);
    keep(name, undefined);
    if (typeof m?.id === "string" && typeof m.text === "string") say(roomKey(name.split(".")[1]), m.text, { id: m.id, files: m.files });
  }
}
