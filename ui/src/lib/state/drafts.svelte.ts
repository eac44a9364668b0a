// A payout that is not asked for yet. It belongs to no screen, so that looking something up does not lose it.
import { keepApart } from "./environment.svelte";

export interface PayoutDraft {
  address: string;
  amount: string;
  /** `BTC`, or the currency that the amount is in. */
  unit: string;
  /** The currency of the record; empty for the usual one. */
  currency: string;
  comment: string;
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
