// show brings a message into the middle of what is seen, and marks it. The messages of one
// answer are one.
/** @param {number} seq */
export function show(seq) {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".chat [data-seq]")]);
  const at = all.find((e) => Number(e.dataset.seq) >= seq);
  for (const e of all) e.classList.toggle("target", e === at);
  at?.closest("details")?.setAttribute("open", "");
  at?.scrollIntoView({ block: "center" });
}
