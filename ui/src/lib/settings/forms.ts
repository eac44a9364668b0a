// The values of settings as people read and write them. No sum is computed: only the decimal mark moves.
import { inLocale } from "../language/sums";
import type { Control } from "./kinds";

/** A number of thousandths in percent: 5 is 0.5. Another text stays as it is. */
export function percentOf(perMille: string): string {
  if (!/^\d+$/.test(perMille)) return perMille;
  const digits = perMille.padStart(2, "0");
  const [whole, tenth] = [digits.slice(0, -1), digits.slice(-1)];
  return tenth === "0" ? whole : `${whole}.${tenth}`;
}

/** A percentage in thousandths: 0.5 is 5. The gateway refuses any other text. */
export function perMilleOf(percent: string): string {
  const [, whole, tenth = "0"] = /^(\d+)(?:\.(\d))?$/.exec(percent) ?? [];
  return whole === undefined ? percent : `${whole}${tenth}`.replace(/^0+(?=\d)/, "");
}

/** Whether the mark of a typed sum may stand between thousands or before decimals: 1.000 is one or a thousand. */
export function isAmbiguous(sum: string): boolean {
  return /^[1-9]\d{0,2}[.,]\d{3}$/.test(sum.trim());
}

/** A typed number with a decimal point. */
export function withPoint(typed: string): string {
  const text = typed.trim();
  return text.includes(".") ? text : text.replace(",", ".");
}

/** A value of the gateway for its field. */
export function shownValue({ kind }: Control, value: string): string {
  if (kind === "percent") return inLocale(percentOf(value));
  return kind === "sum" ? inLocale(value) : value;
}

/** The value for the gateway of a typed text. */
export function valueOfTyped({ kind }: Control, typed: string): string {
  if (kind === "percent") return perMilleOf(withPoint(typed));
  return kind === "sum" ? withPoint(typed) : typed.trim();
}

/** Up to the price `upTo`, in US dollars, a payment needs so many confirmations. */
export interface Tier {
  upTo: string;
  confirmations: string;
}

/** The price of the last tier, which has no bound. */
export const ABOVE = "*";

/** The tiers of the setting `confirmationTiers`. */
export function tiersOf(value: string): Tier[] {
  return value.split(",").map((part) => {
    const [upTo = "", confirmations = ""] = part.split(":");
    return { upTo: upTo.trim(), confirmations: confirmations.trim() };
  });
}

export function tiersText(tiers: readonly Tier[]): string {
  return tiers.map(({ upTo, confirmations }) => `${withPoint(upTo)}:${confirmations.trim()}`).join(",");
}

/** The parts of a list with commas. */
export function listOf(value: string): string[] {
  return value.split(",").filter((part) => part !== "");
}
