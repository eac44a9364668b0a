// The currency that the till and the forms begin with.
import { afterEach, describe, expect, test } from "vitest";
import { currencyOf } from "../src/lib/language/currencies";
import { shopCurrency, withShopCurrency } from "../src/lib/shopCurrency";
import { openedIn } from "./opened";

const DEFAULT = ["USD", "EUR", "GBP", "AUD", "JPY", "CAD"];

afterEach(() => {
  globalThis.tillgateLocale = undefined;
});

/** The first currency of the forms in a window that was opened in a locale. */
async function firstIn(locale: string, currencies: string[], fresh = currencies): Promise<string> {
  openedIn(locale);
  const { firstCurrency } = await import("../src/lib/shopCurrency");
  const rates = fresh.map((currency) => ({ currency, rate: "1", shown: "1", fresh: true, decimals: 2 }));
  return firstCurrency({ currencies, rates });
}

describe("the shop's currency", () => {
  test.each([
    ["de-AT", "EUR"],
    ["de", "EUR"],
    ["en-GB", "GBP"],
    ["ja", "JPY"],
    ["en-US", "USD"],
    ["de-CH", "USD"],
  ])("is that of the region %s while nobody has chosen one", async (locale, currency) => {
    expect(await firstIn(locale, DEFAULT)).toBe(currency);
  });

  test("is the first one once the shop has chosen", async () => {
    expect(await firstIn("de-AT", ["CHF", "EUR", "USD"])).toBe("CHF");
  });

  test("gives way to one with a fresh rate", async () => {
    expect(await firstIn("de-AT", DEFAULT, ["GBP", "USD"])).toBe("USD");
    expect(await firstIn("de-AT", DEFAULT, [])).toBe("");
  });

  test("can be chosen although it leads the default", () => {
    const chosen = withShopCurrency(DEFAULT, "USD");
    expect(chosen).toBe("USD,AUD,CAD,EUR,GBP,JPY");
    expect(shopCurrency(chosen.split(","))).toBe("USD");
    expect(withShopCurrency(DEFAULT, "EUR")).toBe("EUR,USD,GBP,AUD,JPY,CAD");
  });

  test("is unknown for a region without a default currency", () => {
    expect(currencyOf("CH")).toBeUndefined();
  });
});
