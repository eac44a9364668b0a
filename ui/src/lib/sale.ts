// The customer's view of a payment, in words for a customer at the counter.
import type { PaymentItem, PaymentView } from "./bindings";
import { timeLeft } from "./format";
import { money } from "./language/money";
import { confirmationsMissing } from "./verdict";
import { stateWords, TAKING_BACK } from "./words";

/**
 * `asks`: nothing was paid yet. `part`: a part is missing. `waiting`: paid, but not confirmed. `paid`: confirmed.
 * `stop`: confirmed, but another transaction spends the coins. `over`: the time is over. `wrong`: a person must decide
 * about the coins that came.
 */
export type Outcome = "asks" | "part" | "waiting" | "paid" | "stop" | "over" | "wrong";

const OUTCOMES: Record<PaymentView["state"], Outcome> = {
  NEW: "asks",
  UNDERPAID: "part",
  UNCONFIRMED: "waiting",
  CONFIRMED: "paid",
  EXPIRED: "over",
  INVALID: "wrong",
};

export function outcomeOf(payment: Pick<PaymentView, "state" | "conflictSeen">): Outcome {
  return payment.conflictSeen ? "stop" : OUTCOMES[payment.state];
}

/** Whether the customer has sent the whole price. */
export function isPaid(outcome: Outcome): boolean {
  return outcome === "waiting" || outcome === "paid";
}

/** Whether the sale has ended, so that the till can go back by itself. */
export function endsByItself(
  payment: Pick<PaymentView, "state" | "conflictSeen" | "openAnomalies">,
): boolean {
  return payment.openAnomalies === 0 && ["paid", "over"].includes(outcomeOf(payment));
}

/** A sale that the till has left, in a few words. */
export function waitingWords(sale: PaymentItem, nowMs: number): string {
  if (sale.conflictSeen) return TAKING_BACK;
  const left = timeLeft(sale.expirationTime, nowMs);
  switch (sale.state) {
    case "NEW":
      return left ? `Not paid, ${left} left` : "Time over, not closed yet";
    case "UNDERPAID": {
      const missing = money(sale.differenceWorth);
      return left ? `${missing} missing, ${left} left` : `${missing} missing`;
    }
    case "UNCONFIRMED":
      return sale.confirmationsWanted === 0
        ? "Received, being checked"
        : `Received, block ${Math.min(sale.confirmations, sale.confirmationsWanted)} of ${sale.confirmationsWanted}`;
    case "CONFIRMED":
      return sale.openAnomalies > 0 ? "Paid, needs a decision" : stateWords(sale);
    case "EXPIRED":
    case "INVALID":
      return stateWords(sale);
  }
}

/** Minutes between two blocks, on average. */
const BLOCK_MINUTES = 10;

/** The time for which the till shows the end of a sale. */
export const END_SHOWN_MS = 10_000;

/** The headline of the customer's view. */
export function headline(payment: PaymentView): string {
  switch (outcomeOf(payment)) {
    case "asks":
    case "part":
      return "Please pay";
    case "waiting":
      return "Received, please wait";
    case "paid":
      return "Paid";
    case "stop":
      return TAKING_BACK;
    case "over":
      return "The time is over";
    case "wrong":
      return WRONG[payment.whyInvalid ?? "REVERSED"];
  }
}

const WRONG: Record<NonNullable<PaymentView["whyInvalid"]>, string> = {
  SHORT_PAID: "Too little was paid",
  OVERPAID: "Too much was paid",
  REVERSED: "The payment was reversed",
  WITHDRAWN: "The payment was withdrawn",
};

/** The sentence below the headline. */
export function explanation(payment: PaymentView): string {
  const { price, paidWorth, differenceWorth, overpaidBy, confirmationsWanted, uncounted } = payment;
  switch (outcomeOf(payment)) {
    case "asks":
      return "Scan the code with your Bitcoin wallet.";
    case "part":
      return `${money(paidWorth)} received. Scan the code again to pay the rest.`;
    case "waiting":
      return confirmationsWanted === 0
        ? "The payment has arrived and is being checked."
        : `The payment has arrived. The network confirms it in about ${confirmationsMissing(payment) * BLOCK_MINUTES} minutes.`;
    case "paid":
      return overpaidBy
        ? `You paid ${money(differenceWorth)} too much. Please ask the cashier.`
        : "Thank you!";
    case "stop":
      return "Another transaction spends the same coins. Please ask the cashier.";
    case "over":
      return uncounted
        ? "Your payment was not seen in time. Please ask the cashier."
        : "Do not pay any more. Please ask the cashier for a new code.";
    case "wrong":
      return `${money(paidWorth)} of ${money(price)} received. Please ask the cashier.`;
  }
}
