// Recorded sound as numbers.
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

const { loudness, lasts } = await import(path.join(import.meta.dirname, "../../internal/console/app/js/sound.js"));

test("loudness is relative to the loudest part", () => assert.deepEqual(loudness([0, 0, 2, -2, 1, 1], 3), [0, 1, 0.5]));
test("silence has no loudest part", () => assert.deepEqual(loudness([0, 0], 2), [0, 0]));
test("a sound with fewer samples than parts", () => assert.equal(loudness([1], 4).length, 4));
test("lengths are those of clocks", () => assert.deepEqual([0, 7.9, 61, 3600].map(lasts), ["0:00", "0:07", "1:01", "60:00"]));
