// The reader's place in a conversation. At the end it stays there while text grows. Above,
// nothing moves: earlier messages are added over what is read.

import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";

const near = 60; // pixels from the end that count as the end
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
  const held = useRef(/** @type {Held} */ ({ from: 0, top: 0 }));
  const [away, setAway] = useState(false);
  const [far, setFar] = useState(false);
  const toEnd = () => {
    place.atEnd = atEnd.current = true;
    setAway(false);
    setFar(false);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  };
  useEffect(() => {
    if (!box.current) return;
    const grown = new ResizeObserver(() => stay(box.current, atEnd.current, held.current));
    grown.observe(box.current);
    if (box.current.firstElementChild) grown.observe(box.current.firstElementChild);
    return () => grown.disconnect();
  }, []);
  useLayoutEffect(() => stay(box.current, atEnd.current, held.current));
  useEffect(() => { if (!atEnd.current) setAway(true); }, [last]);
  useLayoutEffect(() => { if (ready) toEnd(); }, [ready]);
  // moved notes where the reader is. Growing text moves nobody away from the end, because
  // it does not scroll.
  const moved = (/** @type {() => void} */ earlier, /** @type {() => void} */ later) => {
    const at = box.current;
    if (!at) return;
    const below = at.scrollHeight - at.scrollTop - at.clientHeight;
    place.atEnd = atEnd.current = !cut && below < near;
    held.current = hold(at);
    if (atEnd.current) setAway(false);
    setFar(below > 2 * at.clientHeight);
    if (at.scrollTop < ahead && ready && at.scrollHeight > at.clientHeight) earlier();
    else if (cut && below < ahead) later();
  };
  return { box, moved, away, far, toEnd, atEnd };
}

/**
 * Held is what the reader looks at: the first element in sight, and where it is.
 * @typedef {{from: number, top: number, element?: HTMLElement}} Held
 */

/**
 * @param {HTMLElement} box
 * @returns {Held}
 */
function hold(box) {
  const all = /** @type {HTMLElement[]} */ ([...(box.firstElementChild?.children ?? [])]);
  const element = all.find((e) => e.tagName === "ARTICLE" && e.offsetTop + e.offsetHeight > box.scrollTop);
  return { from: box.scrollTop, top: element?.offsetTop ?? 0, element };
}

// stay keeps the reader's place when something came or went: at the end, or above or below them.
/**
 * @param {HTMLElement | null} box
 * @param {boolean} atEnd
 * @param {Held} held
 */
function stay(box, atEnd, held) {
  if (!box) return;
  if (atEnd) box.scrollTop = box.scrollHeight;
  else if (held.element?.isConnected && Math.abs(box.scrollTop - held.from) < 1) {
    const by = held.element.offsetTop - held.top;
    if (!by) return;
    box.scrollTop += by;
    held.top += by;
    held.from = box.scrollTop;
  }
}
