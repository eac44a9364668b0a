// Replies of the gateway for tests of the books.
import type { CurrencyBooks, StatementItem, StatementSumsView, StatementView } from "../src/lib/bindings";
import { btc, takingsSum, usd } from "./fixture";

/** Books of two months: 60 USD of three sales, and 10 USD of a shop. */
export function monthlyBooks(over: Partial<CurrencyBooks> = {}): CurrencyBooks {
  return {
    currency: "USD",
    all: takingsSum(70, 4),
    periods: [
      { sum: takingsSum(40, 2), height: 1000 },
      { sum: takingsSum(30, 2), height: 750 },
    ],
    top: usd(4000, "40.00"),
    half: usd(2000, "20.00"),
    taxes: [{ perMille: 190, net: usd(4202, "42.02"), tax: usd(798, "7.98"), gross: usd(5000, "50.00") }],
    untaxed: usd(1000, "10.00"),
    withoutLines: usd(1000, "10.00"),
    byMaker: [
      { maker: "TILL", key: null, sum: takingsSum(60, 3) },
      { maker: "KEY", key: "webshop", sum: takingsSum(10) },
    ],
    ...over,
  };
}

/** A movement of the balance: a payment of 10 USD. */
export function movement(over: Partial<StatementItem> = {}): StatementItem {
  return {
    time: "2026-01-12T12:06:10.000Z",
    kind: "PAYMENT",
    amount: btc(15574, "0.00015574"),
    worth: usd(1000, "10.00"),
    exchangeRate: "64210.5500",
    exchangeRateShown: "64,210.55",
    fee: null,
    btcTxId: "c".repeat(64),
    paymentId: "p".repeat(40),
    payoutId: null,
    anomalyId: null,
    ...over,
  };
}

export function statementPage(items: StatementItem[], next: StatementView["next"] = null): StatementView {
  return { items, byDay: [], byMonth: [], total: btc(0, "0.00000000"), next };
}

/** The balances of a period with `count` payments and a payout with its fee. */
export function balances(count = 1): StatementSumsView {
  return {
    opening: btc(100000, "0.00100000"),
    closing: btc(65292, "0.00065292"),
    byKind: [
      { kind: "PAYMENT", count, amount: btc(15574, "0.00015574"), worth: usd(1000, "10.00") },
      { kind: "PAYOUT", count: 1, amount: btc(-50000, "-0.00050000"), worth: usd(-3210, "-32.10") },
      { kind: "FEE", count: 1, amount: btc(-282, "-0.00000282"), worth: null },
    ],
    fees: btc(282, "0.00000282"),
  };
}
