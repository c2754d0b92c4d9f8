// Reading along: the stream of all that one may read leaves out the talks of others, because
// their people are told about each reading. So an open one has a stream of its own.

import { heard } from "./live.js";
import { Stream } from "./stream.js";

// readAlong follows a conversation until what it returns is called.
/** @param {string} key */
export function readAlong(key) {
  const stream = new Stream({ on: heard, onState: () => {}, query: { key } });
  return () => stream.close();
}
