// Recorded sound as numbers: how long it is, and how loud where. Browsers do not know the
// length of what they recorded themselves, until it is decoded.

const bars = 48;
const largest = 20_000_000; // bytes that are decoded

/**
 * @param {Blob} blob
 * @returns {Promise<{length: number, wave: number[]}>} seconds, and loudness from 0 to 1
 */
export async function heard(blob) {
  if (blob.size > largest) throw new Error("too large");
  const decoded = await new OfflineAudioContext(1, 1, 16_000).decodeAudioData(await blob.arrayBuffer());
  return { length: decoded.duration, wave: loudness(decoded.getChannelData(0), bars) };
}

// loudness is that of so many parts of a sound, the loudest being 1.
/**
 * @param {ArrayLike<number>} samples
 * @param {number} parts
 */
export function loudness(samples, parts) {
  const each = samples.length / parts;
  const wave = Array.from({ length: parts }, (_, i) => {
    let sum = 0;
    const end = Math.floor((i + 1) * each);
    for (let at = Math.floor(i * each); at < end; at++) sum += samples[at] * samples[at];
    return Math.sqrt(sum / Math.max(1, each));
  });
  const loudest = Math.max(...wave);
  return wave.map((part) => (loudest > 0 ? part / loudest : 0));
}

// lasts is a length as clocks show it: 0:07.
/** @param {number} seconds */
export function lasts(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
