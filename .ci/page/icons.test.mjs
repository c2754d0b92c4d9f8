// The sprite has the shapes that the page draws, and no other: each comes with the first view.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";

const app = path.join(import.meta.dirname, "../../internal/console/app");
const shapes = [...fs.readFileSync(path.join(app, "icons.svg"), "utf8").matchAll(/<symbol id="([^"]+)"/g)].map((m) => m[1]);
const modules = fs.readdirSync(path.join(app, "js"), { recursive: true }).filter((n) => n.endsWith(".js")).map((n) => fs.readFileSync(path.join(app, "js", n), "utf8"));

test("each shape is drawn", () => assert.deepEqual(shapes.filter((name) => !modules.some((source) => source.includes(`"${name}"`))), []));
test("each icon has a shape", () => {
  const names = modules.flatMap((source) => [...source.matchAll(/(?:\bicon="|<\$\{Icon\} name=")([^"]+)"/g)].map((m) => m[1]));
  assert.ok(names.length > 50);
  assert.deepEqual(names.filter((name) => !shapes.includes(name)), []);
});
