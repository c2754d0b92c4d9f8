import { useEffect, useState } from "../vendor/preact.js";

// useInSight says whether an element is or was near to what the reader sees.
/** @param {{current: Element | null}} ref */
export function useInSight(ref) {
  const [seen, see] = useState(false);
  useEffect(() => {
    if (!ref.current || seen) return;
    const margins = /** @type {IntersectionObserverInit} */ ({ rootMargin: "400px", scrollMargin: "400px" });
    const watch = new IntersectionObserver((/** @type {IntersectionObserverEntry[]} */ entries) => {
      if (entries.some((e) => e.isIntersecting)) see(true);
    }, margins);
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, [seen]);
  return seen;
}
