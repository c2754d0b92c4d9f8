// The text of an answer while it is written. Each piece says where it belongs, so one that
// comes twice, or before the beginning is known, does no harm.

/**
 * Written is a text from a place on: 0 is its beginning, undefined that nothing is known.
 * @typedef {{text: string, from?: number}} Written
 */

/**
 * @param {Written} written
 * @param {string} piece
 * @param {number} [at] where it belongs
 * @returns {Written}
 */
export function withPiece({ text, from }, piece, at = 0) {
  if (from === undefined || at < from || at > from + text.length) return { text: piece, from: at };
  return { text: text.slice(0, at - from) + piece, from };
}

// withBeginning adds what the server had of the text at some moment, before or after the last
// piece.
/**
 * @param {Written} written
 * @param {string} known
 * @returns {Written}
 */
export function withBeginning({ text, from }, known) {
  if (from === undefined) return { text: known, from: 0 };
  if (from > known.length) return { text, from };
  const whole = known.slice(0, from) + text;
  return { text: known.startsWith(whole) ? known : whole, from: 0 };
}
