import { describe, expect, test } from "vitest";
import type { HistoryItem } from "../src/lib/bindings";
import { changeWords, creationWords } from "../src/lib/history";
import { payment } from "./fixture";

/** A change of a payment that waits for two confirmations. */
function said(over: Partial<HistoryItem>, isCancelled = false): string {
  const paid = { sats: 15574, text: "0.00015574", shown: "0.00015574" };
  const row = {
    from: "NEW",
    to: "UNCONFIRMED",
    cause: "chain",
    whyInvalid: null,
    conflict: null,
    paid,
    ...over,
  } as const;
  return changeWords(row, { isCancelled, confirmationsWanted: 2 });
}

describe("the history of a payment", () => {
  test("begins with the price that was asked for", () => {
    expect(creationWords(payment())).toBe("webshop asked for $10.00, which is 15,574 sat.");
  });

  test.each<[Partial<HistoryItem>, string]>([
    [{ to: "UNDERPAID" }, "A part came: 15,574 sat count so far."],
    [{ to: "UNDERPAID", cause: "withdrawn" }, "Some coins were withdrawn. 15,574 sat count."],
    [{ to: "UNCONFIRMED" }, "Received: 15,574 sat. The payment waits for 2 confirmations."],
    [{ to: "UNCONFIRMED", cause: "staff" }, "Staff accepted the 15,574 sat that came."],
    [{ to: "CONFIRMED" }, "The payment is final: 15,574 sat."],
    [{ to: "CONFIRMED", cause: "staff" }, "Staff accepted the 15,574 sat as payment."],
    [{ to: "CONFIRMED", conflict: "SEEN" }, "Another transaction began to take the coins back."],
    [{ to: "CONFIRMED", conflict: "GONE" }, "No transaction takes the coins back any more."],
    [{ to: "EXPIRED", cause: "time" }, "The time to pay ran out."],
    [{ to: "INVALID", whyInvalid: "OVERPAID" }, "More came than the price: 15,574 sat."],
    [{ to: "INVALID", whyInvalid: "REVERSED" }, "The coins were taken back after the payment was confirmed."],
    [{ to: "INVALID", whyInvalid: "SHORT_PAID" }, "The time ran out, and too little had come: 15,574 sat."],
    [
      { to: "INVALID", whyInvalid: "WITHDRAWN" },
      "The time ran out, and the coins were withdrawn before a block held them.",
    ],
    [
      { to: "NEW", cause: "withdrawn" },
      "The coins were withdrawn before a block held them. Nothing is paid.",
    ],
  ])("tells a change in a sentence: %o", (row, sentence) => {
    expect(said(row)).toBe(sentence);
  });

  test("tells that staff cancelled the payment", () => {
    expect(said({ to: "EXPIRED", cause: "time" }, true)).toBe("Staff cancelled the payment.");
  });
});
