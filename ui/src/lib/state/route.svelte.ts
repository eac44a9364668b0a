// Which screen is shown, which stands in the address after `#` so that Back and reload work.
export type Route =
  | { screen: "payments" }
  | { screen: "payment"; id: string }
  | { screen: "new" }
  | { screen: "payouts" }
  | { screen: "payout"; id: string }
  | { screen: "new-payout" }
  | { screen: "anomalies" }
  | { screen: "keys" }
  | { screen: "sandbox" };

export function parseRoute(hash: string): Route {
  const [screen, id] = hash.replace(/^#\/?/, "").split("/");
  switch (screen) {
    case "payment":
      return id ? { screen, id } : { screen: "payments" };
    case "payout":
      return id ? { screen, id } : { screen: "payouts" };
    case "new":
    case "payouts":
    case "new-payout":
    case "anomalies":
    case "keys":
    case "sandbox":
      return { screen };
    default:
      return { screen: "payments" };
  }
}

export function hrefOf(route: Route): string {
  return "id" in route ? `#/${route.screen}/${route.id}` : `#/${route.screen}`;
}

export const router = $state<{ route: Route }>({ route: parseRoute(location.hash) });

/** Follows the address; returns what stops it. */
export function followAddress(): () => void {
  const moved = () => {
    router.route = parseRoute(location.hash);
  };
  window.addEventListener("hashchange", moved);
  return () => window.removeEventListener("hashchange", moved);
}

export function go(route: Route): void {
  location.hash = hrefOf(route);
}
