// The pages of the merchant's manual that ship inside the program, and the page that belongs to each screen.
import type { Token } from "marked";
import type { Route } from "./state/route.svelte";

const FOLDER = "../../../docs/merchant/";

/** Loads each page: `NAME.md` in English, and `LANGUAGE/NAME.md` in another language. */
const FILES = import.meta.glob<Token[]>("../../../docs/merchant/**/*.md", { import: "default" });

/** The file name of each page. Every page exists in English. */
export const PAGES: readonly string[] = Object.keys(FILES)
  .map((path) => path.slice(FOLDER.length))
  .filter((name) => !name.includes("/"));

/** The tokens of each page in one language, by its file name. */
export type Manual = Record<string, Token[]>;

/** The manual in a language. A page that the language lacks is in English. */
export async function manualIn(language: string): Promise<Manual> {
  return Object.fromEntries(
    await Promise.all(PAGES.map(async (page) => [page, await load(page, language)] as const)),
  );
}

async function load(page: string, language: string): Promise<Token[]> {
  const file = FILES[`${FOLDER}${language}/${page}`] ?? FILES[FOLDER + page];
  return (await file?.()) ?? [];
}

/** A page, and the heading at which it opens. */
export interface Place {
  page: string;
  /** A heading's anchor, as in a link of the manual in the same language; empty for the top. */
  anchor: string;
}

const at = (page: string, anchor = ""): Place => ({ page, anchor });

/** The place of each screen in the English manual. */
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
  acts: at("settings.md", "log-of-acts"),
  keys: at("real-money.md"),
  sandbox: at("first-payment.md"),
  settings: at("settings.md"),
  "go-live": at("real-money.md"),
};

/** The place of a screen in a manual. Pages have the same headings in every language, in the same order. */
export async function placeOfScreen(screen: Route["screen"], manual: Manual): Promise<Place> {
  const { page, anchor } = MANUAL[screen];
  if (anchor === "") return { page, anchor };
  const number = anchorsOf(await load(page, "en")).indexOf(anchor);
  return { page, anchor: anchorsOf(manual[page] ?? [])[number] ?? "" };
}

/** The anchors of a page's headings, in their order. */
export function anchorsOf(page: Token[]): string[] {
  return page.flatMap((token) => (token.type === "heading" ? [anchorOf(String(token["text"]))] : []));
}

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
  return PAGES.includes(page) ? { page, anchor } : undefined;
}
