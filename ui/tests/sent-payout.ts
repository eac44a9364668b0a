// Payouts that were sent, and their screen on a test host.
import type { PayoutView, VersionItem } from "../src/lib/bindings";
import { fireEvent, screen } from "@testing-library/svelte";
import { payout, telling } from "./fixture";
import { open } from "./panel";

export const HREF = `#/payout/${"b".repeat(40)}`;

export const possible = { possible: true, whyNot: null };

/** A transaction that pays the payout. */
export function version(over: Partial<VersionItem> = {}): VersionItem {
  return {
    btcTxId: "c".repeat(64),
    number: 1,
    pays: true,
    fee: { sats: 282, text: "0.00000282", shown: "0.00000282" },
    feeRate: "2.00",
    position: "mempool",
    confirmations: 0,
    accepted: true,
    time: "2026-01-12T12:07:00.000Z",
    ...over,
  };
}

/** A payout that was sent by one transaction. */
export function sent(over: Partial<PayoutView> = {}): PayoutView {
  return payout({
    state: "SENT",
    approvedBy: "panel:ada",
    versions: [version()],
    btcTxId: "c".repeat(64),
    canApprove: { possible: false, whyNot: telling("it is SENT") },
    canBump: possible,
    canAbandon: possible,
    ...over,
  });
}

/** Opens the payout's screen and clicks the button. */
export async function asks(button: RegExp) {
  open(HREF);
  await fireEvent.click(await screen.findByRole("button", { name: button }));
  return screen.findByRole("dialog");
}
