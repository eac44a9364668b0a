// Sounds of two short tones, made by the web view itself, so that no audio file or codec is needed.

/** The tones of each sound: frequency in Hz, and start in seconds. Good news rises, and other news falls. */
const SOUNDS = {
  good: [
    { hz: 880, at: 0 },
    { hz: 1318.5, at: 0.14 },
  ],
  other: [
    { hz: 659.3, at: 0 },
    { hz: 493.9, at: 0.18 },
  ],
} as const;

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

function play(sound: keyof typeof SOUNDS): void {
  allowSound();
  if (!context) return;
  for (const { hz, at } of SOUNDS[sound]) {
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

/** Plays the sound of an event. */
export function playNews(kind: string): void {
  play(kind === "paid" ? "good" : "other");
}
