// The filter, page and scroll position of each list, kept while another screen is shown.
import type { Attachment } from "svelte/attachments";
import type { PaymentState } from "../bindings/PaymentState";
import type { PayoutState } from "../bindings/PayoutState";
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

interface Lists {
  payments: Narrowed<PaymentState>;
  payouts: Narrowed<PayoutState>;
  anomalies: { open: boolean; offset: number };
}

function allLists(): Lists {
  return { payments: everything(), payouts: everything(), anomalies: { open: true, offset: 0 } };
}

export const lists = $state<Lists>(allLists());

/** The query for a list with this filter. */
export function asked<State extends string>({ search, wanted, offset }: Narrowed<State>) {
  const states: State[] = wanted === "" ? [] : [wanted as State];
  return { limit: PAGE, offset, states, search: search.trim() === "" ? null : search.trim() };
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
