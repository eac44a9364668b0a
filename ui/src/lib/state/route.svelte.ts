// The screen that is shown. Its name is in the URL after `#`, so that Back and reload work. The environment is the
// first part, because the ids of one environment are unknown in the other.
import { isStep, type Step } from "../golive";
import { isGroup, type Group } from "../settings/groups";
import { isEnvironment, shown, type Environment } from "./environment.svelte";

export type Route =
  | { screen: "home" }
  | { screen: "till" }
  | { screen: "payments" }
  | { screen: "payment"; id: string }
  | { screen: "new" }
  | { screen: "payouts" }
  | { screen: "payout"; id: string }
  | { screen: "new-payout" }
  | { screen: "anomalies" }
  | { screen: "books" }
  | { screen: "wallet" }
  | { screen: "go-live"; step?: Step }
  | { screen: "acts" }
  | { screen: "keys" }
  | { screen: "settings"; group?: Group }
  | { screen: "sandbox" };

/** A screen and its environment. */
export interface Address {
  /** Undefined if the URL names no environment. The shown environment then stays. */
  environment: Environment | undefined;
  route: Route;
}

export function parseAddress(hash: string): Address {
  const segments = hash.replace(/^#\/?/, "").split("/");
  const [first] = segments;
  if (!isEnvironment(first)) return { environment: undefined, route: parseRoute(segments) };
  return { environment: first, route: parseRoute(segments.slice(1)) };
}

function parseRoute([screen, id]: string[]): Route {
  switch (screen) {
    case "payment":
      return id ? { screen, id } : { screen: "payments" };
    case "payout":
      return id ? { screen, id } : { screen: "payouts" };
    case "go-live":
      return { screen, ...(isStep(id) ? { step: id } : {}) };
    case "settings":
      return { screen, ...(isGroup(id) ? { group: id } : {}) };
    case "payments":
    case "till":
    case "new":
    case "payouts":
    case "new-payout":
    case "anomalies":
    case "books":
    case "wallet":
    case "acts":
    case "keys":
    case "sandbox":
      return { screen };
    default:
      return { screen: "home" };
  }
}

export function hrefOf(route: Route, environment: Environment = shown()): string {
  const screen = `#/${environment}/${route.screen}`;
  if ("id" in route) return `${screen}/${route.id}`;
  if ("group" in route && route.group) return `${screen}/${route.group}`;
  return "step" in route && route.step ? `${screen}/${route.step}` : screen;
}

/** The id of the record that a route shows. */
export const idOf = (route: Route): string | undefined => ("id" in route ? route.id : undefined);

export const router = $state<{ route: Route }>({ route: { screen: "home" } });

/** The screen last shown in each environment. */
const last = $state<{ [environment in Environment]?: Route }>({});

/** The URL of the screen that was last shown in an environment. */
export function hrefOfEnvironment(environment: Environment): string {
  return hrefOf(last[environment] ?? { screen: "home" }, environment);
}

/** Shows a screen in the environment that is shown. */
export function arrive(route: Route): void {
  router.route = route;
  last[shown()] = route;
}

export function go(route: Route): void {
  location.hash = hrefOf(route);
}
