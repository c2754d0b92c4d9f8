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
