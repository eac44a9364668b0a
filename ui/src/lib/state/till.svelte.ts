// The till's sale, and its settings in `localStorage`: the last currency and the products. Each data folder
// has its own settings, so each environment of each installation has.
import { emptySale, type Draft } from "../till";
import { Action } from "./action.svelte";
import { keepApart } from "./environment.svelte";

export interface Product {
  id: string;
  name: string;
  /** The price as a person typed it. */
  price: string;
  currency: string;
}

export interface TillSettings {
  /** The currency of the last sale; empty before the first one. */
  currency: string;
  products: Product[];
}

/** Most products. More buttons cannot be found at a glance. */
export const PRODUCTS_MAX = 60;

/** The key in the web view's `localStorage`. */
export function keyOf(folder: string): string {
  return `tillgate.till.${folder}`;
}

const changes = $state({ count: 0 });

export function tillSettings(folder: string): TillSettings {
  void changes.count;
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(folder)) ?? "{}") as Partial<TillSettings>;
    return {
      currency: typeof kept.currency === "string" ? kept.currency : "",
      products: (Array.isArray(kept.products) ? kept.products : []).filter(isProduct).slice(0, PRODUCTS_MAX),
    };
  } catch {
    return { currency: "", products: [] };
  }
}

export function setTill(folder: string, change: Partial<TillSettings>): void {
  localStorage.setItem(keyOf(folder), JSON.stringify({ ...tillSettings(folder), ...change }));
  changes.count += 1;
}

function isProduct(kept: unknown): kept is Product {
  const { id, name, price, currency } = (kept ?? {}) as Record<string, unknown>;
  return [id, name, price, currency].every((part) => typeof part === "string");
}

interface Till {
  draft: Draft;
  /** The creation of its payment. It goes on while another screen is shown. */
  charging: Action;
  /** The payment that the customer is asked to pay now. */
  paymentId: string | undefined;
  /** The payment of the sale before. */
  lastId: string | undefined;
}

const empty = (): Till => ({
  draft: emptySale(),
  charging: new Action(),
  paymentId: undefined,
  lastId: undefined,
});

/** The present sale. It survives a change of the screen. */
export const till = $state<{ now: Till }>({ now: empty() });

keepApart(
  () => till.now,
  (now) => {
    till.now = now;
  },
  empty,
);

/** Forgets the sale of the shown environment. */
export function resetTill(): void {
  till.now = empty();
}
