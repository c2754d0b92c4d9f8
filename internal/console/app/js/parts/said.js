// What the daemon says, marked as English where the page speaks another language and has no
// words for it: it is read aloud as what it is, and in Arabic its signs stay in their places.

import { html } from "../../vendor/preact.js";
import { sentence, told } from "../told.js";

// Said shows words of the daemon as a sentence of its own, or as a part of one.
/** @param {{of?: string, part?: boolean}} props */
export function Said({ of = "", part }) {
  const words = part ? told(of) : sentence(of);
  return words && told(of) === of ? html`<${English}>${words}<//>` : words;
}

// English is a text that the page has in no other language.
/** @param {{children: any}} props */
export const English = ({ children }) => (document.documentElement.lang === "en" ? children : html`<bdi lang="en" dir="ltr">${children}</bdi>`);
