// As much of a document as the Markdown renderer uses, so that node can run it.

class Text {
  constructor(data) { this.data = data; }
  get textContent() { return this.data; }
}

class Element {
  constructor(tag) {
    this.tagName = tag.toUpperCase();
    this.childNodes = [];
    this.attributes = {};
    this.style = {};
  }
  append(...children) {
    for (const child of children) {
      const node = child instanceof Text || child instanceof Element ? child : new Text(String(child));
      node.remove?.();
      node.parent = this;
      this.childNodes.push(node);
    }
  }
  replaceChildren(...children) {
    for (const child of this.childNodes) delete child.parent;
    this.childNodes = [];
    this.append(...children);
  }
  appendChild(child) { this.append(child); }
  remove() {
    const siblings = this.parent?.childNodes;
    if (siblings?.includes(this)) siblings.splice(siblings.indexOf(this), 1);
  }
  get textContent() { return this.childNodes.map((n) => n.textContent).join(""); }
  set textContent(text) { this.childNodes = [new Text(text)]; }
  setAttribute(name, value) { this.attributes[name] = value; }
  removeAttribute(name) { delete this.attributes[name]; }
  section(tag) {
    const made = new Element(tag);
    this.append(made);
    return made;
  }
  createTHead() { return this.section("thead"); }
  createTBody() { return this.section("tbody"); }
  insertRow() { return this.section("tr"); }
}

globalThis.document = {
  createElement: (tag) => new Element(tag),
  createElementNS: (_, tag) => new Element(tag),
  createTextNode: (data) => new Text(data),
  createDocumentFragment: () => new Element("fragment"),
};
