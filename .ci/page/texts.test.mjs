// Each language has every sentence of the page, with the same places for values.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { createRequire } from "node:module";

const root = path.join(import.meta.dirname, "../..");
const ts = createRequire(path.join(root, ".cache/page/package.json"))("typescript");
const app = path.join(root, "internal/console/app");

/** The texts that an argument can be. */
function choices(node) {
  if (ts.isStringLiteralLike(node)) return [node.text];
  return ts.isConditionalExpression(node) ? [...choices(node.whenTrue), ...choices(node.whenFalse)] : [];
}

/** The sentences of a module: what t, says and plural are called with, and the titles of views. */
function sentences(name) {
  const file = ts.createSourceFile(name, fs.readFileSync(name, "utf8"), ts.ScriptTarget.Latest, true);
  const found = [];
  const look = (node) => {
    const called = ts.isCallExpression(node) && node.expression.getText();
    if (called === "t" && node.arguments.length) found.push(...choices(node.arguments[0]));
    if (called === "says" && node.arguments.length) found.push(...choices(node.arguments.at(-1))); // the first may be the daemon's words
    if (called === "plural") found.push(...choices(node.arguments[1]), ...choices(node.arguments[2]));
    if (name.endsWith("places.js") && ts.isPropertyAssignment(node) && node.name.getText() === "title") found.push(...choices(node.initializer));
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}

const modules = fs.readdirSync(path.join(app, "js"), { recursive: true }).filter((n) => n.endsWith(".js"));
const form = fs.readFileSync(path.join(app, "../login.html"), "utf8"); // login.js replaces what has data-t
const all = new Set([...modules.flatMap((n) => sentences(path.join(app, "js", n))), ...[...form.matchAll(/data-t>([^<]*)</g)].map((m) => m[1])]);
const places = (text) => (text.match(/\{\d\}/g) ?? []).sort().join("");

test("the sentences are found", () => assert.ok(all.has("The queue is empty") && all.has("Health") && all.has("One delivery was given up.")));
for (const name of fs.readdirSync(path.join(app, "texts"))) {
  const texts = JSON.parse(fs.readFileSync(path.join(app, "texts", name), "utf8"));
  test(`${name} lacks nothing`, () => assert.deepEqual([...all].filter((s) => !(s in texts)), []));
  test(`${name} has the places for values`, () => assert.deepEqual(Object.keys(texts).filter((s) => !s.startsWith("@") && places(s) !== places(texts[s])), []));
}

// A page in Arabic is mirrored because style sheets speak of beginnings and ends.
const physical = /(?<![\w-])((margin|padding|border|inset|scroll-margin|scroll-padding)-(left|right)|(border-(top|bottom)-(left|right)-radius)|left|right|(text-align|float|clear)\s*:\s*(left|right))(?=\s*[:;])/;
for (const name of fs.readdirSync(path.join(app, "css"))) {
  test(`${name} knows no left and right`, () => {
    const lines = fs.readFileSync(path.join(app, "css", name), "utf8").split("\n");
    assert.deepEqual(lines.filter((line) => physical.test(line)), []);
  });
}
