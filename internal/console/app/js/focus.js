// focusSoon gives the focus to an element that a view is about to draw.
/** @param {string} id */
export function focusSoon(id, frames = 90) {
  const at = document.getElementById(id);
  if (at) at.focus();
  else if (frames) requestAnimationFrame(() => focusSoon(id, frames - 1));
}
