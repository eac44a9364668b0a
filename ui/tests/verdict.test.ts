import { describe, expect, test } from "vitest";
import type { PaymentView } from "../src/lib/bindings";
import { verdictOf } from "../src/lib/verdict";
import { payment } from "./fixture";

const surplus = { sats: 100, text: "0.00000100", shown: "0.00000100" };

describe("whether the goods of a payment can be handed over", () => {
  test("is not said before coins came", () => {
    expect(verdictOf(payment({ state: "NEW" }))).toBeUndefined();
  });

  test.each<[Partial<PaymentView>, string, RegExp]>([
    [{ state: "UNDERPAID" }, "Not paid yet. Hand over nothing.", /received\. The customer can send the rest/],
    [
      { state: "UNCONFIRMED", confirmations: 1, confirmationsWanted: 3 },
      "Not final yet. Hand over nothing.",
      /final after 2 more confirmations/,
    ],
    [
      { state: "UNCONFIRMED", confirmations: 0, confirmationsWanted: 0 },
      "Received. One moment, please.",
      /signs of fraud/,
    ],
    [
      { state: "CONFIRMED", overpaidBy: null },
      "Paid. You can hand over the goods.",
      /^Nothing more to pay\.$/,
    ],
    [
      { state: "CONFIRMED", overpaidBy: surplus, openAnomalies: 1 },
      "Paid. You can hand over the goods.",
      /too much was paid\. Decide below/,
    ],
    [
      { state: "CONFIRMED", overpaidBy: surplus, openAnomalies: 0 },
      "Paid. You can hand over the goods.",
      /too much was paid\.$/,
    ],
    [
      { state: "CONFIRMED", conflictSeen: true },
      "Stop: the customer is taking the money back",
      /Hand over nothing until the alarm is over\.$/,
    ],
    [
      { state: "NEW", isUnreported: true },
      "Tillgate cannot see this payment. Hand over nothing.",
      /a node of your own/,
    ],
    [{ state: "EXPIRED" }, "Not paid. Hand over nothing.", /time to pay is over/],
    [{ state: "EXPIRED", isCancelled: true }, "Not paid. Hand over nothing.", /cancelled/],
    [
      { state: "EXPIRED", openAnomalies: 1 },
      "The money was not seen in time.",
      /before you hand over anything/,
    ],
    [
      { state: "INVALID", whyInvalid: "SHORT_PAID", openAnomalies: 1 },
      "Too little was paid.",
      /before you hand over anything/,
    ],
    [{ state: "INVALID", whyInvalid: "OVERPAID", openAnomalies: 0 }, "Too much was paid.", /received\.$/],
    [{ state: "INVALID", whyInvalid: "REVERSED" }, "No longer paid. Stop the delivery.", /pay again/],
    [{ state: "INVALID", whyInvalid: "WITHDRAWN" }, "Not paid. Hand over nothing.", /took the money back/],
  ])("%o: %s", (facts, answer, reason) => {
    const verdict = verdictOf(payment({ isCancelled: false, openAnomalies: 0, ...facts }));
    expect(verdict?.answer).toBe(answer);
    expect(verdict?.reason).toMatch(reason);
  });
});
