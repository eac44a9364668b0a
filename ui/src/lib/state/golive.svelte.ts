// Which steps of going live a person went through that the gateway cannot tell, because they have a default. Nothing secret,
// and nothing is lost with it but having to look at them once more.
import type { Step } from "../golive";
import { shown, type Environment } from "./environment.svelte";

interface Kept {
  seen: Step[];
  /** Whether a person took the guide off the list of screens. */
  finished: boolean;
}

function keyOf(environment: Environment): string {
  return `tillgate.goLive.${environment}`;
}

function read(environment: Environment): Kept {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(environment)) ?? "{}") as Partial<Kept>;
    const seen = (kept.seen ?? []).filter((step) => step === "rates" || step === "limits");
    return { seen, finished: kept.finished === true };
  } catch {
    return { seen: [], finished: false };
  }
}

const guides = $state<Record<Environment, Kept>>({ test: read("test"), production: read("production") });

/** How far a person went in the environment that is shown. */
export function guide(): Kept {
  return guides[shown()];
}

/** Notes that a person went through a step. */
export function markSeen(step: Step): void {
  const { seen, finished } = guide();
  keep({ seen: seen.includes(step) ? seen : [...seen, step], finished });
}

/** Takes the guide off the list of screens. */
export function finish(): void {
  keep({ ...guide(), finished: true });
}

/** What is kept, read anew. */
export function readGuides(): void {
  guides.test = read("test");
  guides.production = read("production");
}

function keep(kept: Kept): void {
  guides[shown()] = kept;
  localStorage.setItem(keyOf(shown()), JSON.stringify(kept));
}
