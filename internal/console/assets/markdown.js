// Markdown to nodes, block by block. Rendered keeps one node for each block
// and makes only those anew whose source changed: while an answer streams that
// is the last one, and everything above it stays as it is, selection included.

import { inline } from "./inline.js";

const deepest = 8;
const longest = 4000; // of a line that can be a table's, in characters
const widest = 32; // columns; what is beyond is in the last one
const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const heading = /^ {0,3}(#{1,6}) +(.*)$/;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const quote = /^ {0,3}> ?/;
const item = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;
const delimiter = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*(\|\s*)?$/;

// Rendered shows Markdown inside one element.
export class Rendered {
  constructor(element) {
    this.element = element;
    this.shown = []; // {source, node}
  }

  update(text) {
    const next = split(text.replace(/\r\n?/g, "\n").split("\n"), 0);
    let same = 0;
    while (same < next.length && same < this.shown.length && this.shown[same].source === next[same].source) same++;
    for (const { node } of this.shown.splice(same)) node.remove();
    for (const block of next.slice(same)) {
      const node = block.make();
      this.element.append(node);
      this.shown.push({ source: block.source, node });
    }
  }
}

// split cuts lines into blocks: {source, make}.
function split(lines, depth) {
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at].trim() === "") {
      at++;
      continue;
    }
    const [kind, end, make] = next(lines, at, depth);
    blocks.push({ source: kind + "\n" + lines.slice(at, end).join("\n"), make });
    at = end;
  }
  return blocks;
}

// next finds the block that begins at line at: its kind, the line after it,
// and how to make its node.
function next(lines, at, depth) {
  const line = lines[at];
  const opened = fence.exec(line);
  if (opened) return codeBlock(lines, at, opened);
  const head = heading.exec(line);
  if (head) return ["h", at + 1, () => withText("h" + head[1].length, head[2].trim())];
  if (rule.test(line)) return ["hr", at + 1, () => document.createElement("hr")];
  if (depth < deepest && quote.test(line)) return quoteBlock(lines, at, depth);
  if (depth < deepest && item.test(line)) return listBlock(lines, at, depth);
  if (isTable(line, lines[at + 1] ?? "")) return tableBlock(lines, at);
  let end = at + 1;
  while (end < lines.length && !interrupts(lines[end]) && !isTable(lines[end], lines[end + 1] ?? "")) end++;
  return ["p", end, () => withText("p", lines.slice(at, end).map((l) => l.trimStart()).join("\n").trimEnd())];
}

function isTable(line, below) {
  return line.includes("|") && below.length < longest && below.includes("-") && delimiter.test(below) && cells(line).length === cells(below).length;
}

// interrupts says whether a line ends the paragraph before it.
function interrupts(line) {
  if (line.trim() === "" || fence.test(line) || heading.test(line) || quote.test(line) || rule.test(line)) return true;
  const found = item.exec(line);
  return found !== null && found[0].trim() !== line.trim() && (found[2].length === 1 || /^1[.)]$/.test(found[2]));
}

function withText(tag, text) {
  const element = document.createElement(tag);
  inline(element, text);
  element.dir = "auto"; // last: with it, every child that is added is looked at again
  return element;
}

function codeBlock(lines, at, [, mark, info]) {
  let end = at + 1;
  const closing = new RegExp("^ {0,3}" + mark[0] + "{" + mark.length + ",}\\s*$");
  while (end < lines.length && !closing.test(lines[end])) end++;
  const said = info.trim();
  const named = /^\S{0,30}$/.test(said); // else it is text, and no language
  const body = lines.slice(at + 1, end);
  if (!named) body.unshift(said);
  const make = () => {
    const block = document.createElement("div");
    const bar = document.createElement("div");
    const language = document.createElement("span");
    const copy = document.createElement("button");
    const pre = document.createElement("pre");
    const code = document.createElement("code");
    block.className = "block";
    bar.className = "bar";
    language.textContent = (named && said) || "text";
    copy.type = "button";
    copy.className = "copy";
    copy.textContent = "Copy";
    pre.tabIndex = 0;
    code.textContent = body.join("\n");
    bar.append(language, copy);
    pre.append(code);
    block.append(bar, pre);
    return block;
  };
  return ["code", Math.min(end + 1, lines.length), make];
}

function quoteBlock(lines, at, depth) {
  let end = at;
  while (end < lines.length && quote.test(lines[end])) end++;
  const inner = lines.slice(at, end).map((l) => l.replace(quote, ""));
  return ["q", end, () => fill(document.createElement("blockquote"), inner, depth + 1)];
}

function fill(parent, lines, depth) {
  for (const block of split(lines, depth)) parent.append(block.make());
  return parent;
}

// listBlock takes the items of one kind at one indentation, with everything
// that is indented below them.
function listBlock(lines, at, depth) {
  const first = item.exec(lines[at]);
  const ordered = first[2].length > 1;
  const items = [];
  let end = at;
  for (let loose = 0; end < lines.length; end++) {
    const line = lines[end];
    const found = item.exec(line);
    const indent = /^ */.exec(line)[0].length;
    if (line.trim() === "") {
      loose++;
      items.at(-1).lines.push("");
      continue;
    }
    if (found && indent <= first[1].length + 1 && !rule.test(line)) {
      if (found[2].length > 1 !== ordered) break;
      items.push({ indent: found[0].length, lines: [line.slice(found[0].length)] });
    } else if (indent > first[1].length || loose === 0 && !interrupts(line)) {
      items.at(-1).lines.push(line.slice(Math.min(indent, items.at(-1).indent)));
    } else break;
    loose = 0;
  }
  while (lines[end - 1].trim() === "") end--;
  const make = () => {
    const list = document.createElement(ordered ? "ol" : "ul");
    if (ordered) list.start = parseInt(first[2], 10);
    for (const { lines: inner } of items) list.append(listItem(inner, depth));
    return list;
  };
  return ["l", end, make];
}

function listItem(lines, depth) {
  const li = document.createElement("li");
  const task = /^\[([ xX])\]\s+/.exec(lines[0]);
  if (task) {
    lines = [lines[0].slice(task[0].length), ...lines.slice(1)];
    li.className = "task";
    li.append(task[1] === " " ? "☐ " : "☑ ");
  }
  const blocks = split(lines, depth + 1);
  const tight = !lines.slice(0, -1).some((l, i) => l === "" && lines[i + 1] !== "");
  for (const block of blocks) {
    const node = block.make();
    if (node.tagName === "P" && (tight || task)) {
      node.removeAttribute("dir"); // with it, all children are looked at again whenever one leaves
      li.append(...node.childNodes);
    } else li.append(node);
  }
  li.dir = "auto";
  return li;
}

function cells(line) {
  const row = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return row.split(/(?<!\\)\|/).map((c) => c.trim().replace(/\\\|/g, "|"));
}

function tableBlock(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim() !== "") end++;
  const make = () => {
    const align = cells(lines[at + 1]).map((c) => (/^:-+:$/.test(c) ? "center" : c.endsWith(":") ? "right" : ""));
    const frame = document.createElement("div");
    const table = document.createElement("table");
    const head = table.createTHead();
    const body = table.createTBody();
    frame.className = "table";
    frame.tabIndex = 0;
    row(head, "th", cells(lines[at]), align);
    for (const line of lines.slice(at + 2, end)) row(body, "td", cells(line), align);
    frame.append(table);
    return frame;
  };
  return ["t", end, make];
}

function row(section, tag, texts, align) {
  const tr = section.insertRow();
  if (texts.length > widest) texts = [...texts.slice(0, widest - 1), texts.slice(widest - 1).join(" | ")];
  for (let i = 0; i < Math.max(texts.length, Math.min(align.length, widest)); i++) {
    const cell = withText(tag, texts[i] ?? "");
    if (tag === "th") cell.scope = "col";
    if (align[i]) cell.className = align[i];
    tr.append(cell);
  }
}
