// What is kept in this browser: drafts, messages that are not sent, choices. Storage can be
// full or off; then it is kept in the page only.

/**
 * @param {string} name
 * @returns {any} null if there is nothing, or it is damaged
 */
export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem("dragoman." + name) ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {string} name
 * @param {unknown} value undefined removes it
 */
export function keep(name, value) {
  try {
    if (value === undefined || value === "") localStorage.removeItem("dragoman." + name);
    else localStorage.setItem("dragoman." + name, JSON.stringify(value));
  } catch {
    // Storage is full or off.
  }
}

// keptNames are the names of entries that begin so.
/** @param {string} beginning */
export function keptNames(beginning) {
  try {
    return Object.keys(localStorage).filter((name) => name.startsWith("dragoman." + beginning)).map((name) => name.slice("dragoman.".length));
  } catch {
    return [];
  }
}
