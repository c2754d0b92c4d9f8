// The composer: the box in which a message is written. It keeps a draft for each
// conversation, and stays usable while an answer grows.

import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { attach, take } from "../attach.js";
import { keepDraft, say } from "../outbox.js";
import { network } from "../parts/avatar.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Lazily } from "../parts/lazily.js";
import { Segments } from "../parts/segments.js";
import { speakUp, toast, trouble } from "../parts/toast.js";
import { useStore } from "../store.js";
import { may, stop } from "../talk.js";
import { t } from "../text.js";
import { withQuote } from "../quotes.js";
import { ModelChip } from "./modelchip.js";
import { titleOf } from "./row.js";

/** @type {import("../types.js").Attached[]} */
const none = [];
const drags = ["dragover", "dragleave", "drop"]; // anywhere on the page
const touch = matchMedia("(pointer: coarse)");
const attached = () => import("./attached.js").then((m) => m.Attached);
const recorder = () => import("./recorder.js").then((m) => m.Recorder);
const slash = () => import("./slash.js").then((m) => m.found());
const canRecord = "mediaDevices" in navigator && "MediaRecorder" in window; // plain http has no microphone

// composes: the key belongs to an input method, which writes Japanese, say.
const composes = (/** @type {KeyboardEvent} */ event) => event.isComposing || event.keyCode === 229;

/**
 * Props: editing is the message that is being replaced, jump leads to the end, and sent
 * is called after sending.
 * @typedef {object} Props
 * @property {import("../types.js").Conversation} of
 * @property {string} [to] whoever reads it, in the talk of others
 * @property {boolean} growing
 * @property {string} [quote]
 * @property {(text: string) => void} [setQuote]
 * @property {{seq: number, text: string}} [editing]
 * @property {() => void} [stopEditing]
 * @property {() => void} [jump]
 * @property {boolean} [news] there is something new at the end
 * @property {() => void} [sent]
 */

/** @param {Props} props */
export function Composer({ of: c, to, growing, quote = "", setQuote, editing, stopEditing, jump, news, sent }) {
  const draft = useStore((s) => s.drafts[c.key]) ?? "";
  const name = useStore((s) => s.me?.name) ?? "";
  const files = useStore((s) => s.attached[c.key]) ?? none;
  const takesFiles = useStore((s) => Boolean(s.me?.max_file)) && c.own;
  const chooser = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [over, setOver] = useState(false);
  const [recording, record] = useState(false);
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const before = useRef("");
  const [as, setAs] = useState("assistant");
  const [model, setModel] = useState("");
  const others = !c.own;
  const empty = !draft.trim() && !files.some((f) => f.ref);
  useEffect(() => {
    if (!touch.matches && document.activeElement === document.body) box.current?.focus();
  }, []);
  useEffect(() => {
    if (!editing) return;
    before.current = draft;
    keepDraft(c.key, editing.text);
    box.current?.focus();
  }, [editing]);
  const dragged = useRef(/** @type {(event: DragEvent) => void} */ (() => {}));
  useEffect(() => {
    const hear = (/** @type {any} */ event) => dragged.current(event);
    for (const name of drags) document.addEventListener(name, hear);
    return () => { for (const name of drags) document.removeEventListener(name, hear); };
  }, []);
  useEffect(() => { if (quote) box.current?.focus(); }, [quote]);
  useLayoutEffect(() => fit(box.current), [draft]);
  useWasAnswering(growing);
  const cancelEdit = () => {
    keepDraft(c.key, before.current);
    stopEditing?.();
  };
  const send = () => {
    if (empty || files.some((f) => !f.ref && !f.problem)) return;
    const text = draft.trim() ? withQuote(quote, draft.trim()) : "";
    if (others) say(c.key, text, { as: as === "assistant" ? "reply" : "me" });
    else say(c.key, text, { edits: editing && { seq: editing.seq }, model: model || undefined, files: take(c.key) });
    keepDraft(c.key, editing ? before.current : "");
    setQuote?.("");
    stopEditing?.();
    sent?.();
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (composes(event)) return;
    if (event.key === "Escape") {
      event.preventDefault();
      if (editing) cancelEdit();
      else if (growing) stop(c.key).catch(trouble);
    }
    if (event.key !== "Enter" || event.shiftKey || event.altKey || touch.matches && !event.ctrlKey) return;
    event.preventDefault();
    send();
  };
  const add = (/** @type {Iterable<File> | undefined} */ chosen) => {
    const problem = chosen ? attach(c.key, chosen) : "";
    if (problem) toast(problem);
  };
  const paste = (/** @type {ClipboardEvent} */ event) => {
    if (!takesFiles || !event.clipboardData?.files.length) return;
    event.preventDefault();
    add(event.clipboardData.files);
  };
  dragged.current = (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault(); // the browser would open them, in the place of the page
    setOver(Boolean(takesFiles) && event.type === "dragover");
    if (takesFiles && event.type === "drop") add(event.dataTransfer.files);
  };
  if (others && !may("operate")) return html`<p class="composer readonly">${t("You can read this conversation. To answer in it needs the scope operate.")}</p>`;
  const sends = others ? t("Send to {0}", t(network(c.network)[1])) : t("Send (Enter)");
  const hint = others ? t("Write to {0}", to ?? titleOf(c)) : growing ? t("Ask the next thing. It is answered after this.") : t("Write a message");
  return html`<form class="composer" onSubmit=${(/** @type {Event} */ e) => { e.preventDefault(); send(); }}>
    ${jump && html`<button type="button" class="button jump" onClick=${jump}><${Icon} name="arrow-down" small />${news ? t("New messages") : t("To the end")}</button>`}
    <div class="column">${c.own && /^\/\w*$/.test(draft) && html`<${Lazily} load=${slash} props=${{ typed: draft.slice(1).toLowerCase(), box, complete: (/** @type {string} */ text) => { keepDraft(c.key, text); box.current?.focus(); } }} />`}<div class="box">
      ${others && html`<div class="as"><span>${t("Answer as")}</span><${Segments} label=${t("Answer as")} of=${[["assistant", "Dragoman"], ["me", name]]} value=${as} set=${setAs} /><span>${as === "assistant" ? t("It is kept as an answer of the assistant.") : t("Your name is put in front.")}</span></div>`}
      ${editing && html`<div class="attached"><span class="grow cut">${t("You edit an earlier message. What followed is asked anew.")}</span><${Button} icon="x" kind="quiet" label=${t("Do not edit")} onClick=${cancelEdit} /></div>`}
      ${quote && html`<div class="attached"><span class="quoted grow cut">${quote}</span><${Button} icon="x" kind="quiet" label=${t("Remove the quote")} onClick=${() => setQuote?.("")} /></div>`}
      ${files.length > 0 && html`<${Lazily} load=${attached} props=${{ of: files, talkKey: c.key }} />`}
      <label class="unseen" for="text">${t("Write a message")}</label>
      <textarea id="text" ref=${box} rows="1" dir=${draft ? "auto" : null} enterkeyhint=${touch.matches ? "enter" : "send"} value=${draft} placeholder=${hint} onInput=${(/** @type {any} */ e) => keepDraft(c.key, e.currentTarget.value)} onKeyDown=${press} onPaste=${paste} />
      ${recording ? html`<${Lazily} load=${recorder} props=${{ give: (/** @type {File} */ file) => add([file]), close: () => { record(false); box.current?.focus(); } }} />` : html`<div class="line">
        ${takesFiles && html`<${Button} icon="paperclip" kind="quiet round" label=${t("Attach files")} onClick=${() => chooser.current?.click()} />
          <input type="file" multiple hidden ref=${chooser} onChange=${(/** @type {any} */ e) => { add([...e.currentTarget.files]); e.currentTarget.value = ""; }} />
          ${canRecord && html`<${Button} icon="mic" kind="quiet round" label=${t("Record a voice message")} onClick=${() => record(true)} />`}`}
        <span class="grow" />
        ${!others && html`<${ModelChip} own=${c.model ?? ""} chosen=${model} choose=${setModel} />`}
        ${growing && html`<${Button} icon="square" kind="round stop" label=${t("Stop the answer (Esc)")} onClick=${() => stop(c.key).catch(trouble)} />`}
        ${!(growing && empty) && html`<button class="button primary round icononly" disabled=${empty} aria-label=${sends} title=${sends}><${Icon} name="arrow-up" small /></button>`}
      </div>`}
    </div>
    ${over && html`<div class="drop">${t("Drop files here")}</div>`}
    <p class="hint typing">${t("Enter sends · Shift+Enter starts a new line · / shows commands")}</p>
    ${takesFiles && !isSecureContext && html`<p class="hint">${t("A voice can be recorded only over https")}</p>`}</div>
  </form>`;
}

// fit makes the box as high as its text, where the browser does not.
/** @param {HTMLTextAreaElement | null} box */
function fit(box) {
  if (!box || CSS.supports("field-sizing", "content")) return;
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight}px`;
}

// useWasAnswering says aloud when an answer begins and ends.
/** @param {boolean} growing */
function useWasAnswering(growing) {
  const was = useRef(growing);
  useEffect(() => {
    if (growing !== was.current) speakUp(growing ? t("An answer begins.") : t("The answer has ended."));
    was.current = growing;
  }, [growing]);
}
