// The receipt of a payment, for the printer and for the customer.
import { fireEvent, screen } from "@testing-library/svelte";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { PaymentView } from "../src/lib/bindings";
import { payment } from "./fixture";
import { host, open } from "./panel";

const TXID = "c".repeat(64);
const btc = (sats: number, shown: string) => ({ sats, text: shown, shown });

const paid: Partial<PaymentView> = {
  state: "CONFIRMED",
  paid: btc(15574, "0.00015574"),
  paymentTime: "2026-01-12T12:06:10Z",
  message: "Two espressos",
  merchantTransactionId: "1003",
  transactions: [
    {
      btcTxId: TXID,
      amount: btc(15574, "0.00015574"),
      counted: btc(15574, "0.00015574"),
      confirmations: 1,
      position: { place: "block", height: 112 } as never,
      time: "2026-01-12T12:06:00.000Z",
    },
  ],
};

async function openReceipt(over: Partial<PaymentView>) {
  host.reply("showPayment", payment(over));
  host.reply("getSetting", {
    name: "merchantLogo",
    value: "data:image/png;base64,AA==",
    default: "",
    about: "",
  } as never);
  open(`#/payment/${"a".repeat(40)}`);
  await fireEvent.click(await screen.findByRole("button", { name: "Receipt…" }));
  return (await screen.findByRole("dialog", { name: "Receipt" })) as HTMLDialogElement;
}

afterEach(() => vi.restoreAllMocks());

describe("a receipt", () => {
  test("does not say paid while the customer takes the money back", async () => {
    const dialog = await openReceipt({ ...paid, conflictSeen: true });
    const text = dialog.querySelector("article")?.textContent ?? "";
    expect(text).toContain("Stop: the customer is taking the money back");
    expect(text).not.toMatch(/Paid/);
  });

  test("names shop, time, both sums, rate, transaction and reference", async () => {
    const dialog = await openReceipt(paid);
    const text = dialog.querySelector("article")?.textContent ?? "";
    for (const part of [
      "10.00 USD",
      "0.00015574 BTC",
      "64,210.55 USD for 1 BTC",
      "1003",
      "Two espressos",
      TXID,
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toContain("2026");
    expect(text).toContain("Test: these coins are worth nothing");
    await vi.waitFor(() => expect(dialog.querySelector(".logo")).toBeTruthy());
  });

  test("is printed alone, and leaves the page afterwards", async () => {
    await openReceipt(paid);
    const printed: string[] = [];
    vi.stubGlobal("print", () => printed.push(document.querySelector("body > .printed")?.textContent ?? ""));
    await fireEvent.click(screen.getByRole("button", { name: "Print or save as PDF…" }));
    expect(printed[0]).toContain("Two espressos");
    window.dispatchEvent(new Event("afterprint"));
    expect(document.querySelector("body > .printed")).toBeNull();
    vi.unstubAllGlobals();
  });

  test("gives the customer a code of the payment page, and warns if only this computer opens it", async () => {
    await openReceipt(paid);
    await fireEvent.click(screen.getByRole("button", { name: "QR code for the customer" }));
    expect(screen.getByRole("img", { name: "QR code of the payment page" })).toBeTruthy();
    expect(screen.getByText(/opens on this computer alone/)).toBeTruthy();
  });

  test("is not offered before coins count", async () => {
    host.reply("showPayment", payment({ paid: btc(0, "0.00000000") }));
    open(`#/payment/${"a".repeat(40)}`);
    await screen.findByText("Where to pay");
    expect(screen.queryByRole("button", { name: "Receipt…" })).toBeNull();
  });
});
