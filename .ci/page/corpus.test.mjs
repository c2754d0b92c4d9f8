// The page's renderer reads each text of the corpus as goldmark does: see the corpus's first lines.
import "./dom.mjs";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";

const consoleFolder = path.join(import.meta.dirname, "../../internal/console");
const { Rendered } = await import(path.join(consoleFolder, "app/js/markdown.js"));
const { keepFormulas } = await import(path.join(consoleFolder, "app/js/formula.js"));

/** The sections of a txtar archive, by name. */
function sections(text) {
  const parts = text.split(/^-- (.+) --\n/m);
  return new Map(parts.slice(1).reduce((found, part, i, all) => (i % 2 ? found : [...found, [part, all[i + 1]]]), []));
}

const blocks = /^(P|H[1-6]|HR|BLOCKQUOTE|UL|OL|DIV)$/;
const marks = { STRONG: "b", EM: "i", DEL: "s", CODE: "code" };

function inside(node) {
  let written = "";
  let before;
  for (const child of node.childNodes) {
    const block = blocks.test(child.tagName ?? "");
    if (before !== undefined && (block || before)) written += "\n";
    written += plain(child);
    before = block;
  }
  return written;
}

// address is that of a link. One that shows its own address is text for the networks, which make it a link.
function link(a) {
  const shown = inside(a);
  return [a.href, a.href.replace(/\/$/, "")].includes(shown) ? shown : `a(${a.href} ${shown})`;
}

function item(li, mark) {
  return mark + inside(li).replaceAll("\n", "\n  ");
}

function plain(node) {
  const tag = node.tagName;
  if (tag === undefined) return node.textContent.replaceAll("\n", "↵");
  if (tag === "BR") return "↵";
  if (tag === "HR") return "———";
  if (tag === "A") return link(node);
  if (marks[tag]) return `${marks[tag]}(${inside(node)})`;
  if (/^H\d$/.test(tag)) return `# ${inside(node)}`;
  if (tag === "BLOCKQUOTE") return `> ${inside(node).replaceAll("\n", "\n> ")}`;
  if (tag === "UL") return node.childNodes.map((li) => item(li, "- ")).join("\n");
  if (tag === "OL") return node.childNodes.map((li, i) => item(li, `${(node.start ?? 1) + i}. `)).join("\n");
  if (node.className === "block") return code(node);
  if (node.className === "table") return rows(node).join("\n");
  return inside(node);
}

function code(block) {
  const language = block.childNodes[0].childNodes[0].textContent;
  return `\`\`\`${language === "text" ? "" : language}\n${block.childNodes[1].textContent}\n\`\`\``;
}

function rows(node) {
  if (node.tagName !== "TR") return (node.childNodes ?? []).flatMap(rows);
  return [`${node.childNodes.map((cell) => `| ${inside(cell)} `).join("")}|`];
}

const corpus = sections(fs.readFileSync(path.join(consoleFolder, "testdata/markdown.txtar"), "utf8"));
for (const [name, text] of corpus) {
  if (!name.endsWith(".md")) continue;
  test(name, () => {
    const root = document.createElement("div");
    new Rendered(root).update(text, keepFormulas);
    assert.equal(`${inside(root)}\n`, corpus.get(name.replace(/md$/, "want")).replace(/^```text$/gm, "```"));
  });
}
