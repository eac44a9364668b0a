// The contents of the form for a new payout. They are kept here, so that they survive a change of the screen.
import type { CommandError } from "../bindings";
import { keepApart } from "./environment.svelte";

export interface PayoutDraft {
  address: string;
  amount: string;
  /** The unit of the amount: `BTC`, or the code of a currency. */
  unit: string;
  /** The payout's currency if the amount is in BTC; empty for the default. */
  currency: string;
  comment: string;
  /** The refusal of this payout on another screen, shown by the form. */
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
