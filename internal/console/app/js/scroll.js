// The reader's place in a conversation. At the end it stays there while text grows. Above,
// nothing moves: earlier messages are added over what is read.

import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";

const near = 60; // pixels from the end that count as the end, for whoever comes down
const ahead = 300; // pixels from what is not drawn at which it is asked for

// place is where the reader is in the conversation that is open.
export const place = { atEnd: true };

/**
 * @param {boolean} ready the messages are there
 * @param {string} last what is drawn last, to say that something new came
 * @param {boolean} cut what is drawn does not go to the end of the conversation
 */
export function useScroll(ready, last, cut) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const atEnd = useRef(true);
  const held = useRef(/** @type {Held} */ ({ from: 0, seen: [] }));
  const [away, setAway] = useState(false);
  const [far, setFar] = useState(false);
  const be = (/** @type {boolean} */ end) => { place.atEnd = atEnd.current = end; };
  const keep = () => box.current && stay(box.current, atEnd.current, held.current);
  const toEnd = () => {
    be(true);
    setAway(false);
    setFar(false);
    keep();
  };
  useEffect(() => {
    const at = box.current;
    if (!at) return;
    const grown = new ResizeObserver(keep);
    grown.observe(at);
    if (at.firstElementChild) grown.observe(at.firstElementChild);
    const opens = (/** @type {Event} */ event) => { // what somebody opens stays under their finger
      if (!(/** @type {Element} */ (event.target).closest("summary"))) return;
      be(false);
      held.current = hold(at);
    };
    at.addEventListener("click", opens);
    return () => {
      grown.disconnect();
      at.removeEventListener("click", opens);
    };
  }, []);
  useLayoutEffect(() => {
    if (cut) be(false);
    keep();
  });
  useEffect(() => { if (!atEnd.current) setAway(true); }, [last]);
  useLayoutEffect(() => { if (ready) toEnd(); }, [ready]);
  // moved notes where the reader is. Only who goes up leaves the end: text that grew since
  // does not count.
  const moved = (/** @type {() => void} */ earlier, /** @type {() => void} */ later) => {
    const at = box.current;
    if (!at) return;
    const below = at.scrollHeight - at.scrollTop - at.clientHeight;
    const up = at.scrollTop < held.current.from - 1;
    be(!cut && (below < 2 || !up && (atEnd.current || below < near)));
    if (at.scrollTop !== held.current.from) held.current = hold(at); // else what grew is not yet made up for
    if (atEnd.current) setAway(false);
    setFar(below > 2 * at.clientHeight);
    if (at.scrollTop < ahead && ready && at.scrollHeight > at.clientHeight) earlier();
    else if (cut && below < ahead) later();
  };
  return { box, moved, away, far, toEnd, atEnd };
}

/**
 * Held is what the reader looks at: the first things in sight, the outer ones last, and where
 * they are. What is drawn anew is not there any more, but what it is in may be.
 * @typedef {{from: number, seen: {element: Element, top: number}[]}} Held
 */

/**
 * @param {HTMLElement} box
 * @returns {Held}
 */
function hold(box) {
  const edge = box.getBoundingClientRect().top;
  const seen = [];
  let inside = box.firstElementChild;
  while (inside) {
    const of = inside === box.firstElementChild ? [...inside.children].filter((e) => e.tagName === "ARTICLE") : [...inside.children];
    const element = of.find((e) => e.getBoundingClientRect().bottom > edge && e.clientHeight > 0);
    if (!element) break;
    const top = element.getBoundingClientRect().top - edge;
    seen.unshift({ element, top });
    inside = top < 0 ? element : null;
  }
  return { from: box.scrollTop, seen };
}

// stay keeps the reader's place when something came or went: at the end, or above or below them.
/**
 * @param {HTMLElement} box
 * @param {boolean} atEnd
 * @param {Held} held
 */
function stay(box, atEnd, held) {
  if (atEnd) box.scrollTop = box.scrollHeight;
  else if (Math.abs(box.scrollTop - held.from) < 1) {
    const there = held.seen.find(({ element }) => element.isConnected);
    if (there) box.scrollTop += there.element.getBoundingClientRect().top - box.getBoundingClientRect().top - there.top;
  } else return;
  held.from = box.scrollTop;
}
