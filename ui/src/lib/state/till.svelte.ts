// The till's sale, and its choices in `localStorage`. Each data folder has its own choices, so each environment of each
// installation has.
import { emptySale, type Draft } from "../till";
import { Action } from "./action.svelte";
import { keepApart } from "./environment.svelte";
import { isCentsFirstUsual } from "../language/locale";

export interface TillChoices {
  /** The currency of the last sale; empty before the first one. */
  currency: string;
  /** Whether the typed digits fill the cents first: 4 5 0 is 4.50. */
  centsFirst: boolean;
}

/** The key in the web view's `localStorage`. */
export function keyOf(folder: string): string {
  return `tillgate.till.${folder}`;
}

const changes = $state({ count: 0 });

export function tillChoices(folder: string): TillChoices {
  void changes.count;
  let kept: Partial<TillChoices> = {};
  try {
    kept = JSON.parse(localStorage.getItem(keyOf(folder)) ?? "{}") as Partial<TillChoices>;
  } catch {
    // A text that is no JSON counts as none.
  }
  return {
    currency: typeof kept.currency === "string" ? kept.currency : "",
    centsFirst: typeof kept.centsFirst === "boolean" ? kept.centsFirst : isCentsFirstUsual,
  };
}

export function chooseForTill(folder: string, change: Partial<TillChoices>): void {
  localStorage.setItem(keyOf(folder), JSON.stringify({ ...tillChoices(folder), ...change }));
  changes.count += 1;
}

interface Till {
  draft: Draft;
  /** The creation of its payment. It goes on while another screen is shown. */
  charging: Action;
  /** The payment that the till shows now. */
  paymentId: string | undefined;
}

const empty = (): Till => ({ draft: emptySale(), charging: new Action(), paymentId: undefined });

/** The present sale. It survives a change of the screen. */
export const till = $state<{ now: Till }>({ now: empty() });

keepApart(
  () => till.now,
  (now) => {
    till.now = now;
  },
  empty,
);

/** Forgets the sale of the shown environment. */
export function resetTill(): void {
  till.now = empty();
}
