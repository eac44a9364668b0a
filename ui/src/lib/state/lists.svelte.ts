// The filter, page and scroll position of each list, kept while another screen is shown.
import type { Attachment } from "svelte/attachments";
import type { PaymentState } from "../bindings/PaymentState";
import type { PayoutState } from "../bindings/PayoutState";
import { dayBounds } from "../days";
import { keepApart } from "./environment.svelte";

/** The number of rows on a page. */
export const PAGE = 50;

/** The filter and page of a list of records. */
interface Narrowed<State extends string> {
  search: string;
  wanted: State | "";
  offset: number;
}

const everything = () => ({ search: "", wanted: "" as const, offset: 0 });

/** The filter of the payments. Days are local days in the form `2026-01-12`; an empty text matches all. */
export interface PaymentsNarrowed extends Narrowed<PaymentState> {
  fromDay: string;
  toDay: string;
  label: string;
}

export const allPayments = (): PaymentsNarrowed => ({ ...everything(), fromDay: "", toDay: "", label: "" });

interface Lists {
  payments: PaymentsNarrowed;
  payouts: Narrowed<PayoutState>;
  anomalies: { open: boolean; offset: number };
}

function allLists(): Lists {
  return { payments: allPayments(), payouts: everything(), anomalies: { open: true, offset: 0 } };
}

export const lists = $state<Lists>(allLists());

/** The query for a list with this filter. */
export function asked<State extends string>({ search, wanted, offset }: Narrowed<State>) {
  const states: State[] = wanted === "" ? [] : [wanted as State];
  return { limit: PAGE, offset, states, search: search.trim() === "" ? null : search.trim() };
}

/** The query for the payments with this filter. */
export function askedPayments(narrowed: PaymentsNarrowed) {
  const { fromDay, toDay, label } = narrowed;
  return {
    ...asked(narrowed),
    from: fromDay === "" ? null : dayBounds(fromDay)[0],
    to: toDay === "" ? null : dayBounds(toDay)[1],
    label: label === "" ? null : label,
  };
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

/** Restores the list's scroll position, and then records each change of it. */
export function keepsPlace(list: keyof typeof lists): Attachment<HTMLElement> {
  return (rows) => {
    const scroller = rows.closest("main");
    if (!scroller) return;
    scroller.scrollTop = scrolled[list];
    const moved = () => {
      scrolled[list] = scroller.scrollTop;
    };
    scroller.addEventListener("scroll", moved);
    return () => scroller.removeEventListener("scroll", moved);
  };
}

/** Scrolls to the top. Call it when another page of the list is shown. */
export function fromTheTop(list: keyof typeof lists): void {
  scrolled[list] = 0;
  document.querySelector("main")?.scrollTo?.(0, 0);
}
