// element makes a node of the page from its properties and what is in it.
// Text stays text.
export function element(tag, properties, ...children) {
  const node = document.createElement(tag);
  Object.assign(node, properties);
  node.append(...children);
  return node;
}

const svg = "http://www.w3.org/2000/svg";

// drawing is element for pictures, whose properties are attributes.
export function drawing(tag, attributes, ...children) {
  const node = document.createElementNS(svg, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
