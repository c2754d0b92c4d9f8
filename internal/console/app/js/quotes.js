// A quote is the first lines of a message, each with "> " before it.

// quoted splits a text into the lines that it quotes at its beginning, and the rest.
/** @param {string} text */
export function quoted(text) {
  const found = /^((?:>.*\n?)+)\n*([\s\S]*)$/.exec(text);
  if (!found || !found[2]) return { quote: "", text };
  return { quote: found[1].replace(/^> ?/gm, "").trim(), text: found[2] };
}

// withQuote puts a quote before a text.
/**
 * @param {string} quote
 * @param {string} text
 */
export const withQuote = (quote, text) => (quote ? `${quote.trim().slice(0, 400).replace(/^/gm, "> ")}\n\n${text}` : text);

// unnamed is a text without the name of its author, which stands after what it quotes.
/**
 * @param {{name?: string}} m
 * @param {string} text
 */
export function unnamed(m, text) {
  const at = text.startsWith("> ") ? text.indexOf("\n\n") + 2 : 0;
  const name = `${m.name}: `;
  return text.startsWith(name, at) ? text.slice(0, at) + text.slice(at + name.length) : text;
}
