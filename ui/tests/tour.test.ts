import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { beforeEach, describe, expect, test } from "vitest";
import { tour } from "../src/lib/state/tour.svelte";
import { payment, payout, status } from "./fixture";
import { host, open } from "./panel";

const PAYMENT = payment({ paymentId: "p".repeat(40), merchantTransactionId: "Tour" });
const URL_OF_RECEIVER = "http://127.0.0.1:7421/v2/sandbox/receiver";

function received(check: "right" | "wrong" | "missing") {
  const body = JSON.stringify({ paymentId: PAYMENT.paymentId, status: "CONFIRMED" });
  const one = { time: "2026-01-12T12:06:00.000Z", body, signature: "ab12", check };
  const other = { ...one, body: JSON.stringify({ paymentId: "another", status: "EXPIRED" }) };
  const foreign = { ...one, body: "null" };
  return { url: URL_OF_RECEIVER, items: [other, foreign, one, one] };
}

beforeEach(() => {
  tour.isOpen = false;
  host.reply("listReceived", { url: URL_OF_RECEIVER, items: [] });
  host.reply("createPayment", PAYMENT);
  host.reply("showPayment", PAYMENT);
  host.reply("rotateHmacKey", { key: "whsec_x" } as never);
  host.reply("sandbox", { btcTxIds: ["c".repeat(64)], customerAddress: "bcrt1qcustomer" });
});

async function begins() {
  open("#/home");
  await fireEvent.click(await screen.findByRole("button", { name: "Take the tour" }));
  return screen.findByRole("dialog", { name: "Tour: Take a payment" });
}

const press = async (name: string) => fireEvent.click(await screen.findByRole("button", { name }));

describe("the tour", () => {
  test("takes a payment, shows it paid, shows the signed notification, and pays out", async () => {
    host.reply("status", { ...status, hmacKey: true });
    await begins();
    await press("Create the payment");
    await waitFor(() =>
      expect(host.askedFor("createPayment")).toMatchObject([{ notificationUrl: URL_OF_RECEIVER }]),
    );
    await press("Pay as the customer");
    host.reply("showPayment", { ...PAYMENT, state: "CONFIRMED" });
    host.reply("listReceived", received("right"));
    host.emit("changed");
    await press("Next");
    const dialog = await screen.findByRole("dialog", { name: "Tour: Your shop hears of it" });
    expect(await within(dialog).findAllByText("✓ The signature is right")).toHaveLength(2);
    expect(within(dialog).queryByText("EXPIRED")).toBeNull();
    host.reply("listReceived", received("wrong"));
    host.emit("changed");
    expect(await within(dialog).findAllByText("✗ The signature is wrong")).toHaveLength(2);
    await press("Next");
    host.reply("requestPayout", payout({ state: "QUEUED" }));
    host.reply("showPayout", payout({ state: "SENT", confirmations: 1 }));
    await press("Pay out 10,000 sat");
    expect(host.askedFor("requestPayout")).toMatchObject([{ address: "bcrt1qcustomer", approve: true }]);
    await press("Open the till");
    expect(location.hash).toBe("#/test/till");
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(host.askedFor("rotateHmacKey")).toHaveLength(0);
  });

  test("makes a signing key only if there is none", async () => {
    host.reply("status", { ...status, hmacKey: false });
    await begins();
    await press("Create the payment");
    await waitFor(() => expect(host.askedFor("rotateHmacKey")).toHaveLength(1));
  });

  test("can be left at each step", async () => {
    await begins();
    await press("Leave the tour");
    expect(screen.queryByRole("dialog")).toBeNull();
    await press("Take the tour");
    await press("Create the payment");
    await screen.findByRole("dialog", { name: "Tour: See it paid" });
    await press("Leave the tour");
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  test("is offered on the sandbox alone", async () => {
    host.reply("status", { ...status, sandbox: false });
    open("#/home");
    expect(await screen.findByText("No payments yet")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Take the tour" })).toBeNull();
  });
});
