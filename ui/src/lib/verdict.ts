// Whether staff may hand over the goods of a payment: the table in `docs/merchant/first-payment.md`, in sentences.
import type { PaymentView } from "./bindings";
import { plural } from "./format";
import { money } from "./language/money";
import { TAKING_BACK } from "./words";

/** The answer in a few words, and its reason or the next step. */
export interface Verdict {
  answer: string;
  reason: string;
}

/** The facts that decide. */
type Facts = Pick<
  PaymentView,
  | "state"
  | "conflictSeen"
  | "whyInvalid"
  | "isCancelled"
  | "isUnreported"
  | "openAnomalies"
  | "overpaidBy"
  | "differenceWorth"
  | "paidWorth"
  | "price"
  | "confirmations"
  | "confirmationsWanted"
>;

const DECIDE_FIRST = "Decide below what happens to the money, before you hand over anything.";

/** The verdict while the server does not report the coins of an open payment. */
const UNREPORTED: Verdict = {
  answer: "Tillgate cannot see this payment. Hand over nothing.",
  reason:
    "Its address has more transactions than the Bitcoin server reports. Choose another server, or use a node of your own.",
};

/** The verdict on a small sale that is about to be final. */
const CHECKING: Verdict = {
  answer: "Received. One moment, please.",
  reason: "Tillgate looks for signs of fraud. This takes a few seconds.",
};

/** The verdict on a payment; undefined while no coins have come and the customer still has time. */
export function verdictOf(payment: Facts): Verdict | undefined {
  switch (payment.state) {
    case "NEW":
      return payment.isUnreported ? UNREPORTED : undefined;
    case "UNDERPAID":
      if (payment.isUnreported) return UNREPORTED;
      return {
        answer: "Not paid yet. Hand over nothing.",
        reason: `${received(payment)} The customer can send the rest to the same address.`,
      };
    case "UNCONFIRMED":
      if (payment.isUnreported) return UNREPORTED;
      return payment.confirmationsWanted === 0
        ? CHECKING
        : { answer: "Not final yet. Hand over nothing.", reason: waits(payment) };
    case "CONFIRMED":
      if (payment.conflictSeen) {
        return {
          answer: TAKING_BACK,
          reason: "Another transaction spends the same coins. Hand over nothing until the alarm is over.",
        };
      }
      return { answer: "Paid. You can hand over the goods.", reason: surplus(payment) };
    case "EXPIRED":
      return expired(payment);
    case "INVALID":
      return invalid(payment);
  }
}

function received({ paidWorth, price }: Facts): string {
  return `${money(paidWorth)} of ${money(price)} received.`;
}

/** The number of confirmations for which an unconfirmed payment waits. */
export function confirmationsMissing({
  confirmations,
  confirmationsWanted,
}: Pick<PaymentView, "confirmations" | "confirmationsWanted">): number {
  return Math.max(confirmationsWanted - confirmations, 1);
}

function waits(payment: Facts): string {
  const blocks = plural(confirmationsMissing(payment), ["# more confirmation", "# more confirmations"]);
  return `The customer can still take the money back. It is final after ${blocks}, about ten minutes each.`;
}

function surplus({ overpaidBy, differenceWorth, openAnomalies }: Facts): string {
  if (!overpaidBy) return "Nothing more to pay.";
  const sum = `${money(differenceWorth)} too much was paid.`;
  return openAnomalies > 0 ? `${sum} Decide below what happens to it.` : sum;
}

function expired({ isCancelled, openAnomalies }: Facts): Verdict {
  if (openAnomalies > 0) return { answer: "The money was not seen in time.", reason: DECIDE_FIRST };
  const answer = "Not paid. Hand over nothing.";
  return { answer, reason: isCancelled ? "The payment was cancelled." : "The time to pay is over." };
}

function invalid(payment: Facts): Verdict {
  const open = payment.openAnomalies > 0;
  switch (payment.whyInvalid) {
    case "REVERSED":
      return {
        answer: "No longer paid. Stop the delivery.",
        reason: "The coins were taken back after the payment was confirmed. Ask the customer to pay again.",
      };
    case "WITHDRAWN":
      return { answer: "Not paid. Hand over nothing.", reason: "The customer took the money back." };
    case "OVERPAID":
      return { answer: "Too much was paid.", reason: open ? DECIDE_FIRST : received(payment) };
    case "SHORT_PAID":
    case null:
      return { answer: "Too little was paid.", reason: open ? DECIDE_FIRST : received(payment) };
  }
}
