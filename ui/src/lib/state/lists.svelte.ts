// The filter, place and scroll position of each list, kept while another screen is shown.
import type { Attachment } from "svelte/attachments";
import type { PaymentState, PayoutState } from "../bindings";
import { dayBounds, daysOf, type Period } from "../days";
import { keepApart } from "./environment.svelte";
import { go } from "./route.svelte";

/** The number of rows on a page of anomalies. */
export const PAGE = 50;

/** The height of a row in pixels. */
export const ROW_HEIGHT = 50;

/** The number of rows that fill half of the screen, also after the window was made larger. */
const halfScreen = () => Math.ceil(Math.max(innerHeight, screen.height) / ROW_HEIGHT / 2);

/** The number of rows that a scrolling list reads at once: those on the screen, and half as many above and below them. */
export const rowsToRead = () => 4 * halfScreen();

/** The most rows that a scrolling list reaches, because web views limit the height of an element. */
export const ROWS_MAX = 400_000;

/** The rows that a scrolling list has read, and the number of rows above them. */
export type RowWindow<Page> = Page & { offset: number };

/** The number of rows above the ones to read, if `first` is the first visible one of `total` rows. */
export function windowAt(first: number, total: number): number {
  const halves = Math.floor(Math.min(Math.max(0, first), Math.max(0, total - 1)) / halfScreen());
  return Math.max(0, halves - 1) * halfScreen();
}

/** The filter of a list of records, and the number of rows above those that were read. */
interface Narrowed<State extends string> {
  search: string;
  wanted: State | "";
  offset: number;
}

const everything = () => ({ search: "", wanted: "" as const, offset: 0 });

/** The filter of the payments. The days, in the form `2026-01-12`, are those of the period `days`. */
export interface PaymentsNarrowed extends Narrowed<PaymentState> {
  period: Period;
  fromDay: string;
  toDay: string;
  label: string;
}

export const allPayments = (): PaymentsNarrowed => ({
  ...everything(),
  period: "",
  fromDay: "",
  toDay: "",
  label: "",
});

/** The filter that shows the payouts to approve. */
export const offersToApprove = (): Narrowed<PayoutState> => ({ ...everything(), wanted: "NEW" });

interface Lists {
  payments: PaymentsNarrowed;
  payouts: Narrowed<PayoutState>;
  anomalies: { open: boolean; offset: number };
}

function allLists(): Lists {
  return { payments: allPayments(), payouts: everything(), anomalies: { open: true, offset: 0 } };
}

export const lists = $state<Lists>(allLists());

function narrowing<State extends string>({ search, wanted }: Narrowed<State>) {
  const states: State[] = wanted === "" ? [] : [wanted as State];
  return { states, search: search.trim() === "" ? null : search.trim() };
}

/** The query for the rows of a list with this filter. */
export function asked<State extends string>(narrowed: Narrowed<State>) {
  return { limit: rowsToRead(), offset: narrowed.offset, ...narrowing(narrowed) };
}

/** The query for all payments with this filter. `todayMs` is a time of the local day that is today. */
export function narrowedPayments(narrowed: PaymentsNarrowed, todayMs: number) {
  const { period, label } = narrowed;
  const [fromDay, toDay] = period === "days" ? [narrowed.fromDay, narrowed.toDay] : daysOf(period, todayMs);
  return {
    ...narrowing(narrowed),
    from: fromDay === "" ? null : dayBounds(fromDay)[0],
    to: toDay === "" ? null : dayBounds(toDay)[1],
    label: label === "" ? null : label,
  };
}

/** Shows the payments that were created on these days, in the form `2026-01-12`. */
export function showPaymentsOf(fromDay: string, toDay: string): void {
  lists.payments = { ...allPayments(), period: "days", fromDay, toDay };
  go({ screen: "payments" });
}

/** Scroll positions of 0 pixels. They are not reactive, because no screen displays them. */
const unscrolled = () => ({ payments: 0, payouts: 0, anomalies: 0 });
const scrolled = unscrolled();

keepApart(
  () => ({ lists: { ...lists }, scrolled: { ...scrolled } }),
  (kept) => {
    Object.assign(lists, kept.lists);
    Object.assign(scrolled, kept.scrolled);
  },
  () => ({ lists: allLists(), scrolled: unscrolled() }),
);

/** The element that scrolls a list: the list's side of a pair, or the whole screen. */
export const scrollerOf = (part: Element) => part.closest<HTMLElement>("[data-scrolls], main");

/** Restores the list's scroll position, and then records each change of it. */
export function keepsPlace(list: keyof typeof lists): Attachment<HTMLElement> {
  return (rows) => {
    const scroller = scrollerOf(rows);
    if (!scroller) return;
    scroller.scrollTop = scrolled[list];
    const moved = () => {
      scrolled[list] = scroller.scrollTop;
    };
    scroller.addEventListener("scroll", moved);
    return () => scroller.removeEventListener("scroll", moved);
  };
}

/** Scrolls to the top. Call it when other rows of the list are shown. */
export function fromTheTop(list: keyof typeof lists): void {
  scrolled[list] = 0;
  const scroller = document.querySelector("[data-scrolls]") ?? document.querySelector("main");
  scroller?.scrollTo?.(0, 0);
}
