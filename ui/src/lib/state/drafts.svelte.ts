// The contents of the forms for a new payment and a new payout. They are kept here, so that they survive a change of the
// screen.
import type { CommandError } from "../bindings/CommandError";
import { keepApart } from "./environment.svelte";

export interface PaymentDraft {
  amount: string;
  /** The code of the currency; empty for the first one with a fresh rate. */
  currency: string;
  message: string;
  reference: string;
}

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

export function emptyPayment(): PaymentDraft {
  return { amount: "", currency: "", message: "", reference: "" };
}

export function emptyPayout(): PayoutDraft {
  return { address: "", amount: "", unit: "BTC", currency: "", comment: "" };
}

export const drafts = $state<{ payment: PaymentDraft; payout: PayoutDraft }>({
  payment: emptyPayment(),
  payout: emptyPayout(),
});

keepApart(
  () => drafts.payment,
  (payment) => {
    drafts.payment = payment;
  },
  emptyPayment,
);

keepApart(
  () => drafts.payout,
  (payout) => {
    drafts.payout = payout;
  },
  emptyPayout,
);
