// What the daemon says, in the page's language.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";

const app = path.join(import.meta.dirname, "../../internal/console/app");
globalThis.document = /** @type {any} */ ({ documentElement: { lang: "en", dir: "" } });
globalThis.localStorage = /** @type {any} */ ({ getItem: () => null });
globalThis.fetch = /** @type {any} */ (async (/** @type {URL} */ url) => ({ json: async () => JSON.parse(fs.readFileSync(url, "utf8")) }));
const { speak } = await import(path.join(app, "js/text.js"));
const { told } = await import(path.join(app, "js/told.js"));

const said = {
  "operator paused it": "operator hat es angehalten",
  "3 occurrences came due while the daemon could not run them": "3 Termine fielen an, als der Daemon sie nicht ausführen konnte",
  "a page of the web was read (example.org), and a file was read": "eine Webseite wurde gelesen (example.org), und eine Datei wurde gelesen",
  "the summary of telegram:71 failed on 2026-11-29 23:13: no answer (nothing is lost, and a later turn tries again)":
    "die Zusammenfassung von telegram:71 misslang am 2026-11-29 23:13: no answer (nichts geht verloren, und eine spätere Antwort versucht es wieder)",
  "the moon is full": "the moon is full", "": "",
};
for (const words of Object.keys(said)) test(`in English: ${words}`, () => assert.equal(told(words), words));
test("in German", async () => {
  await speak("de");
  for (const [words, want] of Object.entries(said)) assert.equal(told(words), want);
});
