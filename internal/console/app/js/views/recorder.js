// Recording a voice message: how loud it is, how long it is, and whether to keep it.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { recorded } from "../attach.js";
import { Button } from "../parts/button.js";
import { speakUp, toast } from "../parts/toast.js";
import { lasts } from "../sound.js";
import { styled } from "../styled.js";
import { t } from "../text.js";

const longest = 30 * 60; // seconds
const kinds = [["audio/ogg;codecs=opus", "ogg"], ["audio/webm;codecs=opus", "webm"], ["audio/mp4", "m4a"]];
const bars = 32;

// Recorder records from the moment when it is drawn. give gets the recording; close is called
// when it is over, with or without one.
/** @param {{give: (file: File) => void, close: () => void}} props */
export function Recorder({ give, close }) {
  const [levels, setLevels] = useState(/** @type {number[]} */ ([]));
  const [length, setLength] = useState(0);
  const take = useRef(/** @type {Take | undefined} */ (undefined));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const keep = () => take.current?.stop(true);
  useEffect(() => {
    styled("media");
    const tell = (/** @type {number} */ seconds, /** @type {number} */ level) => {
      setLength(seconds);
      setLevels((/** @type {number[]} */ before) => [...before, level].slice(-bars));
      if (seconds >= longest) keep();
    };
    const made = new Take({ give, close, tell });
    take.current = made;
    made.start().then(() => /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector(".primary"))?.focus(), (problem) => {
      toast(reason(problem));
      made.stop(false);
    });
    return () => made.stop(false);
  }, []);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    take.current?.stop(false);
  };
  return html`<div class="recorder" role="group" aria-label=${t("Voice message")} ref=${box} onKeyDown=${press}>
    <${Button} icon="trash-2" kind="quiet round" label=${t("Throw the recording away (Esc)")} onClick=${() => take.current?.stop(false)} />
    <span class="live" aria-hidden="true" /><span class="num" role="timer">${lasts(length)}</span>
    <svg class="wave" viewBox="0 0 ${bars * 3} 24" preserveAspectRatio="none" aria-hidden="true">${levels.map((loud, i) => html`<rect x=${(bars - levels.length + i) * 3} y=${11 - 10 * loud} width="2" height=${2 + 20 * loud} rx="1" />`)}</svg>
    <${Button} icon="check" kind="primary round" label=${t("Attach the recording")} onClick=${keep} />
  </div>`;
}

/** @param {any} problem */
function reason(problem) {
  if (problem?.name === "NotAllowedError") return t("The browser does not let this page use the microphone. Allow it beside the address.");
  if (problem?.name === "NotFoundError") return t("There is no microphone.");
  return t("The microphone cannot be used.");
}

// Take is one recording.
class Take {
  /** @param {{give: (file: File) => void, close: () => void, tell: (seconds: number, level: number) => void}} to */
  constructor(to) {
    this.to = to;
    /** @type {Blob[]} */
    this.pieces = [];
    this.over = false;
    this.length = 0;
  }

  async start() {
    this.stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    if (this.over) return this.release();
    const [mimeType, ending] = kinds.find(([kind]) => MediaRecorder.isTypeSupported(kind)) ?? ["", "webm"];
    this.ending = ending;
    this.recorder = new MediaRecorder(this.stream, { mimeType, audioBitsPerSecond: 32_000 });
    this.recorder.ondataavailable = ({ data }) => { if (data.size) this.pieces.push(data); };
    this.recorder.start(1000);
    this.began = performance.now();
    this.context = new AudioContext();
    this.context.resume().catch(() => {});
    const analyser = new AnalyserNode(this.context, { fftSize: 1024 });
    this.context.createMediaStreamSource(this.stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    this.timer = setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      const loud = Math.sqrt(samples.reduce((sum, s) => sum + s * s, 0) / samples.length);
      this.to.tell((performance.now() - (this.began ?? 0)) / 1000, Math.min(1, loud * 4));
    }, 100);
    speakUp(t("Recording"));
  }

  // stop ends it. keep: the recording is given away.
  /** @param {boolean} keep */
  stop(keep) {
    if (this.over) return;
    this.over = true;
    this.length = (performance.now() - (this.began ?? performance.now())) / 1000;
    const { recorder } = this;
    if (keep && recorder) {
      recorder.onstop = () => this.to.give(this.file(recorder.mimeType));
      recorder.stop();
    }
    this.release();
    this.to.close();
  }

  release() {
    clearInterval(this.timer);
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.context?.close();
  }

  /** @param {string} mimeType */
  file(mimeType) {
    const [type] = mimeType.split(";");
    const name = `voice ${new Date().toLocaleString("sv").slice(0, 16).replace(":", ".")}.${this.ending}`;
    const made = new File(this.pieces, name, { type: type || "audio/webm" });
    recorded.set(made, Math.max(1, Math.round(this.length)));
    return made;
  }
}
