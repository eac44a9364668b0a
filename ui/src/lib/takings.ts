// Comparisons of the takings. The gateway makes all sums; here only the share of two sums becomes a percentage.
import type { CurrencyTakings, TakingsSum, TakingsView } from "./bindings";
import { DAYS, weekdayOf, daysBefore } from "./days";
import { locale } from "./language/locale";
import { money } from "./language/money";

/** The periods beside today's takings. */
export type Compared = "yesterday" | "week" | "lastWeek" | "all";

/** A change against the period before. */
export interface Trend {
  up: boolean;
  /** The change with its arrow: `▲ 12%`. */
  sign: string;
  /** The comparison in words. */
  words: string;
}

const percent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 });

/** A sum more than this many times the former one says nothing about a trend. */
const TIMES_MAX = 10;

/** The trend from `before` to `now`, in minor units; undefined if `before` is too little to compare with. */
function trend(
  now: number,
  before: number | undefined,
  words: (share: string, up: boolean) => string,
): Trend | undefined {
  if (before === undefined || before <= 0 || now > TIMES_MAX * before) return undefined;
  const up = now >= before;
  const share = percent.format(Math.abs(now - before) / before);
  return { up, sign: `${up ? "▲" : "▼"} ${share}`, words: words(share, up) };
}

/** The trend of each period. `earlier` are the takings of `earlierBounds`. */
export function trendsOf(
  main: CurrencyTakings,
  earlier: TakingsView,
  weekStart: number,
  weekDays: number,
): Record<Compared, Trend | undefined> {
  const before = [earlier.main, ...earlier.others].find(({ currency }) => currency === main.currency);
  const of = (sum: TakingsSum | undefined) => sum?.price.minor;
  const { week, weekChange } = main;
  /** The last day of the week before that is compared with today. */
  const sameDay = weekdayOf(daysBefore(weekStart, 8 - weekDays));
  const sum = weekChange ? money({ ...weekChange, text: weekChange.text.replace(/^-/, "") }) : "";
  return {
    yesterday: trend(main.yesterday.price.minor, of(main.days.at(-9)?.sum), (share, up) =>
      up ? `${share} more than a week before` : `${share} less than a week before`,
    ),
    week: trend(week.price.minor, weekChange ? week.price.minor - weekChange.minor : undefined, (_, up) =>
      up ? `${sum} more than last week until ${sameDay}` : `${sum} less than last week until ${sameDay}`,
    ),
    lastWeek: trend(main.lastWeek.price.minor, of(before?.days[2]?.sum), (share, up) =>
      up ? `${share} more than the week before` : `${share} less than the week before`,
    ),
    all: trend(main.all.price.minor, of(before?.days[0]?.sum), (share, up) =>
      up ? `${share} more than in the ${DAYS} days before` : `${share} less than in the ${DAYS} days before`,
    ),
  };
}

/** The sums of a period in the other currencies, without those that took nothing. */
export function besides(
  others: CurrencyTakings[],
  sumOf: (takings: CurrencyTakings) => TakingsSum | undefined,
): TakingsSum[] {
  return others.map(sumOf).filter((sum) => sum !== undefined && sum.payments > 0) as TakingsSum[];
}

/** The number of the first day with takings, at most `leave` days before the last one; a shop's chart begins there. */
export function firstDayOf({ days }: CurrencyTakings, leave = 6): number {
  const first = days.findIndex(({ sum }) => sum.payments > 0);
  return Math.max(0, Math.min(first < 0 ? days.length : first, days.length - 1 - leave));
}
