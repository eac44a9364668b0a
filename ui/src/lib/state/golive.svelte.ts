// Which steps of going live a person went through that the gateway cannot tell, because they have a default. Nothing secret,
// and nothing is lost with it but having to look at them once more. Kept by the folder of the environment's data: what was
// chosen in one installation was not in another.
import type { Step } from "../golive";

interface Kept {
  seen: Step[];
  /** Whether a person took the guide off the list of screens. */
  finished: boolean;
}

/** Where it is kept. */
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

/** Moves with each change of what is kept. */
const changes = $state({ count: 0 });

/** How far a person went in the environment whose data lie in the folder. */
export function guide(folder: string): Kept {
  void changes.count;
  return read(folder);
}

/** Notes that a person went through a step. */
export function markSeen(folder: string, step: Step): void {
  const { seen, finished } = guide(folder);
  keep(folder, { seen: seen.includes(step) ? seen : [...seen, step], finished });
}

/** Takes the guide off the list of screens. */
export function finish(folder: string): void {
  keep(folder, { ...guide(folder), finished: true });
}

function keep(folder: string, kept: Kept): void {
  localStorage.setItem(keyOf(folder), JSON.stringify(kept));
  changes.count += 1;
}
