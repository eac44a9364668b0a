// The till's sound: two short tones, made by the web view itself, so that no audio file or codec is needed.

/** The tones: frequency in Hz, and start in seconds. */
const TONES = [
  { hz: 880, at: 0 },
  { hz: 1318.5, at: 0.14 },
] as const;
const TONE_SECONDS = 0.35;
const VOLUME = 0.25;

let context: AudioContext | undefined;

/**
 * Prepares the sound. Call it at a click or key press, because web views allow sound only after one. A machine without
 * sound stays silent.
 */
export function allowSound(): void {
  try {
    context ??= new AudioContext();
    if (context.state === "suspended") void context.resume().catch(() => undefined);
  } catch {
    context = undefined;
  }
}

/** Plays the sound of a paid sale. */
export function playPaid(): void {
  allowSound();
  if (!context) return;
  for (const { hz, at } of TONES) {
    const start = context.currentTime + at;
    const tone = context.createOscillator();
    const volume = context.createGain();
    tone.frequency.value = hz;
    volume.gain.setValueAtTime(VOLUME, start);
    volume.gain.exponentialRampToValueAtTime(0.001, start + TONE_SECONDS);
    tone.connect(volume).connect(context.destination);
    tone.start(start);
    tone.stop(start + TONE_SECONDS);
  }
}
