import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { notices } from "../src/lib/state/notices.svelte";
import { wide } from "../src/lib/state/wide.svelte";
import { payment, paymentsPage, payout, status, telling } from "./fixture";
import { host, open } from "./panel";

const ONE = "1".repeat(40);
const TWO = "2".repeat(40);
const one = payment({ paymentId: ONE, merchantTransactionId: "order-1" });
const two = payment({ paymentId: TWO, merchantTransactionId: "order-2" });

beforeEach(() => {
  host.reply("listPayments", paymentsPage([one, two], 2));
  host.reply("showPayment", ({ paymentId }: { paymentId: string }) => (paymentId === ONE ? one : two));
});

afterEach(() => (wide.is = false));

const table = () => screen.findByRole("table", { name: "" });
const chosen = () => document.querySelector("tr[aria-current]")?.textContent;

describe("in a wide window", () => {
  beforeEach(() => (wide.is = true));

  test("a payment shows beside the list, which marks it", async () => {
    open(`#/test/payment/${ONE}`);
    expect(await screen.findByRole("heading", { name: /\$10\.00/ })).toBeTruthy();
    expect(await screen.findByRole("heading", { name: "Payments" })).toBeTruthy();
    await waitFor(() => expect(chosen()).toContain("order-1"));
    expect(screen.queryByRole("link", { name: "← All payments" })).toBeNull();
  });

  test("another row shows its payment, and the list stays as it is", async () => {
    open(`#/test/payment/${ONE}`);
    const link = await screen.findByRole("link", { name: "order-2" });
    await fireEvent.click(link);
    await waitFor(() => expect(chosen()).toContain("order-2"));
    expect(await screen.findByText(/Id/, { selector: "dt" })).toBeTruthy();
    expect(host.askedFor("showPayment").at(-1)).toMatchObject({ paymentId: TWO });
    expect(screen.getByRole("link", { name: "order-2" })).toBe(link);
  });

  test("Escape closes the payment, and the list stays", async () => {
    open(`#/test/payment/${ONE}`);
    await screen.findByRole("heading", { name: /\$10\.00/ });
    await fireEvent.keyDown(window, { key: "Escape" });
    expect(await screen.findByText("The payment that you choose shows here.")).toBeTruthy();
    expect(within(await table()).getByText("order-1")).toBeTruthy();
    expect(chosen()).toBeUndefined();
  });

  test("a new state of the chosen payment is announced once", async () => {
    open(`#/test/payment/${ONE}`);
    await waitFor(() => expect(chosen()).toContain("order-1"));
    await screen.findByRole("heading", { name: /\$10\.00/ });
    const paid = { ...one, state: "CONFIRMED" as const };
    host.reply("listPayments", paymentsPage([paid, two], 2));
    host.reply("showPayment", paid);
    host.emit("changed");
    await waitFor(() => expect(chosen()).toContain("Paid"));
    await waitFor(() =>
      expect(notices.shown.map(({ text }) => text)).toEqual(["order-1 ($10.00) is now: Paid."]),
    );
  });

  test("a payout shows beside its list, and the reason why nothing is sent shows once", async () => {
    host.reply("status", {
      ...status,
      senderHold: telling("another copy is in use"),
      senderHoldCause: "OTHER",
    });
    host.reply("listPayouts", { items: [payout({ state: "QUEUED" })], itemsCount: 1 });
    host.reply("showPayout", payout({ state: "QUEUED" }));
    open(`#/test/payout/${"b".repeat(40)}`);
    expect(await screen.findByRole("heading", { name: "Payouts" })).toBeTruthy();
    expect(await screen.findByRole("heading", { name: /Invoice 12/ })).toBeTruthy();
    const reason = "Nothing is paid out until you let payouts go on";
    expect(await screen.findAllByText(reason)).toHaveLength(1);
  });
});

test("in another window a payment takes the place of the list", async () => {
  open(`#/test/payment/${ONE}`);
  await screen.findByRole("heading", { name: /\$10\.00/ });
  expect(screen.queryByRole("heading", { name: "Payments" })).toBeNull();
  expect(screen.getByRole("link", { name: "← All payments" })).toBeTruthy();
});
