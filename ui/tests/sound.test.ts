import { beforeEach, describe, expect, test, vi } from "vitest";

/** The frequencies of the tones that were started, in Hz. */
let tones: number[] = [];

/** A stand-in for the web view's audio, which jsdom does not have. */
class Audio {
  readonly currentTime = 0;
  readonly state = "running";
  readonly destination = {};
  createOscillator() {
    const frequency = { value: 0 };
    return {
      frequency,
      connect: (next: unknown) => next,
      start: () => tones.push(frequency.value),
      stop: vi.fn(),
    };
  }
  createGain() {
    const gain = { setValueAtTime: vi.fn(), exponentialRampToValueAtTime: vi.fn() };
    return { gain, connect: (next: unknown) => next };
  }
}

beforeEach(() => {
  tones = [];
  vi.resetModules();
  vi.stubGlobal("AudioContext", Audio);
});

describe("the sounds", () => {
  test("rise for a paid payment, and fall for other news", async () => {
    const { playNews } = await import("../src/lib/sound");
    playNews("paid");
    expect(tones).toHaveLength(2);
    expect(tones[1]).toBeGreaterThan(tones[0] ?? Infinity);
    playNews("reversed");
    expect(tones[3]).toBeLessThan(tones[2] ?? 0);
  });

  test("are silent on a machine without sound", async () => {
    vi.stubGlobal("AudioContext", undefined);
    const { playNews } = await import("../src/lib/sound");
    expect(() => playNews("paid")).not.toThrow();
  });
});
