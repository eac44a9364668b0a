// Opens the guide "Go live" on a test host, and finds and uses its controls.
import { fireEvent, screen } from "@testing-library/svelte";
import { production, settings } from "./fixture";
import { host, open } from "./panel";

/** Production before it has a wallet. */
export const bare = { ...production, hasWallet: false };

/** Opens the guide in production without a wallet. */
export async function begin() {
  host.replyIn("production", "status", bare);
  open("#/production/go-live");
  await screen.findByRole("heading", { name: "Take real money" });
}

/** Opens the guide in production with a wallet, at its first open step. */
export function withWallet(over: Record<string, string> = {}) {
  host.replyIn("production", "status", { ...production, chainLookedAt: null });
  host.replyIn("production", "listSettings", settings(over));
  open("#/production/go-live");
}

export const current = () =>
  document.querySelector("[aria-current='step']")?.textContent?.replace(/\s+/g, " ").trim();
export const step = (name: string) => screen.getByRole("button", { name: new RegExp(name) });
export const click = (name: string | RegExp) => fireEvent.click(screen.getByRole("button", { name }));
export const type = (label: string | RegExp, value: string) =>
  fireEvent.input(screen.getByLabelText(label), { target: { value } });
export const page = () => document.body.innerHTML;
