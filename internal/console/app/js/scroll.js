// The reader's place in a conversation. At the end it stays there while text grows. Above,
// nothing moves: earlier messages are added over what is read.

import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";

const near = 60; // pixels from the end that count as the end

/**
 * @param {boolean} ready the messages are there
 * @param {string} last what is drawn last, to say that something new came
 */
export function useScroll(ready, last) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const atEnd = useRef(true);
  const top = useRef({ height: 0, from: 0 });
  const [away, setAway] = useState(false);
  const toEnd = () => {
    atEnd.current = true;
    setAway(false);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  };
  useEffect(() => {
    if (!box.current) return;
    const grown = new ResizeObserver(() => stay(box.current, atEnd.current, top.current));
    grown.observe(box.current);
    if (box.current.firstElementChild) grown.observe(box.current.firstElementChild);
    return () => grown.disconnect();
  }, []);
  useLayoutEffect(() => stay(box.current, atEnd.current, top.current));
  useEffect(() => { if (!atEnd.current) setAway(true); }, [last]);
  useLayoutEffect(() => { if (ready) toEnd(); }, [ready]);
  // moved notes where the reader is. Growing text moves nobody away from the end, because
  // it does not scroll.
  const moved = (/** @type {() => void} */ earlier) => {
    const at = box.current;
    if (!at) return;
    atEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < near;
    top.current = { height: at.scrollHeight, from: at.scrollTop };
    if (atEnd.current) setAway(false);
    if (at.scrollTop < 300 && ready && at.scrollHeight > at.clientHeight) earlier();
  };
  return { box, moved, away, toEnd };
}

// stay keeps the reader's place when something was added: at the end, or above them.
/**
 * @param {HTMLElement | null} box
 * @param {boolean} atEnd
 * @param {{height: number, from: number}} top
 */
function stay(box, atEnd, top) {
  if (!box) return;
  if (atEnd) box.scrollTop = box.scrollHeight;
  else if (top.from < 300 && box.scrollHeight > top.height && box.scrollTop === top.from) box.scrollTop += box.scrollHeight - top.height;
  top.height = box.scrollHeight;
}
