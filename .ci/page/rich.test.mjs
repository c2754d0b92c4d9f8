// Colours of code and formulas: what the libraries give becomes nodes, and nothing is lost.
import "./dom.mjs";
import "./unpack.mjs";
import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";

const js = path.join(import.meta.dirname, "../../internal/console/app/js");
const { coloured } = await import(path.join(js, "colours.js"));
const { formulaNode } = await import(path.join(js, "maths.js"));
const { formulas } = await import(path.join(js, "formula.js"));

/** A node that holds what was made. */
function held(nodes) {
  const root = document.createElement("code");
  root.append(...nodes);
  return root;
}

/** The classes of a tree, each once. */
const classes = (node) => [...new Set([node.className, ...(node.childNodes ?? []).flatMap(classes)])].filter(Boolean);

const codes = {
  go: "// A rod <b>throws</b> a shadow.\nfunc angle(h float64) string { return \"15 * \" + `h` }",
  py: "def angle(h):\n    \"\"\"A shadow.\"\"\"\n    return 15 * (h - 12) if h else None",
  js: "const at = `h: ${hours * 15}`; // so",
  Dockerfile: "FROM scratch\nRUN for h in 9 12; do echo \"$h\"; done",
  html: "<a href=\"/x?a=1&b=2\">shadow</a> &amp; <script>let a = 1 < 2;</script>",
  json: "{\"hours\": [9, 12], \"sun\": true}",
  sh: "for h in 9 12; do echo \"$h\" | sed 's/^/h: /'; done # so",
  yaml: "hours:\n  - 9 # so\n  - \"12\"",
  diff: "--- a\n+++ b\n-old\n+new",
  sql: "SELECT hour FROM sun WHERE shadow > 1.5 AND name = 'gnomon';",
};
for (const [language, code] of Object.entries(codes)) {
  test(`colours of ${language}`, async () => {
    const root = held(await coloured(code, language));
    assert.equal(root.textContent, code);
    assert.ok(classes(root).length > 0 && classes(root).every((name) => name.startsWith("tok-")), String(classes(root)));
  });
}

test("no colours", async () => {
  assert.equal(await coloured("x", "nolanguage"), undefined);
  assert.equal(await coloured("x", "constructor"), undefined);
  assert.equal(await coloured("x".repeat(50_001), "go"), undefined);
});

/** The tags of a tree. */
const tags = (node) => [node.tagName, ...(node.childNodes ?? []).flatMap(tags)].filter(Boolean);

test("formulas are MathML", () => {
  for (const source of ["\\(\\frac{a}{b}\\)", "$x_1^2$", "$$\\int_0^1 x\\,dx$$", "\\[ a = b \\]", "\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}"]) {
    const node = formulaNode(source);
    assert.ok(tags(node).includes("MATH"), `${source}: ${tags(node)}`);
  }
  assert.ok(tags(formulaNode("\\(\\frac{a}{b}\\)")).includes("MFRAC"));
});

test("a wrong formula is none", () => {
  for (const source of ["\\(\\frac{a\\)", "$x^{$", "\\(\\nosuch\\)", `$${"x_1".repeat(2000)}$`]) assert.equal(formulaNode(source), undefined, source);
});

test("a formula leads nowhere and loads nothing", () => {
  for (const source of ["\\(\\href{https://a.example}{x}\\)", "\\(\\includegraphics{https://a.example/b.png}\\)", "\\(\\style{color:red}{x}\\)", "\\(\\def\\a{\\a\\a}\\a\\)"]) {
    const node = formulaNode(source);
    const found = node ? tags(node) : [];
    assert.deepEqual(found.filter((tag) => ["A", "IMG"].includes(tag)), [], source);
  }
});

test("no style attribute is left", () => {
  const styles = (node) => [node.attributes?.style, ...(node.childNodes ?? []).flatMap(styles)].filter(Boolean);
  assert.deepEqual(styles(formulaNode("\\(\\pmb{x} \\prescript{a}{b}{C}\\)")), []);
});

test("hostile text is read in the time of any other", () => {
  for (const part of ["$a_1 ", "\\( ", "\\[", "`", "``a`", "\\begin{a}", "$$ ", "\\begin{aaaaaaaaaa"]) {
    const began = performance.now();
    formulas(part.repeat(20_000));
    assert.ok(performance.now() - began < 500, `${part}: ${performance.now() - began} ms`);
  }
});
