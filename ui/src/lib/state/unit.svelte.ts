// The unit in which the panel shows Bitcoin: BTC or satoshis. The choice is kept on this computer.
import { locale } from "../language/locale";
import type { BtcView } from "../bindings";

export const UNITS = ["BTC", "sat"] as const;
export type Unit = (typeof UNITS)[number];

const KEY = "tillgate.unit";

export const unit = $state<{ name: Unit }>({ name: localStorage.getItem(KEY) === "sat" ? "sat" : "BTC" });

export function chooseUnit(name: Unit): void {
  unit.name = name;
  localStorage.setItem(KEY, name);
}

const whole = new Intl.NumberFormat(locale);

/** An amount of Bitcoin without its unit, for a column whose heading names the unit. */
export function btcNumber(amount: Pick<BtcView, "sats" | "shown">): string {
  return unit.name === "sat" ? whole.format(amount.sats) : amount.shown;
}

/** An amount of Bitcoin in the chosen unit, beside others to which a person compares it: `0.00000282 BTC`. */
export function btcToCompare(amount: Pick<BtcView, "sats" | "shown">): string {
  return `${btcNumber(amount)} ${unit.name}`;
}

/** Less than this, in satoshis, is a row of zeros in BTC. */
const SMALL_SATS = 100_000;

/** An amount of Bitcoin with its unit: `0.15000000 BTC`. A small one is in satoshis: `15,574 sat`. */
export function btc(amount: Pick<BtcView, "sats" | "shown">): string {
  return Math.abs(amount.sats) < SMALL_SATS ? `${whole.format(amount.sats)} sat` : btcToCompare(amount);
}
