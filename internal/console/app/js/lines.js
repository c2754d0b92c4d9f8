// An answer that comes line by line, one JSON object each.

import { fetched, url } from "./api.js";

// lines posts a request, and calls on for each line as it comes. It returns at the end of
// the answer.
/**
 * @param {string} address
 * @param {object} body
 * @param {AbortSignal} signal
 * @param {(line: any) => void} on
 */
export async function lines(address, body, signal, on) {
  const answer = await fetched(url(address), { method: "POST", signal, body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part) on(JSON.parse(part));
  }
}
