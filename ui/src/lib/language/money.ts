// Money as the locale writes it: `$4.50` or `4,50 €`. The digits are those of the gateway, so nothing is rounded here.
import type { FiatView } from "../bindings";
import { locale } from "./locale";

/** A sum of money: a decimal text and the ISO code of its currency. */
type Sum = Pick<FiatView, "text" | "currency">;

const formats = new Map<string, Intl.NumberFormat>();

/** The format of a currency with this number of decimals. Making one takes longer than formatting a whole list. */
function formatOf(currency: string, decimals: number): Intl.NumberFormat {
  const key = `${currency} ${decimals}`;
  let format = formats.get(key);
  if (!format) {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    format = new Intl.NumberFormat(locale, { style: "currency", currency, ...digits });
    formats.set(key, format);
  }
  return format;
}

/** A sum with its currency. */
export function money({ text, currency }: Sum): string {
  const decimals = text.split(".")[1]?.length ?? 0;
  return formatOf(currency, decimals).format(text as `${number}`);
}

/** The price of one Bitcoin. The gateway writes 4 decimals; zeros are left out as far as the currency allows. */
export function rateMoney(rate: string, currency: string): string {
  return money({ text: rate.replace(/\.0+$/, "").replace(/(\.\d\d\d*?)0+$/, "$1"), currency });
}

/**
 * The worth of coins beside an earlier worth of the same coins. It is the earlier figure if they differ by their rounding
 * alone, because a person would look for the missing cent.
 */
export function worthBeside(earlier: FiatView, worth: FiatView): FiatView {
  const isRounding = earlier.currency === worth.currency && Math.abs(earlier.minor - worth.minor) <= 1;
  return isRounding ? earlier : worth;
}
