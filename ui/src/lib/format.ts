// Formats times, ids and constants. Amounts of money arrive as texts from the gateway and are not computed here.
import { locale } from "./language/locale";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const sameDay = new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "2-digit" });
const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const otherDay = new Intl.DateTimeFormat(locale, {
  month: "short",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit",
});
const otherYear = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });

const zoned = new Intl.DateTimeFormat(locale, { timeZoneName: "short" });
const whole = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });

/** The short name of this computer's time zone at a given time: `CET` or `GMT+1`. */
export function zoneAt(time: Date): string {
  return zoned.formatToParts(time).find((part) => part.type === "timeZoneName")?.value ?? "";
}

/** The name of this computer's time zone, such as `Europe/Vienna`. */
export function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** A time in full, with its weekday and zone, followed by its ISO 8601 form. */
export function wholeTime(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : `${whole.format(time)} = ${iso}`;
}

/**
 * A time for people, in this computer's zone: `today, 7:45 PM`, `yesterday, …`, and in this year without the year.
 * The window names the zone once. A time whose offset differs from the present one names its own zone.
 */
export function showTime(iso: string, nowMs: number): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const now = new Date(nowMs);
  const isOtherYear = time.getFullYear() !== now.getFullYear();
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  const shown =
    time.toDateString() === now.toDateString()
      ? `today, ${sameDay.format(time)}`
      : time.toDateString() === yesterday.toDateString()
        ? `yesterday, ${sameDay.format(time)}`
        : (isOtherYear ? otherYear : otherDay).format(time);
  const isAsNow = time.getTimezoneOffset() === now.getTimezoneOffset();
  return isAsNow ? shown : `${shown} ${zoneAt(time)}`;
}

/** The time of day with its seconds, for a clock. */
export function clockTime(ms: number): string {
  return clock.format(ms);
}

/** A sentence of the gateway with its ISO 8601 times replaced by times for people. The clock is read only for a time. */
export function withTimes(text: string, nowMs: () => number): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (iso) => showTime(iso, nowMs()));
}

/** The time left until `iso`, such as `29 min 3 s`; undefined once it is past. */
export function timeLeft(iso: string, nowMs: number): string | undefined {
  const left = Date.parse(iso) - nowMs;
  if (Number.isNaN(left) || left <= 0) return undefined;
  if (left < MINUTE_MS) return `${Math.ceil(left / 1000)} s`;
  if (left < HOUR_MS) return `${Math.floor(left / MINUTE_MS)} min ${Math.floor((left % MINUTE_MS) / 1000)} s`;
  if (left < DAY_MS) return `${Math.floor(left / HOUR_MS)} h ${Math.floor((left % HOUR_MS) / MINUTE_MS)} min`;
  return `${Math.floor(left / DAY_MS)} d ${Math.floor((left % DAY_MS) / HOUR_MS)} h`;
}

/** Control characters, line separators and marks of writing direction. The command line escapes the same set. */
const INVISIBLE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** A text of another person with its invisible characters escaped (`\u{202e}`), so that none can reorder the line. */
export function plain(text: string): string {
  return text.replace(INVISIBLE, (mark) => `\\u{${mark.codePointAt(0)?.toString(16) ?? ""}}`);
}

/** Whether a URL points to this computer itself. */
export function isLoopback(url: string): boolean {
  const host = new URL(url).hostname;
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}

/** A long id shortened to its first 8 and last 6 characters. */
export function shortId(id: string): string {
  return id.length <= 16 ? id : `${id.slice(0, 8)}…${id.slice(-6)}`;
}

/** A text in groups of four characters; the last group may be shorter. */
export function inGroups(text: string): string[] {
  return text.match(/.{1,4}/gu) ?? [];
}

/** Chooses one of the forms of a text by a number. */
type PluralRule = (number: number) => number;

/**
 * The form of a text that suits a number, with the number in place of `#`: `plural(2, ["# block", "# blocks"])`.
 * The build adds the forms and the rule of the window's language.
 */
export function plural(number: number, forms: string[], rule: PluralRule = (n) => (n === 1 ? 0 : 1)): string {
  return (forms[rule(number)] ?? forms[0] ?? "").replace("#", String(number));
}

/** An SVG document as the source of an image, so that its markup never becomes part of the page. */
export function svgSource(svg: string): string {
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
