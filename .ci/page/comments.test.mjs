// The daemon sends modules without the lines that begin like a comment. No text may have one.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { createRequire } from "node:module";

const root = path.join(import.meta.dirname, "../..");
const ts = createRequire(path.join(root, ".cache/page/package.json"))("typescript");
const folder = path.join(root, "internal/console/app/js");

/** The lines of texts in a module that would be lost. */
function lost(source) {
  const file = ts.createSourceFile("module.js", source, ts.ScriptTarget.Latest, true);
  const lines = source.split("\n");
  const found = [];
  const look = (node) => {
    const text = ts.isStringLiteralLike(node) || [ts.SyntaxKind.TemplateHead, ts.SyntaxKind.TemplateMiddle, ts.SyntaxKind.TemplateTail].includes(node.kind);
    if (text) {
      const first = file.getLineAndCharacterOfPosition(node.getStart()).line;
      const last = file.getLineAndCharacterOfPosition(node.end).line;
      for (let at = first + 1; at <= last; at++) if (/^\s*(\/\/|\/\*)/.test(lines[at])) found.push(at + 1);
    }
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}

test("a text that would lose a line is found", () => {
  assert.deepEqual(lost("const a = `\n// lost\n`;\n// fine\nconst b = `${a}\n  /* lost */`;\n"), [2, 6]);
});

for (const name of fs.readdirSync(folder, { recursive: true }).filter((n) => n.endsWith(".js"))) {
  test(`texts of ${name}`, () => assert.deepEqual(lost(fs.readFileSync(path.join(folder, name), "utf8")), []));
}
