// Markdown inside a line: emphasis, code, links. What comes in was written by
// anybody; what goes out are nodes, never markup, so nothing in it can become
// more than the elements named here.
//
// Every marker is looked for at most once in vain, and nesting is bounded, so
// the time grows with the length of the text and not with its malice.

const deepest = 12;

const pairs = [
  ["***", ["em", "strong"]],
  ["**", ["strong"]],
  ["__", ["strong"]],
  ["~~", ["del"]],
  ["*", ["em"]],
  ["_", ["em"]],
];

// href returns the address if it is one that a link may lead to, or "".
export function href(address) {
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return "";
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}

export function link(address, text) {
  const a = document.createElement("a");
  a.href = address;
  a.target = "_blank";
  a.rel = "noopener noreferrer nofollow";
  a.title = address;
  if (text !== undefined) a.textContent = text;
  return a;
}

// inline appends what text says to parent. Inside a link there are no links.
export function inline(parent, text, depth = 0, links = true) {
  new Line(parent, text, depth, links).run();
}

class Line {
  constructor(parent, text, depth, links) {
    this.parent = parent;
    this.text = text;
    this.depth = depth;
    this.links = links;
    this.at = 0;
    this.plain = "";
    this.hopeless = new Set(); // markers that have no end from here on
  }

  run() {
    while (this.at < this.text.length) {
      if (!this.special()) this.plain += this.text[this.at++];
    }
    this.flush();
  }

  flush() {
    if (this.plain) this.parent.append(this.plain);
    this.plain = "";
  }

  put(node, next) {
    this.flush();
    this.parent.append(node);
    this.at = next;
    return true;
  }

  special() {
    switch (this.text[this.at]) {
      case "\n":
        this.plain = this.plain.trimEnd();
        return this.put(document.createElement("br"), this.at + 1);
      case "\\":
        return this.escape();
      case "`":
        return this.code();
      case "!":
        return this.text[this.at + 1] === "[" && this.reference(this.at + 1);
      case "[":
        return this.reference(this.at);
      case "<":
        return this.tag() || this.address();
      case "h":
        return this.address();
      case "*":
      case "_":
      case "~":
        return this.emphasis();
    }
    return false;
  }

  escape() {
    if (!/[!-/:-@[-`{-~]/.test(this.text[this.at + 1] ?? "")) return false;
    this.plain += this.text[this.at + 1];
    this.at += 2;
    return true;
  }

  code() {
    const ticks = /^`+/.exec(this.text.slice(this.at, this.at + 20))[0];
    const end = this.hopeless.has(ticks) ? -1 : closeTicks(this.text, this.at + ticks.length, ticks);
    if (end < 0) {
      this.hopeless.add(ticks);
      this.plain += ticks;
      this.at += ticks.length;
      return true;
    }
    const code = document.createElement("code");
    code.textContent = this.text.slice(this.at + ticks.length, end).replace(/\n/g, " ").replace(/^ (.+) $/, "$1");
    return this.put(code, end + ticks.length);
  }

  // reference is [text](address), with or without the "!" of a picture, which
  // becomes a link too: nothing is loaded from elsewhere.
  reference(open) {
    if (!this.links || this.hopeless.has("](")) return false;
    if (!this.text.includes("](", open)) {
      this.hopeless.add("](");
      return false;
    }
    const close = bracket(this.text, open);
    if (close < 0 || this.text[close + 1] !== "(") return false;
    const target = /^\(\s*<?((?:[^\s()<>]|\([^\s()<>]*\))*)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/.exec(this.text.slice(close + 1, close + 2100));
    if (!target) return false;
    const address = href(target[1]);
    if (!address) return false;
    const a = link(address);
    const label = this.text.slice(open + 1, close);
    if (label.trim() === "" || this.depth >= deepest) a.textContent = label.trim() || address;
    else inline(a, label, this.depth + 1, false);
    return this.put(a, close + 1 + target[0].length);
  }

  // tag is the one that models write in place of Markdown: a line break.
  tag() {
    const found = /^<br\s*\/?>\n?/i.exec(this.text.slice(this.at, this.at + 10));
    return found && this.put(document.createElement("br"), this.at + found[0].length);
  }

  // address is a bare https://… or one in <>.
  address() {
    if (!this.links) return false;
    const rest = this.text.slice(this.at, this.at + 2100);
    const framed = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/i.exec(rest);
    if (framed && href(framed[1])) return this.put(link(href(framed[1]), framed[1]), this.at + framed[0].length);
    if (/\w/.test(this.text[this.at - 1] ?? "")) return false;
    const bare = /^https?:\/\/[^\s<>"'`\\]+/i.exec(rest);
    if (!bare) return false;
    let shown = bare[0].replace(/[.,;:!?*_~]+$/, "");
    while (shown.endsWith(")") && shown.split(")").length > shown.split("(").length) shown = shown.slice(0, -1);
    const address = href(shown);
    return address ? this.put(link(address, shown), this.at + shown.length) : false;
  }

  emphasis() {
    if (this.depth >= deepest) return false;
    for (const [mark, tags] of pairs) {
      if (!this.text.startsWith(mark, this.at)) continue;
      const begin = this.at + mark.length;
      const end = this.opens(mark, begin) ? this.close(mark, begin) : -1;
      if (end < 0) continue;
      let inner;
      let outer;
      for (const tag of tags) {
        const element = document.createElement(tag);
        if (inner) inner.append(element);
        else outer = element;
        inner = element;
      }
      inline(inner, this.text.slice(begin, end), this.depth + 1, this.links);
      return this.put(outer, end + mark.length);
    }
    const run = /^[*_~]+/.exec(this.text.slice(this.at, this.at + 1000))[0]; // no marker after all
    this.plain += run;
    this.at += run.length;
    return true;
  }

  opens(mark, begin) {
    if (/^$|\s/.test(this.text[begin] ?? "")) return false;
    return mark[0] !== "_" || !/[\p{L}\p{N}]/u.test(this.text[this.at - 1] ?? "");
  }

  // close finds the end of an emphasis, or -1.
  close(mark, begin) {
    if (this.hopeless.has(mark)) return -1;
    for (let i = begin; i < this.text.length; i++) {
      const c = this.text[i];
      if (c === "\\") i++;
      else if (c === "`") {
        const ticks = /^`+/.exec(this.text.slice(i, i + 20))[0];
        const end = this.hopeless.has(ticks) ? -1 : closeTicks(this.text, i + ticks.length, ticks);
        if (end < 0) this.hopeless.add(ticks);
        i = (end < 0 ? i : end) + ticks.length - 1;
      } else if (c === mark[0]) {
        let run = 1;
        while (this.text[i + run] === c) run++;
        const fits = run >= mark.length && (mark.length > 1 || run !== 2);
        const tight = i > begin && !/\s/.test(this.text[i - 1]);
        const free = c !== "_" || !/[\p{L}\p{N}]/u.test(this.text[i + run] ?? "");
        if (fits && tight && free) return i + run - mark.length;
        i += run - 1;
      }
    }
    this.hopeless.add(mark);
    return -1;
  }
}

// closeTicks finds a run of exactly these backquotes, or -1.
function closeTicks(text, from, ticks) {
  for (let i = text.indexOf(ticks, from); i >= 0; i = text.indexOf(ticks, i)) {
    let end = i;
    while (text[end] === "`") end++;
    if (end - i === ticks.length) return i;
    i = end;
  }
  return -1;
}

// bracket finds the "]" that belongs to the "[" at open, near it, or -1.
function bracket(text, open) {
  let depth = 0;
  for (let i = open; i < Math.min(text.length, open + 1000); i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === "[") depth++;
    else if (text[i] === "]" && --depth === 0) return i;
  }
  return -1;
}
