// Adds the prices that a cashier types and taps, and the tip. All sums are whole minor units of the currency in a
// BigInt. The gateway gets lines and tip as plain decimal texts, and computes the price itself.
import { inLocale } from "./language/sums";

/** Most digits before the decimal mark. A longer price is a slip of the finger. */
const WHOLE_DIGITS_MAX = 9;

/** Most characters of a payment's message. The gateway refuses longer ones. */
export const MESSAGE_MAX = 512;

/** The tips that a cashier can choose, in percent. */
export const TIPS = [0, 5, 10, 15, 20] as const;

/** Most products. More tiles cannot be found at a glance. */
export const PRODUCTS_MAX = 60;

/** The colours of product tiles. */
export const TILE_COLORS = [
  { color: "", name: "No colour" },
  { color: "#c0392b", name: "Red" },
  { color: "#d35400", name: "Orange" },
  { color: "#c9a000", name: "Yellow" },
  { color: "#2e8b57", name: "Green" },
  { color: "#2471a3", name: "Blue" },
  { color: "#7d3c98", name: "Violet" },
  { color: "#7b5136", name: "Brown" },
] as const;

/** An item that was tapped, or a typed amount that was put aside with the key "+". */
export interface Line {
  /** The product's name; empty for a typed amount. */
  name: string;
  /** The price of one. */
  minor: bigint;
  count: number;
  /** The rate of the tax that the price contains; null without tax. */
  taxPerMille: number | null;
}

/** A sale before it is charged. */
export interface Draft {
  /** The currency of the lines and of the typed digits; empty before the first price. */
  currency: string;
  lines: Line[];
  /** The typed digits, with a point before the decimals. */
  typed: string;
  tipPercent: number;
  note: string;
}

export function emptySale(): Draft {
  return { currency: "", lines: [], typed: "", tipPercent: 0, note: "" };
}

/** The typed digits after one more key: a digit, `.` or `,`. A key that makes no price is ignored. */
export function afterKey(typed: string, key: string, decimals: number): string {
  if (key === "." || key === ",") {
    return decimals === 0 || typed.includes(".") ? typed : `${typed || "0"}.`;
  }
  const [whole = "", fraction] = typed.split(".");
  if (fraction !== undefined) return fraction.length < decimals ? typed + key : typed;
  if (whole === "0") return key;
  return whole.length < WHOLE_DIGITS_MAX ? typed + key : typed;
}

/** The typed digits after one more digit that fills the cents first: 4, 5, 0 becomes 4.50. */
export function afterCentsKey(typed: string, key: string, decimals: number): string {
  if (!/^\d$/.test(key)) return typed;
  const minor = (minorOf(typed, decimals) ?? 0n) * 10n + BigInt(key);
  const text = plainText(minor, decimals);
  if ((text.split(".")[0] ?? "").length > WHOLE_DIGITS_MAX) return typed;
  return minor === 0n ? "" : text;
}

/** The typed digits without the last cent. */
function withoutCent(typed: string, decimals: number): string {
  const minor = (minorOf(typed, decimals) ?? 0n) / 10n;
  return minor === 0n ? "" : plainText(minor, decimals);
}

/** The keypad's digits in minor units; undefined if they are no price in a currency with these decimals. */
export function minorOf(text: string, decimals: number): bigint | undefined {
  const found = /^(\d*)(?:[.,](\d*))?$/.exec(text.trim());
  const whole = found?.[1] ?? "";
  const fraction = found?.[2] ?? "";
  if (whole + fraction === "" || whole.length > WHOLE_DIGITS_MAX || fraction.length > decimals)
    return undefined;
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

/** Minor units as the plain decimal text that the gateway reads: `1234.50`. */
export function plainText(minor: bigint, decimals: number): string {
  const digits = minor.toString().padStart(decimals + 1, "0");
  const point = digits.length - decimals;
  return decimals === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Minor units for people, such as `1,234.50`. */
export function shownText(minor: bigint, decimals: number): string {
  const [whole = "", fraction] = plainText(minor, decimals).split(".");
  return inLocale(withThousands(whole) + (fraction === undefined ? "" : `.${fraction}`));
}

/** The typed digits for people. A decimal point stays visible before its decimals are typed. */
export function shownTyped(typed: string): string {
  const [whole = "", fraction] = typed.split(".");
  return inLocale(withThousands(whole || "0") + (fraction === undefined ? "" : `.${fraction}`));
}

function withThousands(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** The sum of the lines and the typed amount, the tip, and both together. */
export function sums(draft: Draft, decimals: number): { goods: bigint; tip: bigint; total: bigint } {
  const typed = minorOf(draft.typed, decimals) ?? 0n;
  const goods = draft.lines.reduce((sum, line) => sum + line.minor * BigInt(line.count), typed);
  // Half a minor unit is rounded up.
  const tip = (goods * BigInt(draft.tipPercent) + 50n) / 100n;
  return { goods, tip, total: goods + tip };
}

/** The lines after a tap on a product. Taps on the same product are counted in one line. */
export function withProduct(
  lines: Line[],
  name: string,
  minor: bigint,
  taxPerMille: number | null = null,
): Line[] {
  const there = lines.findIndex(
    (line) => line.name === name && line.minor === minor && line.taxPerMille === taxPerMille,
  );
  if (there < 0) return [...lines, { name, minor, count: 1, taxPerMille }];
  return lines.map((line, index) => (index === there ? { ...line, count: line.count + 1 } : line));
}

/** The lines without the last tap on the line at `index`. */
export function withoutOne(lines: Line[], index: number): Line[] {
  return lines.flatMap((line, at) => {
    if (at !== index) return [line];
    return line.count > 1 ? [{ ...line, count: line.count - 1 }] : [];
  });
}

/** The sale with the typed amount as a line of its own, so that another amount can be typed. */
export function putAside(draft: Draft, decimals: number): Draft {
  const minor = minorOf(draft.typed, decimals);
  if (!minor) return draft;
  return { ...draft, lines: withProduct(draft.lines, "", minor), typed: "" };
}

/** The sale after Backspace: without the last typed digit, or without the last tap if nothing is typed. */
export function afterBackspace(draft: Draft, decimals: number, centsFirst: boolean): Draft {
  if (draft.typed !== "") {
    const typed = centsFirst ? withoutCent(draft.typed, decimals) : draft.typed.slice(0, -1);
    return { ...draft, typed };
  }
  return { ...draft, lines: withoutOne(draft.lines, draft.lines.length - 1) };
}

/** The payment's message: the note, the products, and the tip. */
export function messageOf(draft: Draft, decimals: number): string {
  const products = draft.lines
    .filter((line) => line.name !== "")
    .map((line) => (line.count > 1 ? `${line.count} × ${line.name}` : line.name));
  const { tip } = sums(draft, decimals);
  const tipped = tip > 0n ? `tip ${shownText(tip, decimals)}` : "";
  const text = [draft.note.trim(), products.join(", "), tipped].filter((part) => part !== "").join("; ");
  const characters = [...text];
  return characters.length <= MESSAGE_MAX ? text : `${characters.slice(0, MESSAGE_MAX - 1).join("")}…`;
}

/** A tax rate that a person typed in percent; undefined if the text is none. */
export function perMilleOf(text: string): number | undefined {
  const found = /^(\d{1,3})(?:[.,](\d))?\s?%?$/.exec(text.trim());
  if (!found) return undefined;
  const perMille = Number(found[1]) * 10 + Number(found[2] ?? 0);
  return perMille <= 1_000 ? perMille : undefined;
}

/** A tax rate in percent, without the sign; empty without tax. */
export function shownTax(perMille: number | null): string {
  if (perMille === null) return "";
  const fraction = perMille % 10;
  return `${Math.floor(perMille / 10)}${fraction > 0 ? inLocale(`.${fraction}`) : ""}`;
}

/** A list in which the item at `from` has moved to `to`. */
export function moved<T>(list: T[], from: number, to: number): T[] {
  const item = list[from];
  if (item === undefined || to < 0 || to >= list.length) return list;
  const others = list.filter((_, index) => index !== from);
  return [...others.slice(0, to), item, ...others.slice(to)];
}
