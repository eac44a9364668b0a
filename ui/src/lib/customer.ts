// The second display: a window of its own, which shows the customer's view of the till's present payment. The till
// tells it the payment by `localStorage`, whose event `storage` reaches all other windows.
import { isEnvironment, type Environment } from "./state/environment.svelte";

/** The message of the till to the customer's window. */
export interface Told {
  /** The payment to show; null between sales. */
  paymentId: string | null;
  /** The shop's name; empty if it is not known yet. */
  shop: string;
  /** The shop's logo as a `data:` URL; empty if it has none. */
  logo: string;
  /** The lead of the gateway's clock over this machine's. The sandbox's clock can be set forward. */
  clockAheadMs: number;
}

export function keyOfTold(environment: Environment): string {
  return `tillgate.customer.${environment}`;
}

export function tellCustomer(environment: Environment, told: Told): void {
  localStorage.setItem(keyOfTold(environment), JSON.stringify(told));
}

export function readTold(environment: Environment): Told {
  try {
    const told = JSON.parse(localStorage.getItem(keyOfTold(environment)) ?? "{}") as Partial<Told>;
    return {
      paymentId: typeof told.paymentId === "string" ? told.paymentId : null,
      shop: typeof told.shop === "string" ? told.shop : "",
      logo: typeof told.logo === "string" ? told.logo : "",
      clockAheadMs: typeof told.clockAheadMs === "number" ? told.clockAheadMs : 0,
    };
  } catch {
    return { paymentId: null, shop: "", logo: "", clockAheadMs: 0 };
  }
}

/** The environment of the customer's window; undefined in the panel's window. */
export function environmentOfCustomer(hash: string): Environment | undefined {
  const [environment, screen] = hash.replace(/^#\/?/, "").split("/");
  return screen === "customer" && isEnvironment(environment) ? environment : undefined;
}
