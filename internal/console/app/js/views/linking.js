// Linking a channel to a phone, and logging it out. A code is on the page only while this
// is: when it goes, the request ends, and with it the code.

import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { path, remove } from "../api.js";
import { lines } from "../lines.js";
import { Button } from "../parts/button.js";
import { QR } from "../parts/qr.js";
import { t } from "../text.js";
import { sentence } from "../told.js";

const widest = 320; // of the code, in pixels
const within = 300; // seconds: a page that was left open must not ask for codes for ever

/**
 * Step is what is shown now: kind is idle, wait, qr, code, number, ask, leave or again.
 * @typedef {{kind: string, picture?: {size: number, path: string}, code?: string, phone?: string, expired?: boolean}} Step
 */

/** @typedef {{text: string, bad?: boolean}} Note */

/** @param {{name: string, title: string, unlinked: boolean, changed: () => void}} props */
export function Linking({ name, title, unlinked, changed }) {
  const [step, setStep] = useState(/** @type {Step} */ ({ kind: "idle" }));
  const [note, setNote] = useState(/** @type {Note} */ ({ text: "" }));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const here = useRef(false); // the focus is or was in what is drawn
  const request = useRef(/** @type {AbortController | undefined} */ (undefined));
  const show = (/** @type {Step} */ next, /** @type {Note} */ said = { text: "" }) => {
    setStep(next);
    setNote(said);
  };
  useLayoutEffect(() => {
    if (step.kind === "qr" || step.kind === "code") box.current?.scrollIntoView({ block: "nearest" });
    if (here.current && document.activeElement === document.body) focusIn(box.current);
  }, [step.kind, unlinked]);
  const stop = () => {
    request.current?.abort();
    request.current = undefined;
  };
  const reset = () => {
    stop();
    show({ kind: "idle" });
  };
  useEffect(() => {
    addEventListener("pagehide", reset);
    return () => {
      removeEventListener("pagehide", reset);
      stop();
    };
  }, []);

  // link shows one code after the other until a phone has used one.
  const link = async (/** @type {string} */ phone) => {
    stop();
    const mine = (request.current = new AbortController());
    show({ kind: "wait" });
    let end = /** @type {any} */ (undefined);
    try {
      await lines(path`channels/${name}/link`, { phone, picture: true, within_seconds: within }, mine.signal, (line) => {
        if (request.current !== mine) return;
        if (line.code) show({ kind: "code", code: line.code });
        else if (line.picture) show({ kind: "qr", picture: line.picture });
        else if (line.qr) show({ kind: "wait" }, { text: t("The QR code cannot be drawn. Use the phone's number instead."), bad: true });
        else end = line;
      });
      end ??= { failure: { error: t("Dragoman stopped before a phone used the code.") } };
    } catch (problem) {
      end = { failure: "status" in /** @type {any} */ (problem) ? { error: /** @type {any} */ (problem).message, code: /** @type {any} */ (problem).code } : { error: t("Dragoman cannot be reached.") } };
    }
    if (request.current !== mine) return; // it was canceled
    request.current = undefined;
    const expired = end.failure?.code === "expired";
    if (end.account) show({ kind: "idle" }, { text: t("Linked to {0}.", end.account) });
    else show({ kind: "again", phone, expired }, expired ? { text: t("The code has expired.") } : { text: withoutVerb(end.failure.error), bad: true });
    changed();
  };
  const leave = () => {
    show({ kind: "leave" });
    remove(path`channels/${name}/link`).then(
      ({ told }) => show({ kind: "idle" }, told ? { text: t("Logged out.") } : { text: t("Logged out here. {0} could not be reached; remove the device on the phone too, under Linked devices.", title), bad: true }),
      (problem) => show({ kind: "idle" }, { text: "status" in problem ? withoutVerb(problem.message) : t("Dragoman cannot be reached."), bad: true }),
    ).then(changed);
  };
  const cancel = (/** @type {string} */ word = t("Cancel")) => html`<${Button} onClick=${reset}>${word}<//>`;
  const left = (/** @type {FocusEvent} */ e) => { if (e.relatedTarget && !box.current?.contains(/** @type {Node} */ (e.relatedTarget))) here.current = false; };
  return html`<div class="linking stack" ref=${box} onFocusIn=${() => { here.current = true; }} onFocusOut=${left}>
    <p class=${note.bad ? "bad" : ""} role="status" hidden=${!note.text}>${note.text}</p>
    ${steps({ step, name, title, unlinked, link, leave, show, cancel, room: Math.min(widest, box.current?.clientWidth || widest) })}
  </div>`;
}

// focusIn gives the focus to what a step begins with.
/** @param {HTMLElement | null} box */
function focusIn(box) {
  const next = /** @type {HTMLElement | null} */ (box?.querySelector("[data-next]") ?? box?.querySelector("button, input") ?? null);
  next?.focus();
}

/**
 * @param {{step: Step, name: string, title: string, unlinked: boolean, room: number, link: (phone: string) => void, leave: () => void,
 *   show: (step: Step) => void, cancel: (word?: string) => any}} o
 */
function steps({ step, name, title, unlinked, room, link, leave, show, cancel }) {
  switch (step.kind) {
    case "wait":
      return html`<p class="soft">${t("Asking {0} for a code …", title)}</p><div class="actions">${cancel()}</div>`;
    case "qr":
      return html`<${Way} to=${[title, t("Settings"), t("Linked devices"), t("Link a device")]} then=${t("Then point the camera here. The code changes by itself. Keep it secret.")} />
        ${step.picture && html`<${QR} of=${step.picture} label=${t("QR code for {0}", title)} room=${room} />`}
        <div class="actions"><${Button} data-next onClick=${() => show({ kind: "number" })}>${t("Use a phone number instead")}<//>${cancel()}</div>`;
    case "code":
      return html`<${Way} to=${[title, t("Settings"), t("Linked devices"), t("Link a device"), t("Link with phone number instead")]} then=${t("Then type this code. Keep it secret.")} />
        <output class="typed mono">${step.code}</output><div class="actions">${cancel()}</div>`;
    case "number":
      return html`<form class="stack" onSubmit=${(/** @type {any} */ e) => { e.preventDefault(); link(e.currentTarget.elements.phone.value.trim()); }}>
        <div class="field"><label for=${`phone-${name}`}>${t("The phone's number, with its country code")}</label><input class="input" id=${`phone-${name}`} name="phone" type="tel" placeholder="+49 170 1234567" autocomplete="off" required data-next /></div>
        <div class="actions"><button class="button primary">${t("Get a code")}</button>${cancel()}</div></form>`;
    case "again":
      return html`<div class="actions"><${Button} kind="primary" data-next onClick=${() => link(step.phone ?? "")}>${step.expired ? t("Show a new code") : t("Try again")}<//>${cancel()}</div>`;
    case "ask":
      return html`<p>${t("Log out of {0}? No messages arrive until a phone is linked again. Conversations are kept.", title)}</p>
        <div class="actions"><${Button} kind="danger" onClick=${leave}>${t("Log out")}<//><${Button} data-next onClick=${() => show({ kind: "idle" })}>${t("Keep it")}<//></div>`;
    case "leave":
      return html`<p class="soft">${t("Logging out …")}</p>`;
  }
  if (!unlinked) return html`<div class="actions"><${Button} icon="unlink" onClick=${() => show({ kind: "ask" })}>${t("Log out …")}<//></div>`;
  return html`<p>${t("Link a phone here, or in a terminal with “{0}”.", `dragoman login ${name}`)}</p>
    <div class="actions"><${Button} kind="primary" onClick=${() => link("")}>${t("Show the QR code")}<//><${Button} onClick=${() => show({ kind: "number" })}>${t("Use a phone number")}<//></div>`;
}

// Way says where to tap on the phone.
/** @param {{to: string[], then: string}} props */
const Way = ({ to, then }) => html`<p>${t("On the phone:")} ${to.map((tap, i) => html`${i > 0 && " › "}<b>${tap}</b>`)}. ${then}</p>`;

// withoutVerb is the server's sentence without the word for what failed, which the reader sees.
/** @param {string} text */
const withoutVerb = (text) => sentence(text.replace(/^(un)?link: /, ""));
