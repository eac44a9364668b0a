// The period and the part of the books, kept while another screen is shown. No other list narrows them.
import type { LedgerKind } from "../bindings";
import { daysOfQuick, stepsOf, usualStep, type Days, type Quick, type Step } from "../books";
import { keepApart } from "./environment.svelte";

interface BooksChoice {
  part: "takings" | "statement";
  /** A period that moves on with the calendar, or two days that a person chose. */
  period: Quick | Days;
  /** The chosen parts of the takings; undefined for the usual ones. */
  step: Step | undefined;
  /** The kind of movements in the statement; empty for all. */
  kind: LedgerKind | "";
  /** The currency of the statement; empty for the first one. */
  currency: string;
}

export const firstChoice = (): BooksChoice => ({
  part: "takings",
  period: "this-month",
  step: undefined,
  kind: "",
  currency: "",
});

export const books = $state<BooksChoice>(firstChoice());

keepApart(
  () => ({ ...books }),
  (kept) => Object.assign(books, kept),
  firstChoice,
);

export function choosePeriod(period: Quick | Days): void {
  books.period = period;
}

/** The days of the chosen period. */
export function chosenDays(nowMs: number): Days {
  return typeof books.period === "string" ? daysOfQuick(books.period, nowMs) : books.period;
}

/** The parts in which the chosen period is shown. */
export function chosenStep(nowMs: number): Step {
  const days = chosenDays(nowMs);
  const steps = stepsOf(days, nowMs);
  return books.step && steps.includes(books.step) ? books.step : usualStep(days);
}
