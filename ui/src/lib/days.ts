// Local days for the takings. The gateway knows no time zone, so the panel sends it the bounds of each day.
import { locale } from "./language/locale";

/** The number of days that Home shows. */
export const DAYS = 30;

/** Consecutive local days; the last one is today. */
export interface LocalDays {
  /** The beginning of each day, the oldest first, and then the end of today, in milliseconds since 1970. */
  bounds: number[];
  /** The number of the last days that make up this week. */
  weekDays: number;
}

const short = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
const weekday = new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric", month: "short" });
const weekdayName = new Intl.DateTimeFormat(locale, { weekday: "long" });
const whole = new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long" });

/** The local midnight at which the day of `nowMs` began. */
export function startOfDay(nowMs: number): number {
  return new Date(nowMs).setHours(0, 0, 0, 0);
}

/** The last `DAYS` days up to the day of `nowMs`. A day with a change to summer time is shorter than others. */
export function localDays(nowMs: number, firstWeekday = firstDayOfWeek()): LocalDays {
  const now = new Date(nowMs);
  const bounds = Array.from({ length: DAYS + 1 }, (_, index) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - DAYS + 1 + index).getTime(),
  );
  return { bounds, weekDays: ((now.getDay() - firstWeekday + 7) % 7) + 1 };
}

/** The local midnight at which the present week began. */
export function weekStartOf({ bounds, weekDays }: LocalDays): number {
  return bounds.at(-1 - weekDays) ?? 0;
}

/**
 * The bounds of three earlier periods, to which the takings of these days are compared: the `DAYS` days before, some days
 * in between, and the week before the last week.
 */
export function earlierBounds(days: LocalDays): number[] {
  const start = days.bounds[0] ?? 0;
  const week = weekStartOf(days);
  return [daysBefore(start, DAYS), start, daysBefore(week, 14), daysBefore(week, 7)];
}

/** The beginning of a local day in the form `2026-01-12`, and that of the next day, in milliseconds since 1970. */
export function dayBounds(day: string): [number, number] {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return [new Date(year, month - 1, date).getTime(), new Date(year, month - 1, date + 1).getTime()];
}

/** The local day that begins at `ms`, in the form `2026-01-12`. */
export function dayOf(ms: number): string {
  const day = new Date(ms);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

/** Periods by which payments are listed. `days` are two days that a person chooses. */
export const PERIODS = ["", "today", "yesterday", "week", "month", "days"] as const;
export type Period = (typeof PERIODS)[number];

/** The first and the last day of a period, in the form `2026-01-12`; empty for all time. */
export function daysOf(
  period: Exclude<Period, "days">,
  nowMs: number,
  firstWeekday = firstDayOfWeek(),
): [string, string] {
  const now = new Date(nowMs);
  const back = (days: number) =>
    dayOf(new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).getTime());
  switch (period) {
    case "":
      return ["", ""];
    case "today":
      return [back(0), back(0)];
    case "yesterday":
      return [back(1), back(1)];
    case "week":
      return [back((now.getDay() - firstWeekday + 7) % 7), back(0)];
    case "month":
      return [back(now.getDate() - 1), back(0)];
  }
}

/** `12 Jan`, in the order of the system's language. */
export function shortDay(ms: number): string {
  return short.format(ms);
}

/** `12–18 Jan`. */
export function dayRange(firstMs: number, lastMs: number): string {
  return short.formatRange(firstMs, lastMs);
}

/** The local midnight some days before another one. */
export function daysBefore(midnightMs: number, days: number): number {
  const day = new Date(midnightMs);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - days).getTime();
}

/** `Mon, 12 Jan`. */
export function dayWithWeekday(ms: number): string {
  return weekday.format(ms);
}

/** `Monday`. */
export function weekdayOf(ms: number): string {
  return weekdayName.format(ms);
}

/** `Monday, 12 January`. */
export function wholeDay(ms: number): string {
  return whole.format(ms);
}

/** The first day of the week of the system's language: 0 is Sunday. It is Monday if the web view does not know it. */
function firstDayOfWeek(): number {
  interface Weeks {
    getWeekInfo?: () => { firstDay: number };
    weekInfo?: { firstDay: number };
  }
  const place = new Intl.Locale(locale) as Intl.Locale & Weeks;
  return ((place.getWeekInfo?.() ?? place.weekInfo)?.firstDay ?? 1) % 7;
}
