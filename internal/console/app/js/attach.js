// Files for the next message. Each is uploaded at once, so that sending the message, which
// names them, is quick.

import { fetched, randomID, Refused, url } from "./api.js";
import { change, now } from "./store.js";
import { size, t } from "./text.js";

const most = 10;

// How long recordings are, in seconds. What has one here is a voice message.
/** @type {WeakMap<File, number>} */
export const recorded = new WeakMap();

/** @type {Map<string, AbortController>} */
const running = new Map();

/**
 * @param {string} key
 * @param {(files: import("./types.js").Attached[]) => import("./types.js").Attached[]} changed
 */
const changeFiles = (key, changed) => change((s) => ({ attached: { ...s.attached, [key]: changed(s.attached[key] ?? []) } }));

// attach uploads files for a conversation's next message. It returns a sentence about those
// that it does not take, or "".
/**
 * @param {string} key
 * @param {Iterable<File>} chosen
 */
export function attach(key, chosen) {
  const limit = now().me?.max_file ?? 0;
  let problem = "";
  for (const file of chosen) {
    if (!limit) problem = t("Files cannot be sent here.");
    else if ((now().attached[key] ?? []).length >= most) problem = t("At most {0} files fit into one message.", most);
    else if (file.size > limit) problem = t("{0} is too large: at most {1} fit.", file.name, size(limit));
    else if (file.size === 0) problem = t("{0} is empty.", file.name);
    else upload(key, file);
  }
  return problem;
}

/**
 * @param {string} key
 * @param {File} file
 */
async function upload(key, file) {
  const id = randomID();
  const stop = new AbortController();
  running.set(id, stop);
  changeFiles(key, (files) => [...files, { id, name: file.name, type: file.type, bytes: file.size, seconds: recorded.get(file) }]);
  const mark = (/** @type {object} */ parts) => changeFiles(key, (files) => files.map((f) => (f.id === id ? { ...f, ...parts } : f)));
  for (let tries = 0; !stop.signal.aborted; tries++) {
    try {
      const answer = await fetched(url("files"), { method: "POST", body: file, signal: stop.signal, headers: { "Content-Type": "application/octet-stream" } });
      mark({ ref: (await answer.json()).ref });
      break;
    } catch (problem) {
      if (tries > 6 || problem instanceof Refused && !problem.again) {
        mark({ problem: problem instanceof Refused ? problem.message : t("It cannot be read or sent.") });
        break;
      }
      await new Promise((done) => setTimeout(done, Math.min(10_000, 500 * 2 ** tries)));
    }
  }
  running.delete(id);
}

/**
 * @param {string} key
 * @param {string} id
 */
export function detach(key, id) {
  running.get(id)?.abort();
  changeFiles(key, (files) => files.filter((f) => f.id !== id));
}

// take removes the files of a conversation and returns those that are there, for a message.
/** @param {string} key */
export function take(key) {
  const ready = (now().attached[key] ?? []).filter((f) => f.ref).map(({ ref, name, type, bytes, seconds }) => ({ ref: ref ?? "", name, type, bytes, seconds }));
  changeFiles(key, () => []);
  return ready;
}
