// What the daemon says in words of its own, in the page's language. The API speaks English;
// these are the sentences of it that views show. Any other is shown as it is.

import { t } from "./text.js";

// says is a sentence of the daemon's, how it is known again, and what is shown for it. The
// places for values are as those of t.
/**
 * @param {string} text
 * @param {string} [shown]
 */
function says(text, shown = text) {
  const escaped = text.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  return { text: shown, pattern: new RegExp(`^${escaped.replace(/\{\d\}/g, "(.+?)")}$`, "su") };
}

// Of two that fit, the first counts.
const known = [
  says("it was paused"), says("{0} paused it"), // jobs
  says("it came due while the daemon could not run it"), says("at least {0} occurrences came due while the daemon could not run them"),
  says("{0} occurrences came due while the daemon could not run them"), says("{0} earlier occurrences are not finished"),
  says("outside of the active hours {0}"), says("too late for the active hours {0}"),
  says("the question is too long ({0}, at most {1})"), says("the question is empty"), // refused messages
  says("it runs a program"), says("the configuration asks for a yes"), says("foreign words were read"), // questions about calls
  says("words of somebody else were read ({0})"), says("words of somebody else were read"), says("a page of the web was read ({0})"),
  says("a page of the web was read"), says("a file was read ({0})"), says("a file was read"), says("something that I was told earlier was read"),
  says("words from the server {0} were read"), says("words that came in by {0} were read"), says("the skill {0} was used"),
  says("it waits for a yes: {0}", "Somebody must say yes or no. The code of the question is {0}."), // the queue
  says("it waits for an answer to a server's question", "A form waits to be filled in."),
  says("retry after {0}: not sent: telegram: the bot was blocked or removed, or may not write; {1}", "The bot was blocked or removed, or may not write there. The message waits until it may."),
  says("{0}: model.prices: the model has no price, {1}", "The model has no price, so limits in money do not count what it uses. Set model.prices, or count tokens."), // health
  says("the last picture was not drawn: {0}"), says("the last voice message was not written down: {0}"), says("the last answer was not spoken: {0}"),
  says("the last question was not answered: {0}", "the last search was not answered: {0}"), says("the model is not offered commands: {0}"), says("PDFs are kept and cannot be read: {0}"),
  says("this device is not linked to a phone"), says("needs pairing: this device is not linked to a phone; run: dragoman login {0}"), says("not started"), // channels
  says("the summary of {0} failed on {1}: {2} (nothing is lost, and a later turn tries again)"), // warnings
  says("the model's server does not accept my key, so I cannot answer now"), // answers that failed
  says("the model's server refuses my requests, so I cannot answer now"),
  says("I am not allowed to use the model that I am set to use, so I cannot answer now"),
  says("the model that I am set to use does not exist on its server, so I cannot answer now"),
  says("the account that pays for the model has no credit left, so I cannot answer now"),
  says("nothing answers at the address that I have for the model, so I cannot answer now"),
  says("I could not reach the model for a while, so I have given up on this message. Please ask again later"),
  says("the model was overloaded for a while, so I have given up on this message. Please ask again later"),
  says("the model took too long, so I have given up on this message. Please ask again later"),
  says("something went wrong on my side and I could not answer this"),
  says("the model's provider filters this message. Please say it in other words"),
  says("The model gave an empty answer. Please ask again, or in other words."),
  says("The model's provider filtered the answer. Please say it in other words."),
];

// told is what the daemon said, in the page's language where it has it.
/** @param {string} [text] */
export function told(text = "") {
  const several = text.split(", and ").map(one);
  return one(text) ?? (several.includes(undefined) ? text : several.join(t(", and ")));
}

// sentence is what the daemon said, as a sentence of its own.
/** @param {string} [text] */
export function sentence(text) {
  const said = told(text);
  return said && said.slice(0, 1).toUpperCase() + said.slice(1) + (/[.!?)]$/.test(said) ? "" : ".");
}

/** @param {string} text */
function one(text) {
  for (const { text: sentence, pattern } of known) {
    const found = pattern.exec(text);
    if (found) return t(sentence, ...found.slice(1));
  }
  return undefined;
}

const sorry = /^Sorry, (.+?) \(error (\w+)\)\.(.*)$/s;

// apology is what is said in the place of an answer, in the page's language, and what whoever
// runs Dragoman can do about it. That stays in English: it names settings and commands.
/**
 * @param {string} text
 * @returns {[said: string, cure: string]}
 */
export function apology(text) {
  const [, why, id, cure] = sorry.exec(text) ?? [];
  return why ? [t("Sorry, {0} (error {1}).", told(why), id), cure.trim()] : [told(text), ""];
}
