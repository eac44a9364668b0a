// Steps of going live that have a default: the gateway cannot tell whether a person looked at them. Losing this list
// costs only a second look. It is kept for each data folder, because each installation is set up anew.
import type { Step } from "../golive";

interface Kept {
  seen: Step[];
  /** Whether a person removed the guide from the list of screens. */
  finished: boolean;
}

/** The key in the browser's storage. */
export function keyOf(folder: string): string {
  return `tillgate.goLive.${folder}`;
}

function read(folder: string): Kept {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(folder)) ?? "{}") as Partial<Kept>;
    const seen = (kept.seen ?? []).filter((step) => step === "rates" || step === "limits");
    return { seen, finished: kept.finished === true };
  } catch {
    return { seen: [], finished: false };
  }
}

/** Counts changes, so that readers of the storage run again. */
const changes = $state({ count: 0 });

/** How far a person got with the guide, by the environment's data folder. */
export function guide(folder: string): Kept {
  void changes.count;
  return read(folder);
}

/** Records that a person went through a step. */
export function markSeen(folder: string, step: Step): void {
  const { seen, finished } = guide(folder);
  keep(folder, { seen: seen.includes(step) ? seen : [...seen, step], finished });
}

/** Removes the guide from the list of screens. */
export function finish(folder: string): void {
  keep(folder, { ...guide(folder), finished: true });
}

function keep(folder: string, kept: Kept): void {
  localStorage.setItem(keyOf(folder), JSON.stringify(kept));
  changes.count += 1;
}
