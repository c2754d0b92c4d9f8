// Bars: which days there are, and how rows become parts.
import "./unpack.mjs";
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

const { daysFrom, parted } = await import(path.join(import.meta.dirname, "../../internal/console/app/js/bars.js"));

test("bars begin with the first day of which anything is known", () => {
  assert.deepEqual(daysFrom("2026-11-01", "2026-11-03"), ["2026-11-01", "2026-11-02", "2026-11-03"]);
  assert.deepEqual(daysFrom("2026-11-01", "2026-11-03", "2026-11-02"), ["2026-11-02", "2026-11-03"]);
  assert.deepEqual(daysFrom("2026-11-01", "2026-11-02", "2026-10-01"), ["2026-11-01", "2026-11-02"]);
});

test("the greatest rows have parts of their own, and the others one", () => {
  const row = (name, ...costs) => ({ name, days: costs.map((cost, i) => ({ day: `2026-11-0${i + 1}`, cost })) });
  const parts = parted([row("a", 1, 1), row("b", 5), row("c", 0, 3), row("d", 0.5)], ["2026-11-01", "2026-11-02"], (used) => used.cost, 2);
  assert.deepEqual(parts, [{ name: "b", values: [5, 0] }, { name: "c", values: [0, 3] }, { name: "", values: [1.5, 1] }]);
});
