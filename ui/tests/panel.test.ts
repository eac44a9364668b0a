import { fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { beforeEach, describe, expect, test } from "vitest";
import App from "../src/App.svelte";
import { setHost } from "../src/lib/host";
import { anomaly, delivery, FixtureHost, payment, status } from "./fixture";

let host: FixtureHost;

beforeEach(() => {
  host = new FixtureHost();
  setHost(host);
});

function open(hash: string) {
  location.hash = hash;
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  render(App);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

describe("the window", () => {
  test("says that it is the test environment", async () => {
    open("#/payments");
    expect(await screen.findByText("Test environment")).toBeTruthy();
  });

  test("says what to do where the gateway could not open, and tries again", async () => {
    host.reply("status", {
      errorType: "GATEWAY_DOWN",
      message: "Another program runs: stop it.",
      field: null,
    });
    open("#/payments");
    expect((await screen.findByRole("alert")).textContent).toContain("Another program runs");
    await fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(host.acts).toEqual(["reopen"]);
  });

  test("asks before it quits", async () => {
    open("#/payments");
    await screen.findByText("Test environment");
    await fireEvent.keyDown(window, { key: "q", ctrlKey: true });
    const dialog = await screen.findByRole("dialog", { name: "Quit Tillgate?" });
    expect(host.acts).toEqual([]);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Quit Tillgate" }));
    expect(host.acts).toEqual(["quit"]);
  });

  test("says how to come back where there is no tray", async () => {
    open("#/payments");
    await screen.findByText("Test environment");
    host.emit("no-tray");
    const dialog = await screen.findByRole("dialog", { name: "Tillgate keeps running" });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Close the window" }));
    expect(host.acts).toEqual(["hide"]);
  });

  test("shows the gateway's warnings and currencies without a fresh rate", async () => {
    host.reply("status", { ...status, warnings: ["A double-spend was seen."] });
    open("#/payments");
    expect(await screen.findByText("A double-spend was seen.")).toBeTruthy();
    expect(screen.getByText(/No fresh rate for JPY/)).toBeTruthy();
  });
});

describe("the list of payments", () => {
  test("teaches where there is none", async () => {
    open("#/payments");
    expect(await screen.findByText("No payments yet")).toBeTruthy();
    expect(screen.getByRole("link", { name: "Make a payment" }).getAttribute("href")).toBe("#/new");
  });

  test("reads again when the gateway changes, and tells which payment moved", async () => {
    host.reply("listPayments", { items: [payment()], itemsCount: 1 });
    open("#/payments");
    await screen.findByText("order-7");
    host.reply("listPayments", { items: [payment({ state: "CONFIRMED" })], itemsCount: 1 });
    host.emit("changed");
    expect(await screen.findByText("The payment of 10.00 USD is now: Confirmed.")).toBeTruthy();
  });

  test("asks for what was searched, from the first page", async () => {
    host.reply("listPayments", { items: [payment()], itemsCount: 120 });
    open("#/payments");
    await fireEvent.click(await screen.findByRole("button", { name: "Older" }));
    await waitFor(() => expect(host.askedFor("listPayments").at(-1)).toMatchObject({ offset: 50 }));
    await fireEvent.input(screen.getByRole("searchbox"), { target: { value: " order-7 " } });
    await waitFor(() =>
      expect(host.askedFor("listPayments").at(-1)).toMatchObject({
        offset: 0,
        search: "order-7",
        states: [],
      }),
    );
  });

  test("keeps the last page and shows the error where a read fails", async () => {
    host.reply("listPayments", { items: [payment()], itemsCount: 1 });
    open("#/payments");
    await screen.findByText("order-7");
    host.reply("listPayments", {
      errorType: "STORAGE_UNAVAILABLE",
      message: "The disk is full.",
      field: null,
    });
    host.emit("changed");
    expect(await screen.findByText("The disk is full.")).toBeTruthy();
    expect(screen.getByText("order-7")).toBeTruthy();
  });
});

describe("a payment", () => {
  const href = `#/payment/${"p".repeat(40)}`;

  test("the customer pays the sum that the gateway offered", async () => {
    host.reply("showPayment", payment());
    host.reply("sandbox", { btcTxIds: ["c".repeat(64)] });
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: /Pay a part/ }));
    await waitFor(() =>
      expect(host.askedFor("sandbox")).toMatchObject([
        {
          method: "POST",
          path: `/sandbox/payments/${"p".repeat(40)}/pay`,
          body: { btcAmount: "0.00007787" },
        },
      ]),
    );
  });

  test("what a shop answered is text, never markup", async () => {
    host.reply("showPayment", payment({ deliveries: [delivery()] }));
    open(href);
    expect(await screen.findByText("<b>upset</b>")).toBeTruthy();
  });

  test("a resend names the delivery", async () => {
    host.reply("showPayment", payment({ deliveries: [delivery()] }));
    host.reply("resend", { queued: 1 });
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: /Resend the notification/ }));
    await waitFor(() => expect(host.askedFor("resend")).toMatchObject([{ id: "d".repeat(40) }]));
    expect(await screen.findByText(/Queued 1 notification/)).toBeTruthy();
  });

  test("accepting says what will happen, and happens only then", async () => {
    host.reply("showPayment", payment({ state: "EXPIRED", acceptable: true, anomalies: [anomaly()] }));
    host.reply("acceptPayment", payment({ state: "CONFIRMED" }));
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: "Accept the coins that came" }));
    const dialog = await screen.findByRole("dialog");
    expect(dialog.textContent).toContain("the shop is notified");
    expect(host.askedFor("acceptPayment")).toHaveLength(0);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Accept the coins" }));
    await waitFor(() => expect(host.askedFor("acceptPayment")).toHaveLength(1));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  test("a refused dismissal stays open with its reason", async () => {
    host.reply("showPayment", payment({ anomalies: [anomaly()] }));
    host.reply("dismissAnomaly", { errorType: "CONFLICT", message: "It was accepted already.", field: null });
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: "Dismiss" }));
    const dialog = await screen.findByRole("dialog");
    await fireEvent.input(within(dialog).getByLabelText("Why"), { target: { value: "kept as a tip" } });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Dismiss the anomaly" }));
    expect((await within(dialog).findByRole("alert")).textContent).toContain("accepted already");
    expect(host.askedFor("dismissAnomaly")).toMatchObject([{ reason: "kept as a tip" }]);
  });
});

describe("a new payment", () => {
  test("sends what was typed, untouched, and shows the payment", async () => {
    host.reply("createPayment", payment());
    host.reply("showPayment", payment());
    open("#/new");
    await fireEvent.input(await screen.findByLabelText("Amount"), { target: { value: "10.10" } });
    await fireEvent.click(screen.getByRole("button", { name: "Make the payment" }));
    await waitFor(() => expect(location.hash).toBe(`#/payment/${"p".repeat(40)}`));
    expect(host.askedFor("createPayment")).toMatchObject([{ amount: "10.10", currency: "USD" }]);
  });

  test("a fault stands beside its field", async () => {
    host.reply("createPayment", {
      errorType: "VALIDATION_FAILED",
      message: "must be more than 0",
      field: "amount",
    });
    open("#/new");
    const amount = await screen.findByLabelText("Amount");
    await fireEvent.input(amount, { target: { value: "0" } });
    await fireEvent.click(screen.getByRole("button", { name: "Make the payment" }));
    expect(await screen.findByText("must be more than 0")).toBeTruthy();
    expect(amount.getAttribute("aria-invalid")).toBe("true");
  });
});

describe("API keys", () => {
  test("a secret is shown once", async () => {
    host.reply("createKey", { name: "webshop", secret: "s3cret", permissions: ["payments.read"] });
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Create an API key" }));
    await fireEvent.input(screen.getByLabelText("Name"), { target: { value: "webshop" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create the key" }));
    expect(await screen.findByText("s3cret")).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "I have stored it" }));
    await waitFor(() => expect(document.body.textContent).not.toContain("s3cret"));
  });

  test("revoking asks first", async () => {
    const key = {
      name: "webshop",
      permissions: ["payments.read"],
      notificationUrlOptional: false,
      created: "2026-01-12T12:00:00Z",
      revoked: null,
    };
    host.reply("listKeys", { items: [key], itemsCount: 1 });
    host.reply("revokeKey", key);
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Revoke webshop" }));
    expect(host.askedFor("revokeKey")).toHaveLength(0);
    await fireEvent.click(screen.getByRole("button", { name: "Revoke the key" }));
    await waitFor(() => expect(host.askedFor("revokeKey")).toMatchObject([{ name: "webshop" }]));
  });
});
