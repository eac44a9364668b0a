// Refusals of refunds and dismissals, by their codes.
import type { Catalogue } from "./catalogue";

export const ANOMALIES = {
  DISMISS_NOT_OPEN: (v) => `this anomaly is ${v._0} and waits for no decision`,
  DISMISS_NO_SUCH_ANOMALY: (v) => `there is no anomaly ${v._0}`,
  DISMISS_REASON: (v) => `a dismissal needs a reason of 1 to ${v.reasonMax} characters, without line breaks`,
  REFUNDED_BY_PAYOUT: (v) => `${v.refusal}: payout ${v.payoutId} sends its coins back`,
  REFUND_CHANGED: () => "the coins of this anomaly have just changed: look at it again, then refund it",
  REFUND_COINS_NOT_READY: (v) =>
    `the coins of this anomaly are gone, or have less than ${v.confirmations} confirmations: wait for them`,
  REFUND_NOT_OPEN: (v) => `this anomaly is ${v._0} and waits for no decision`,
  REFUND_NO_SUCH_ANOMALY: (v) => `there is no anomaly ${v._0}`,
  REFUND_PAID_BEFORE: (v) =>
    `another copy of this wallet paid ${v.amountSats} BTC to this address, in transaction ${v.txid}: if that was this refund, dismiss the anomaly; if it was for something else, confirm that the address is to be paid again`,
  REFUND_PAID_BY_PAYOUT: (v) =>
    `payout ${v.payoutId}, which is ${v.state}, pays exactly ${v.amountSats} BTC: if that is this refund, dismiss the anomaly; if it is for something else, confirm that the sum is to be sent again`,
  REFUND_RETURNED_BEFORE: (v) =>
    `nothing is left to send back: ${v.returnedSats} BTC of this payment were sent back before, and the price of a paid payment is not refunded; dismiss the anomaly`,
  REFUND_REVERSED: () =>
    "these coins were taken back: there is nothing to refund, dismiss the anomaly instead",
} satisfies Partial<Catalogue>;
