// The pages of the merchant's manual that ship inside the program, and the page that belongs to each screen.
import type { Token } from "marked";
import type { Route } from "./state/route.svelte";

const FILES = import.meta.glob<Token[]>("../../../docs/merchant/*.md", { eager: true, import: "default" });

/** The tokens of each page, by its file name. */
export const PAGES: Record<string, Token[]> = Object.fromEntries(
  Object.entries(FILES).map(([path, tokens]) => [path.split("/").pop() ?? path, tokens]),
);

/** A page, and the heading at which it opens. */
export interface Place {
  page: string;
  /** A heading's anchor, as in a link of the manual; empty for the top. */
  anchor: string;
}

const at = (page: string, anchor = ""): Place => ({ page, anchor });

export const MANUAL: Record<Route["screen"], Place> = {
  home: at("first-payment.md"),
  till: at("first-payment.md", "sell-at-the-counter"),
  payments: at("first-payment.md"),
  payment: at("first-payment.md"),
  new: at("first-payment.md"),
  payouts: at("paying-out.md"),
  payout: at("paying-out.md", "when-an-approved-payout-waits"),
  "new-payout": at("paying-out.md"),
  anomalies: at("first-payment.md", "when-the-money-does-not-fit"),
  books: at("paying-out.md", "for-your-books"),
  wallet: at("backup-and-restore.md"),
  keys: at("real-money.md"),
  sandbox: at("first-payment.md"),
  "go-live": at("real-money.md"),
};

/** The anchor of a heading, made as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}

/** The place to which a link of the manual leads; undefined if it leads out of the manual. */
export function placeOf(href: string, from: string): Place | undefined {
  const [file = "", anchor = ""] = href.split("#");
  const page = file === "" ? from : file;
  return page in PAGES ? { page, anchor } : undefined;
}
