import { describe, expect, test } from "vitest";
import { openedIn } from "./opened";

const sum = (text: string, currency: string) => ({ text, currency, shown: "", minor: 0 });

/** The formats of a window that was opened in this locale. Blanks that do not break are plain ones here. */
async function windowIn(locale: string) {
  openedIn(locale);
  const { money, rateMoney, worthBeside } = await import("../src/lib/language/money");
  const { sumsInLocale } = await import("../src/lib/language/sums");
  const { btc, btcToCompare } = await import("../src/lib/state/unit.svelte");
  const plainly = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, " ");
  return {
    money: (text: string, currency: string) => plainly(money(sum(text, currency))),
    rate: (rate: string, currency: string) => plainly(rateMoney(rate, currency)),
    sentence: (text: string) => plainly(sumsInLocale(text)),
    worthBeside,
    btc,
    btcToCompare,
  };
}

describe("money", () => {
  test.each([
    ["en-US", "1234.50", "USD", "$1,234.50"],
    ["en-US", "-4.50", "USD", "-$4.50"],
    ["en-US", "4.50", "CAD", "CA$4.50"],
    ["de-DE", "4.50", "EUR", "4,50 €"],
    ["de-DE", "1234.50", "USD", "1.234,50 $"],
    ["de-AT", "4.50", "EUR", "€ 4,50"],
    ["ja-JP", "1500", "JPY", "￥1,500"],
    ["en-US", "1500", "JPY", "¥1,500"],
  ])("in %s is written as is usual there: %s %s is %s", async (locale, text, currency, expected) => {
    expect((await windowIn(locale)).money(text, currency)).toBe(expected);
  });

  test("keeps each digit of the gateway, also of a sum that no float holds", async () => {
    const { money } = await windowIn("en-US");
    expect(money("16.49", "USD")).toBe("$16.49");
    expect(money("16.495", "USD")).toBe("$16.495");
    expect(money("16.5", "JPY")).toBe("¥16.5");
    expect(money("90071992547409.93", "USD")).toBe("$90,071,992,547,409.93");
  });

  test("within a sentence of the gateway is written alike", async () => {
    const { sentence } = await windowIn("de-DE");
    expect(sentence("1,204.90 USD received, 0.00050000 BTC to bc1q.5 at 12.30")).toBe(
      "1.204,90 $ received, 0,00050000 BTC to bc1q.5 at 12.30",
    );
  });
});

test("a rate leaves out zeros as far as the currency allows", async () => {
  const { rate } = await windowIn("en-US");
  expect(rate("57000.0000", "CHF")).toBe("CHF 57,000");
  expect(rate("64210.5500", "USD")).toBe("$64,210.55");
  expect(rate("64210.5000", "USD")).toBe("$64,210.50");
  expect(rate("64210.5555", "USD")).toBe("$64,210.5555");
});

test("the same coins have one worth if two differ by their rounding alone", async () => {
  const { worthBeside } = await windowIn("en-US");
  const then = { minor: 1649, text: "16.49", shown: "16.49", currency: "USD" };
  const rounded = { ...then, minor: 1650, text: "16.50" };
  const risen = { ...then, minor: 1651, text: "16.51" };
  expect(worthBeside(then, rounded)).toBe(then);
  expect(worthBeside(then, risen)).toBe(risen);
  expect(worthBeside(then, { ...rounded, currency: "EUR" }).currency).toBe("EUR");
});

test("less than 0.001 BTC is in satoshis, but not beside amounts to compare", async () => {
  const { btc, btcToCompare } = await windowIn("de-DE");
  const small = { sats: 99_999, shown: "0,00099999" };
  expect(btc(small)).toBe("99.999 sat");
  expect(btcToCompare(small)).toBe("0,00099999 BTC");
  expect(btc({ sats: 100_000, shown: "0,00100000" })).toBe("0,00100000 BTC");
  expect(btc({ sats: -5, shown: "-0,00000005" })).toBe("-5 sat");
});
