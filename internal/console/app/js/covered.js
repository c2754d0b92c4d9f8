// What a phone's keyboard covers. Where it lies over the page (iOS), the page ends above it.

const seen = window.visualViewport;
seen?.addEventListener("resize", () => {
  const covered = seen.scale > 1.01 ? 0 : Math.max(0, innerHeight - seen.height - seen.offsetTop);
  document.documentElement.style.setProperty("--covered", `${covered}px`);
});
export {};
