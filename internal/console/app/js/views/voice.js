// A voice message: play, pause, and a wave to move in. One plays at a time.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { heldFile } from "../blobs.js";
import { Button } from "../parts/button.js";
import { trouble } from "../parts/toast.js";
import { useInSight } from "../sight.js";
import { heard, lasts } from "../sound.js";
import { styled } from "../styled.js";
import { t } from "../text.js";

const small = 2_000_000; // bytes that are fetched before somebody wants to listen

/** @type {HTMLAudioElement | undefined} */
let playing;

/** @param {{of: import("../types.js").Attachment, address: string, plain: any}} props */
export function Voice({ of: file, address, plain }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const audio = useRef(/** @type {HTMLAudioElement | null} */ (null));
  const seen = useInSight(box);
  const [sound, setSound] = useState({ length: 0, wave: /** @type {number[]} */ ([]) });
  const [now, setNow] = useState({ at: 0, plays: false });
  const [failed, fail] = useState(false);
  const load = async () => {
    await styled("media");
    const { url, blob } = await heldFile(address, file.type);
    if (!audio.current || audio.current.src) return;
    audio.current.src = url;
    heard(blob).then(setSound, () => {}); // without it, it still plays
  };
  useEffect(() => { styled("media"); }, []);
  useEffect(() => { if (seen && (file.bytes ?? 0) <= small) load().catch(() => {}); }, [seen]);
  useEffect(() => () => audio.current?.pause(), []);
  if (failed) return plain;
  const toggle = async () => {
    if (now.plays) return audio.current?.pause();
    await load();
    if (playing !== audio.current) playing?.pause();
    playing = audio.current ?? undefined;
    await audio.current?.play();
  };
  const press = () => toggle().catch((problem) => (problem?.name === "NotSupportedError" ? fail(true) : problem?.name !== "AbortError" && trouble(problem)));
  const tell = () => setNow({ at: audio.current?.currentTime ?? 0, plays: !audio.current?.paused });
  const length = sound.length || (Number.isFinite(audio.current?.duration) ? audio.current?.duration ?? 0 : 0);
  const seek = (/** @type {any} */ event) => { if (audio.current) audio.current.currentTime = Number(event.currentTarget.value); };
  const times = length ? `${lasts(now.at)} / ${lasts(length)}` : lasts(now.at);
  return html`<div class="file voice" ref=${box} role="group" aria-label=${file.name || t("Voice message")}>
    <audio ref=${audio} preload="metadata" onTimeUpdate=${tell} onPlay=${tell} onPause=${tell} onLoadedMetadata=${tell} onError=${() => audio.current?.src && fail(true)} />
    <${Button} icon=${now.plays ? "pause" : "play"} kind="quiet round" label=${now.plays ? t("Pause") : t("Play")} onClick=${press} />
    <span class="track"><${Wave} of=${sound.wave} done=${length ? now.at / length : 0} />
      <input type="range" min="0" max=${length || 1} step="0.1" value=${now.at} disabled=${!length} aria-label=${t("Position")} aria-valuetext=${times} onInput=${seek} /></span>
    <span class="meta num">${times}</span>
  </div>`;
}

/** @param {{of: number[], done: number}} props */
const Wave = ({ of, done }) => html`<svg class="wave" viewBox="0 0 ${Math.max(1, of.length) * 3} 24" preserveAspectRatio="none" aria-hidden="true">
  ${of.map((loud, i) => html`<rect class=${i < done * of.length ? "done" : ""} x=${i * 3} y=${11 - 10 * loud} width="2" height=${2 + 20 * loud} rx="1" />`)}</svg>`;
