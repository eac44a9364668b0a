// The environment's clock, for the window. The sandbox's clock may be ahead of the machine's.
import { keepApart } from "./environment.svelte";

const clock = $state({ offsetMs: 0, nowMs: Date.now() });

const TICK_MS = 1000;

/** Sets the clock to the gateway's time. */
export function setClock(iso: string): void {
  const told = Date.parse(iso);
  if (Number.isNaN(told)) return;
  clock.offsetMs = told - Date.now();
  clock.nowMs = told;
}

/** Advances the clock each second; returns a function that stops it. */
export function runClock(): () => void {
  const timer = setInterval(() => {
    clock.nowMs = Date.now() + clock.offsetMs;
  }, TICK_MS);
  return () => clearInterval(timer);
}

export function nowMs(): number {
  return clock.nowMs;
}

keepApart(
  () => clock.offsetMs,
  (offsetMs) => {
    clock.offsetMs = offsetMs;
    clock.nowMs = Date.now() + offsetMs;
  },
  () => 0,
);
