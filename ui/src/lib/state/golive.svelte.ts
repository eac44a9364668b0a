// Remembers which steps of the guide a person has gone through, for the steps whose settings have a default. The
// gateway does not record this. If the list is lost, a person only sees these steps again. Each data folder has its
// own list, because each installation is set up separately.
import type { Step } from "../golive";

interface Kept {
  seen: Step[];
  /** Whether the guide was completed, and so is not in the menu any more. */
  finished: boolean;
}

/** The key in the web view's `localStorage`. */
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

/** The number of changes. Effects that read it run again when the storage changes. */
const changes = $state({ count: 0 });

/** The stored progress of the guide for an environment's data folder. */
export function guide(folder: string): Kept {
  void changes.count;
  return read(folder);
}

/** Records that a person went through a step. */
export function markSeen(folder: string, step: Step): void {
  const { seen, finished } = guide(folder);
  keep(folder, { seen: seen.includes(step) ? seen : [...seen, step], finished });
}

/** Removes the guide from the menu. */
export function finish(folder: string): void {
  keep(folder, { ...guide(folder), finished: true });
}

function keep(folder: string, kept: Kept): void {
  localStorage.setItem(keyOf(folder), JSON.stringify(kept));
  changes.count += 1;
}
