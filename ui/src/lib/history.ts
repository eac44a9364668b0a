// The changes of a payment, as sentences for a merchant.
import type { HistoryItem, PaymentView } from "./bindings";
import { plural, plain } from "./format";
import { btc } from "./state/unit.svelte";
import { money } from "./language/money";

/** A sentence on the creation of a payment. */
export function creationWords(payment: Pick<PaymentView, "label" | "price" | "amount">): string {
  const { price, amount } = payment;
  return `${plain(payment.label)} asked for ${money(price)}, which is ${btc(amount)}.`;
}

/** A sentence on a change of a payment. */
export function changeWords(
  row: Pick<HistoryItem, "to" | "cause" | "whyInvalid" | "paid" | "from" | "conflict">,
  payment: Pick<PaymentView, "isCancelled" | "confirmationsWanted">,
): string {
  const coins = `${btc(row.paid)}`;
  const byStaff = row.cause === "staff";
  switch (row.to) {
    case "NEW":
      return "The coins were withdrawn before a block held them. Nothing is paid.";
    case "UNDERPAID":
      return row.cause === "withdrawn"
        ? `Some coins were withdrawn. ${coins} count.`
        : `A part came: ${coins} count so far.`;
    case "UNCONFIRMED":
      if (byStaff) return `Staff accepted the ${coins} that came.`;
      return payment.confirmationsWanted > 0
        ? `Received: ${coins}. The payment waits for ${plural(payment.confirmationsWanted, ["# confirmation", "# confirmations"])}.`
        : `Received: ${coins}. Tillgate waits a moment for signs of fraud.`;
    case "CONFIRMED":
      if (row.conflict === "SEEN") return "Another transaction began to take the coins back.";
      if (row.conflict === "GONE") return "No transaction takes the coins back any more.";
      return byStaff ? `Staff accepted the ${coins} as payment.` : `The payment is final: ${coins}.`;
    case "EXPIRED":
      return payment.isCancelled ? "Staff cancelled the payment." : "The time to pay ran out.";
    case "INVALID":
      return invalidWords(row, coins);
  }
}

function invalidWords({ whyInvalid }: Pick<HistoryItem, "whyInvalid">, coins: string): string {
  switch (whyInvalid) {
    case "OVERPAID":
      return `More came than the price: ${coins}.`;
    case "REVERSED":
      return "The coins were taken back after the payment was confirmed.";
    case "WITHDRAWN":
      return "The time ran out, and the coins were withdrawn before a block held them.";
    case "SHORT_PAID":
    case null:
      return `The time ran out, and too little had come: ${coins}.`;
  }
}
