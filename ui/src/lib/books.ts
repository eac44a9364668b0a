// Periods of the books: their days, their parts and their names. The gateway knows no time zone and makes all sums.
import type { LedgerKind } from "./bindings";
import { dayBounds, dayOf, dayRange, dayWithWeekday, shortDay } from "./days";
import { locale } from "./language/locale";

/** Periods that are chosen in one tap. */
export const QUICK = [
  "this-month",
  "last-month",
  "this-quarter",
  "last-quarter",
  "this-year",
  "last-year",
] as const;
export type Quick = (typeof QUICK)[number];

/** The parts into which takings are divided. */
export const STEPS = ["day", "month", "quarter", "year"] as const;
export type Step = (typeof STEPS)[number];

/** The first and the last day of a period, in the form `2026-01-12`. */
export interface Days {
  from: string;
  to: string;
}

const MONTHS: Record<Step, number> = { day: 0, month: 1, quarter: 3, year: 12 };

/** The most parts that the gateway sums at once. */
export const PARTS_MAX = 400;

const DAY_MS = 24 * 3_600_000;

/** A period up to this number of days is shown by day at first. */
const DAYS_USUAL = 62;

const month = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric" });
const shortMonth = new Intl.DateTimeFormat(locale, { month: "short" });
const shortMonthOfYear = new Intl.DateTimeFormat(locale, { month: "short", year: "2-digit" });
const date = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });

/** The days of a period that is chosen in one tap. */
export function daysOfQuick(quick: Quick, nowMs: number): Days {
  const now = new Date(nowMs);
  const [which, unit] = quick.split("-") as ["this" | "last", Exclude<Step, "day">];
  const months = MONTHS[unit];
  const begun = now.getMonth() - (now.getMonth() % months) - (which === "last" ? months : 0);
  return {
    from: dayOf(new Date(now.getFullYear(), begun, 1).getTime()),
    to: dayOf(new Date(now.getFullYear(), begun + months, 0).getTime()),
  };
}

/** The beginning of the first day and the end of the last one, in milliseconds since 1970. */
export function boundsOfDays({ from, to }: Days): [number, number] {
  return [dayBounds(from)[0], dayBounds(to)[1]];
}

/**
 * The beginning of each part of a period, and then the end of the last one. Days that are still to come are left out. The
 * first and the last part may be cut.
 */
export function boundsOfParts(days: Days, step: Step, nowMs: number): number[] {
  const [start, end] = boundsOfDays(days);
  const today = dayBounds(dayOf(nowMs))[1];
  const last = start < today ? Math.min(end, today) : end;
  const bounds = [start];
  for (let next = partAfter(start, step); next < last; next = partAfter(next, step)) bounds.push(next);
  return [...bounds, last];
}

/** The local midnight at which the part after that of `ms` begins. */
function partAfter(ms: number, step: Step): number {
  const day = new Date(ms);
  if (step === "day") return new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1).getTime();
  const months = MONTHS[step];
  return new Date(day.getFullYear(), day.getMonth() - (day.getMonth() % months) + months, 1).getTime();
}

/** The parts into which a period can be divided. */
export function stepsOf(days: Days, nowMs: number): Step[] {
  return STEPS.filter((step) => boundsOfParts(days, step, nowMs).length - 1 <= PARTS_MAX);
}

/** The parts in which a period is shown at first. */
export function usualStep(days: Days): Step {
  const [start, end] = boundsOfDays(days);
  return (end - start) / DAY_MS < DAYS_USUAL + 1 ? "day" : "month";
}

/** Whether a month, quarter or year begins at a time. */
function begins(step: Step, ms: number): boolean {
  const day = new Date(ms);
  return day.getDate() === 1 && day.getMonth() % MONTHS[step] === 0;
}

/** The month, quarter or year that is the whole period; undefined if there is none. */
function wholePart(days: Days): Step | undefined {
  const [start, end] = boundsOfDays(days);
  return (["month", "quarter", "year"] as const).find(
    (step) => begins(step, start) && partAfter(start, step) === end,
  );
}

const quarterOf = (ms: number) => Math.floor(new Date(ms).getMonth() / 3) + 1;

/** A period for people: `October 2026`, `Quarter 4 of 2026`, `2026`, or two days. */
export function periodTitle(days: Days): string {
  const [start, end] = boundsOfDays(days);
  switch (wholePart(days)) {
    case "month":
      return month.format(start);
    case "quarter":
      return `Quarter ${quarterOf(start)} of ${days.from.slice(0, 4)}`;
    case "year":
      return days.from.slice(0, 4);
    default:
      return date.formatRange(start, end - 1);
  }
}

/** A period in a file's name: `2026-10`, `2026-Q4`, `2026`, or two days. */
export function periodName(days: Days): string {
  const [start] = boundsOfDays(days);
  switch (wholePart(days)) {
    case "month":
      return days.from.slice(0, 7);
    case "quarter":
      return `${days.from.slice(0, 4)}-Q${quarterOf(start)}`;
    case "year":
      return days.from.slice(0, 4);
    default:
      return days.from === days.to ? days.from : `${days.from}-${days.to}`;
  }
}

/** The most characters of the shop's name in a file's name. */
const SHOP_MAX = 60;

/** The name of a file without its ending: `Cafe-Blau-2026-10-statement`. It has only letters, digits and hyphens. */
export function fileName(shop: string, days: Days, subject: string, isTest: boolean): string {
  const letters = shop
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .replace(/[^\p{L}\p{N}]+/gu, "-");
  const name = letters.slice(0, SHOP_MAX).replace(/^-|-$/g, "");
  return [isTest ? "test" : "", name, periodName(days), subject].filter((part) => part !== "").join("-");
}

/** The name of a part of a period, which begins and ends at these times. A part that is cut is named by its days. */
export function partName(step: Step, start: number, end: number): string {
  if (step === "day") return dayWithWeekday(start);
  const isWhole = begins(step, start) && partAfter(start, step) === end;
  return isWhole ? periodTitle({ from: dayOf(start), to: dayOf(end - 1) }) : dayRange(start, end - 1);
}

/** The name of a part below its bar in a chart. */
export function shortPartName(step: Step, start: number, hasSeveralYears: boolean): string {
  const year = String(new Date(start).getFullYear());
  switch (step) {
    case "day":
      return shortDay(start);
    case "month":
      return (hasSeveralYears ? shortMonthOfYear : shortMonth).format(start);
    case "quarter":
      return `Q${quarterOf(start)}${hasSeveralYears ? ` ${year}` : ""}`;
    case "year":
      return year;
  }
}

/** Words for the kinds of movements. */
export const KIND_WORDS: Record<LedgerKind, string> = {
  PAYMENT: "Payment",
  ANOMALY: "Money that did not fit its order",
  PAYOUT: "Payout",
  FEE: "Network fee",
  FEE_DIFFERENCE: "Correction of a network fee",
  OTHER: "Other movement",
};

/** The words for a movement. Coins that came may leave again, and so may coins that were sent. */
export function movementWords(kind: LedgerKind, sats: number): string {
  if ((kind === "PAYMENT" || kind === "ANOMALY") && sats < 0) return `${KIND_WORDS[kind]}, reversed`;
  if (kind === "PAYOUT" && sats > 0) return `${KIND_WORDS[kind]}, failed`;
  return KIND_WORDS[kind];
}
