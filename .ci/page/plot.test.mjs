// Plots: what is drawn of values, and where they begin.
import "./unpack.mjs";
import assert from "node:assert/strict";
import test from "node:test";

const { leading, line, nice } = await import("../../internal/console/app/js/plot.js");

test("a plot begins with what was measured first", () => {
  assert.equal(leading([null, null, 3, null, 4]), 2);
  assert.equal(leading([1, null]), 0);
  assert.equal(leading([null, null]), 2);
  assert.equal(leading([]), 0);
});

test("where nothing was measured the line has a gap", () => {
  assert.equal(line([0, 1, null, 1, null], 1), "M0.0 100.0L75.0 0.0M225.0 0.0h0.1");
});

test("a scale ends with a round number", () => assert.deepEqual([0, 0.3, 7, 21].map(nice), [1, 0.5, 10, 50]));
