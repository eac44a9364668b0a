// The currency that the till and the forms begin with.
import type { StatusView } from "./bindings";
import { currencyOf, DEFAULT_CURRENCIES } from "./language/currencies";
import { region } from "./language/locale";
import { freshCurrencies } from "./words";

/**
 * The shop's currency: the first of the setting `currencies`. While that setting has its default, it is the currency of
 * the system's region.
 */
export function shopCurrency(currencies: readonly string[]): string {
  const ofRegion = currencies.join(",") === DEFAULT_CURRENCIES ? currencyOf(region) : undefined;
  return ofRegion ?? currencies[0] ?? "";
}

/** The currency that a form begins with: the shop's own, or the first with a fresh rate; empty if none has. */
export function firstCurrency(status: Pick<StatusView, "currencies" | "rates">): string {
  const fresh = freshCurrencies(status);
  const own = shopCurrency(status.currencies);
  return fresh.includes(own) ? own : (fresh[0] ?? "");
}

/**
 * The setting `currencies` with the shop's currency at its front. An order that equals the default would not count as a
 * choice, so the others are then sorted.
 */
export function withShopCurrency(currencies: readonly string[], code: string): string {
  const others = currencies.filter((other) => other !== code);
  const moved = [code, ...others].join(",");
  return moved === DEFAULT_CURRENCIES ? [code, ...others.sort()].join(",") : moved;
}
