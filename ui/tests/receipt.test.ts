// The receipt of a payment, for the printer and for the customer.
import { fireEvent, screen } from "@testing-library/svelte";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { PaymentView, SaleView } from "../src/lib/bindings";
import { payment } from "./fixture";
import { host, open } from "./panel";

const TXID = "c".repeat(64);
const btc = (sats: number, shown: string) => ({ sats, text: shown, shown });

const paid: Partial<PaymentView> = {
  paidWorth: { minor: 1000, text: "10.00", shown: "10.00", currency: "USD" },
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
  const settings: Record<string, string> = {
    merchantLogo: "data:image/png;base64,AA==",
    merchantAddress: "Sonnenweg 1\n12345 Berlin",
    merchantTaxId: "DE123456789",
  };
  host.reply("getSetting", ({ name }: { name: string }) => ({
    name,
    value: settings[name] ?? "",
    default: "",
    about: "",
  }));
  open(`#/payment/${"a".repeat(40)}`);
  await fireEvent.click(await screen.findByRole("button", { name: "Receipt…" }));
  return (await screen.findByRole("dialog", { name: "Receipt" })) as HTMLDialogElement;
}

afterEach(() => vi.restoreAllMocks());

const usd = (minor: number) => {
  const shown = (minor / 100).toFixed(2);
  return { minor, text: shown, shown, currency: "USD" };
};

/** A sale of two coffees and a typed amount, with a tip. */
const sale: SaleView = {
  lines: [
    { name: "Coffee", count: 2, price: usd(350), sum: usd(700) },
    { name: "", count: 1, price: usd(200), sum: usd(200) },
  ],
  tip: usd(100),
  taxes: [{ perMille: 190, net: usd(588), tax: usd(112), gross: usd(700) }],
};

describe("the receipt of a sale", () => {
  test("shows number, lines, tip and taxes, and the shop's address and tax number", async () => {
    const dialog = await openReceipt({ ...paid, paidWorth: usd(1000), saleNumber: 12, sale });
    const text = (dialog.querySelector("article")?.textContent ?? "").replace(/\s+/g, " ");
    for (const part of [
      "Sonnenweg 1",
      "12345 Berlin",
      "Tax number DE123456789",
      "No. 12",
      "2 × Coffee 7.00",
      "Amount 2.00",
      "Tip 1.00",
      "$10.00",
      "195.881.127.00",
    ]) {
      expect(text).toContain(part);
    }
  });

  test("of which a part was paid shows the part as its sum", async () => {
    const short = { state: "INVALID", whyInvalid: "SHORT_PAID", paidWorth: usd(400) } as const;
    const dialog = await openReceipt({ ...paid, ...short, saleNumber: 12, sale });
    const sum = dialog.querySelector(".sum")?.textContent?.replace(/\s+/g, " ").trim();
    expect(sum).toBe("Received: $4.00");
    expect(dialog.querySelector("article table"), "no more tax than was received").toBeNull();
    expect(dialog.querySelector("article")?.textContent).toMatch(/Price\s*\$10\.00/);
  });

  test("that is not confirmed says received and not final, and never paid", async () => {
    const dialog = await openReceipt({ ...paid, state: "UNCONFIRMED", paidWorth: usd(1000), sale });
    const text = dialog.querySelector("article")?.textContent ?? "";
    expect(text).toContain("Received, not final");
    expect(text).not.toMatch(/Paid/);
  });
});

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
    for (const part of ["$10.00", "0.00015574 BTC", "$64,210.55 for 1 BTC", "1003", "Two espressos", TXID]) {
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
