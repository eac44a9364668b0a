import { locale } from "./locale";
import { money } from "./money";

const parts = new Intl.NumberFormat(locale, { useGrouping: true }).formatToParts(1234567.5);
const markOf = (type: "group" | "decimal") => parts.find((part) => part.type === type)?.value ?? "";

/** The names of sums for people in answers of the gateway. */
const SUMS = new Set(["shown", "rateShown", "exchangeRateShown"]);

/** A sum as the gateway writes it, such as `1,204.90`, with the marks that are usual in the locale. */
export function inLocale(sum: string, [group, decimal] = [markOf("group"), markOf("decimal")]): string {
  return sum.replace(/[,.]/g, (mark) => (mark === "," ? group : decimal));
}

/** A sentence of the gateway in which each sum with its currency is written as is usual in the locale. */
export function sumsInLocale(text: string): string {
  return text.replace(/\b(\d[\d,]*\.\d+) ([A-Z]{3})\b/g, (_, sum: string, currency: string) =>
    currency === "BTC" ? `${inLocale(sum)} BTC` : money({ text: sum.replaceAll(",", ""), currency }),
  );
}

/** An answer of the gateway in which each sum for people has the marks of the locale. */
export function withSumsInLocale<T>(answer: T): T {
  if (inLocale("1,000.5") === "1,000.5") return answer;
  return JSON.parse(JSON.stringify(answer), (name, value: unknown) =>
    SUMS.has(name) && typeof value === "string" ? inLocale(value) : value,
  ) as T;
}
