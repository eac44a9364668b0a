// What a person narrowed and scrolled in each list, remembered while another screen is shown.
import type { Attachment } from "svelte/attachments";
import type { PaymentState } from "../bindings/PaymentState";
import type { PayoutState } from "../bindings/PayoutState";
import { keepApart } from "./environment.svelte";

/** How many rows a page has. */
export const PAGE = 50;

/** What a list of records is narrowed by. */
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

/** What the gateway is asked for, of a list that is narrowed so. */
export function asked<State extends string>({ search, wanted, offset }: Narrowed<State>) {
  const states: State[] = wanted === "" ? [] : [wanted as State];
  return { limit: PAGE, offset, states, search: search.trim() === "" ? null : search.trim() };
}

/** Where each list was scrolled to. No screen shows it, so nothing needs to hear of it. */
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

/** Goes back to where the list was scrolled to, and follows it from there on. */
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

/** Another page of the list begins at its top. */
export function fromTheTop(list: keyof typeof lists): void {
  scrolled[list] = 0;
  document.querySelector("main")?.scrollTo?.(0, 0);
}
