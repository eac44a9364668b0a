// The draft of a payout. It belongs to no screen, so that a look at another screen does not lose it.
import type { CommandError } from "../bindings/CommandError";
import { keepApart } from "./environment.svelte";

export interface PayoutDraft {
  address: string;
  amount: string;
  /** `BTC`, or the currency of the amount. */
  unit: string;
  /** The currency of the record; empty for the default. */
  currency: string;
  comment: string;
  /** Why exactly this payout was refused on another screen. */
  refused?: CommandError | undefined;
}

export function emptyDraft(): PayoutDraft {
  return { address: "", amount: "", unit: "BTC", currency: "", comment: "" };
}

export const drafts = $state<{ payout: PayoutDraft }>({ payout: emptyDraft() });

keepApart(
  () => drafts.payout,
  (payout) => {
    drafts.payout = payout;
  },
  emptyDraft,
);
