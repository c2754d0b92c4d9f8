// Arguments of a call that somebody is asked about.
import "./unpack.mjs";
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

const { beginning, plain } = await import(path.join(import.meta.dirname, "../../internal/console/app/js/views/arguments.js"));

test("what nobody would see is written out", () => {
  assert.equal(plain("a\u202egpj.exe\u200b b\tc\u2028\nd ä ب 😀"), "a\\u{202e}gpj.exe\\u{200b} b\\u{0009}c\\u{2028}\nd ä ب 😀");
  assert.equal(plain("\u{e0041}\u00a0\ufe0f"), "\\u{e0041}\\u{00a0}\\u{fe0f}");
});

test("a long value begins with its first characters and lines", () => {
  assert.equal(beginning("short"), "short");
  assert.equal(beginning("😀".repeat(400)), "😀".repeat(300));
  assert.equal(beginning("1\n2\n3\n4\n5\n6\n7"), "1\n2\n3\n4\n5\n6");
});
