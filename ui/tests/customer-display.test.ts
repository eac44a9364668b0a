import { render, screen, waitFor } from "@testing-library/svelte";
import { afterEach, describe, expect, test, vi } from "vitest";
import { environmentOfCustomer, keyOfTold, tellCustomer, type Told } from "../src/lib/customer";
import CustomerDisplay from "../src/lib/views/CustomerDisplay.svelte";
import { payment } from "./fixture";
import { host } from "./panel";

/** An image without a pixel. */
const LOGO = "data:image/svg+xml;base64,PHN2Zy8+";
const SALE: Told = { paymentId: "p".repeat(40), shop: "Ada's bakery", logo: LOGO, clockAheadMs: 0 };

/** Writes as the till's window does. The browser then sends the event to this window. */
function tells(told: Told) {
  tellCustomer("test", told);
  window.dispatchEvent(new StorageEvent("storage", { key: keyOfTold("test") }));
}

afterEach(() => vi.useRealTimers());

describe("the customer's display", () => {
  test("shows the shop's name and logo between sales, and the sale once the till tells it", async () => {
    host.reply("showPayment", payment());
    tellCustomer("test", { ...SALE, paymentId: null });
    render(CustomerDisplay);
    expect(screen.getByRole("heading", { name: "Ada's bakery" })).toBeTruthy();
    expect(document.querySelector<HTMLImageElement>("img")?.src).toBe(LOGO);
    tells(SALE);
    expect(await screen.findByAltText("QR code to pay $10.00")).toBeTruthy();
    expect(document.querySelector<HTMLImageElement>(".shop img")?.src).toBe(LOGO);
    expect(screen.queryByRole("button")).toBeNull();
    tells({ ...SALE, paymentId: null });
    await screen.findByRole("heading", { name: "Ada's bakery" });
  });

  test("follows the payment, and ends a paid sale by itself", async () => {
    host.reply("showPayment", payment());
    tellCustomer("test", SALE);
    render(CustomerDisplay);
    await screen.findByAltText("QR code to pay $10.00");
    vi.useFakeTimers();
    host.reply("showPayment", payment({ state: "CONFIRMED" }));
    host.emit("changed");
    await vi.advanceTimersByTimeAsync(9_900);
    expect(screen.getByRole("heading", { name: "Paid" })).toBeTruthy();
    await vi.advanceTimersByTimeAsync(200);
    expect(screen.getByRole("heading", { name: "Ada's bakery" })).toBeTruthy();
  });

  test("says stop in red while the customer takes the money back, also after the end", async () => {
    vi.useFakeTimers();
    host.reply("showPayment", payment({ state: "CONFIRMED" }));
    tellCustomer("test", SALE);
    render(CustomerDisplay);
    await vi.advanceTimersByTimeAsync(10_200);
    expect(screen.getByRole("heading", { name: "Ada's bakery" })).toBeTruthy();
    host.reply("showPayment", payment({ state: "CONFIRMED", conflictSeen: true }));
    host.emit("changed");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(screen.getByRole("heading", { name: "Stop: the customer is taking the money back" })).toBeTruthy();
    expect(document.querySelector(".customer")?.classList).toContain("stop");
    expect(screen.queryByText(/Paid/)).toBeNull();
  });

  test("sends no command but showPayment", async () => {
    host.reply("showPayment", payment());
    tellCustomer("test", SALE);
    render(CustomerDisplay);
    await screen.findByAltText("QR code to pay $10.00");
    await waitFor(() => expect(host.asked.map((asked) => asked.command)).toEqual(["showPayment"]));
    expect(host.actsIn).toEqual([]);
  });

  test.each([
    ["#/test/customer", "test"],
    ["#/production/customer", "production"],
    ["#/test/till", undefined],
    ["#/customer", undefined],
    ["", undefined],
  ])("the window at %s belongs to the customer of %s", (hash, environment) => {
    expect(environmentOfCustomer(hash)).toBe(environment);
  });
});
