import type { AnomalyKind } from "../src/lib/bindings/AnomalyKind";
import type { PaymentState } from "../src/lib/bindings/PaymentState";
import type { PaymentView } from "../src/lib/bindings/PaymentView";
import type { TransactionRow } from "../src/lib/bindings/TransactionRow";
import { fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { beforeEach, describe, expect, test } from "vitest";
import App from "../src/App.svelte";
import { setHost } from "../src/lib/host";
import { lists } from "../src/lib/state/lists.svelte";
import { notices } from "../src/lib/state/notices.svelte";
import { go } from "../src/lib/state/route.svelte";
import { told } from "../src/lib/state/told.svelte";
import { acceptance, anomaly, delivery, FixtureHost, payment, status } from "./fixture";

let host: FixtureHost;

beforeEach(() => {
  host = new FixtureHost();
  setHost(host);
  told.secret = undefined;
  notices.shown = [];
  lists.payments = { search: "", wanted: "", offset: 0 };
  lists.anomalies = { open: true, offset: 0 };
});

function open(hash: string) {
  location.hash = hash;
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  render(App);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

describe("the window", () => {
  test("says in its footer which shop's server fails", async () => {
    host.reply("status", { ...status, failingNotifications: 2, failingServers: ["shop.example"] });
    open("#/payments");
    expect(await screen.findByText("2 notifications fail: shop.example")).toBeTruthy();
  });

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

  test("keeps the raw error below the details where Tillgate runs already", async () => {
    const message = "Another Tillgate serves this data directory. (the lock is held: stop that one)";
    host.reply("status", { errorType: "GATEWAY_ELSEWHERE", message, field: null });
    open("#/payments");
    expect(await screen.findByText("Tillgate is running already")).toBeTruthy();
    expect(screen.getByText(message).closest("details")?.open).toBe(false);
    expect(screen.getByRole("alert").textContent).not.toContain("stop");
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
    expect(await screen.findByText("order-7 (10.00 USD) is now: Confirmed.")).toBeTruthy();
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

describe("what the list of payments says", () => {
  test("the whole reference, where its column cuts it", async () => {
    host.reply("listPayments", {
      items: [payment(), payment({ paymentId: "q".repeat(40), merchantTransactionId: "" })],
      itemsCount: 2,
    });
    open("#/payments");
    expect((await screen.findByText("order-7")).closest("td")?.title).toBe("order-7");
    expect(screen.getByText("qqqqqqqq…qqqqqq").closest("td")?.title).toBe("q".repeat(40));
  });

  test("states in its filter as its rows say them", async () => {
    open("#/payments");
    const filter = await screen.findByLabelText<HTMLSelectElement>("State");
    expect([...filter.options].map((option) => [option.value, option.text])).toEqual([
      ["", "All states"],
      ["NEW", "New"],
      ["UNDERPAID", "Underpaid"],
      ["UNCONFIRMED", "Paid, waiting for blocks"],
      ["CONFIRMED", "Confirmed"],
      ["EXPIRED", "Expired"],
      ["INVALID", "Short paid, overpaid, reversed or withdrawn"],
    ]);
  });
});

describe("the way back to a list", () => {
  test("keeps the search, the page and the place", async () => {
    host.reply("listPayments", { items: [payment()], itemsCount: 120 });
    host.reply("showPayment", payment());
    open("#/payments");
    await fireEvent.input(await screen.findByRole("searchbox"), { target: { value: "order-7" } });
    await fireEvent.click(await screen.findByRole("button", { name: "Older" }));
    const main = screen.getByRole("main");
    main.scrollTop = 333;
    await fireEvent.scroll(main);
    await fireEvent.click(await screen.findByText("order-7"));
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    const back = await screen.findByRole("link", { name: "← All payments" });
    expect(main.scrollTop).toBe(0);
    await fireEvent.click(back);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await waitFor(() => expect(main.scrollTop).toBe(333));
    expect(screen.getByRole<HTMLInputElement>("searchbox").value).toBe("order-7");
    expect(host.askedFor("listPayments").at(-1)).toMatchObject({ offset: 50, search: "order-7" });
  });
});

describe("anomalies", () => {
  test.each<[AnomalyKind, string]>([
    ["LATE_PAYMENT", "that came too late stay in your wallet"],
    ["EXTRA_PAYMENT", "that came on top stay in your wallet"],
    ["OVERPAYMENT", "that were too much stay in your wallet"],
    ["UNDERPAYMENT", "although they were too few"],
    ["REVERSED_PAYMENT", "are not in your wallet"],
  ])("dismissing %s says what becomes of its coins", async (anomalyType, said) => {
    host.reply("listAnomalies", { items: [anomaly({ anomalyType, notified: false })], itemsCount: 1 });
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: /Dismiss/ }));
    const dialog = await screen.findByRole("dialog", {
      name: "Dismiss this anomaly of order-7 (10.00 USD)?",
    });
    expect(dialog.textContent).toContain(said);
    expect(dialog.textContent).toContain("Nobody is notified");
    expect(dialog.textContent).not.toContain("The shop is notified");
  });

  test.each([
    [
      true,
      "It is sent to the shop with the anomaly, and any API key that may read this anomaly can read it.",
    ],
    [false, "Any API key that may read this anomaly can read it."],
  ])("dismissing says who reads the reason, where the shop is notified: %s", async (notified, said) => {
    host.reply("listAnomalies", { items: [anomaly({ notified })], itemsCount: 1 });
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: /Dismiss/ }));
    expect(await screen.findByText(said)).toBeTruthy();
  });

  test("name their order in the list, and offer to accept the coins there", async () => {
    const late = anomaly({ anomalyType: "LATE_PAYMENT", acceptance: acceptance({ notified: false }) });
    host.reply("listAnomalies", { items: [late], itemsCount: 1 });
    host.reply("acceptPayment", payment({ state: "CONFIRMED" }));
    open("#/anomalies");
    expect((await screen.findByRole("link", { name: "order-7" })).getAttribute("href")).toBe(
      `#/payment/${"p".repeat(40)}`,
    );
    await fireEvent.click(screen.getByRole("button", { name: /Accept the coins/ }));
    const dialog = await screen.findByRole("dialog");
    expect(dialog.textContent).toContain("Nobody is notified");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Accept the coins" }));
    expect(
      await screen.findByText("Accepted the coins that came for order-7. It is now: Confirmed."),
    ).toBeTruthy();
    expect(host.askedFor("acceptPayment")).toMatchObject([{ acceptedSats: 7787 }]);
  });

  test("a reversal is told on every screen", async () => {
    host.reply("status", { ...status, openReversals: 1 });
    open("#/keys");
    expect((await screen.findByRole("alert")).textContent).toContain("1 confirmed payment was reversed");
    expect(screen.getByLabelText("1 reversed")).toBeTruthy();
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

  const more = { sats: 100, text: "0.00000100", shown: "0.00000100" };
  test.each<[Partial<PaymentView>, string | undefined]>([
    [{ stillDue: null }, undefined],
    [{ state: "NEW" }, "Still due"],
    [{ state: "UNDERPAID" }, "Still due"],
    [{ state: "UNCONFIRMED" }, "Short by"],
    [{ state: "CONFIRMED" }, "Short by"],
    [{ state: "EXPIRED" }, "Short by"],
    [{ state: "INVALID", whyInvalid: "SHORT_PAID" }, "Short by"],
    [{ stillDue: null, overpaidBy: more }, "Overpaid by"],
    [{ state: "CONFIRMED", stillDue: null, overpaidBy: more }, "Overpaid by"],
  ])("the difference to the price has its own name: %o", async (over, name) => {
    host.reply("showPayment", payment(over));
    open(href);
    await screen.findByText("Rate");
    for (const one of ["Still due", "Short by", "Overpaid by"]) {
      expect(screen.queryByText(one) !== null, one).toBe(one === name);
    }
  });

  test.each<[PaymentState, boolean]>([
    ["NEW", true],
    ["UNDERPAID", true],
    ["EXPIRED", false],
    ["CONFIRMED", false],
  ])("paying is the first thing to do where coins are asked for: %s", async (state, first) => {
    host.reply("showPayment", payment({ state }));
    open(href);
    const exactly = await screen.findByRole("button", { name: /Pay exactly/ });
    expect(exactly.classList.contains("primary")).toBe(first);
    expect(screen.queryByText("No more coins are asked for.") === null).toBe(first);
  });

  test.each<[RegExp, string]>([
    [/Pay exactly/, "The customer sent 1 transaction for order-7 (10.00 USD). Mine a block to confirm."],
    [/Pay a part/, "The customer sent 1 transaction for order-7 (10.00 USD)."],
    [/Pay too much/, "The customer sent 1 transaction for order-7 (10.00 USD)."],
  ])("only what pays the price is confirmed by a block: %s", async (name, said) => {
    host.reply("showPayment", payment());
    host.reply("sandbox", { btcTxIds: ["c".repeat(64)] });
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name }));
    expect(await screen.findByText(said)).toBeTruthy();
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
    host.reply(
      "showPayment",
      payment({ state: "EXPIRED", acceptance: acceptance(), anomalies: [anomaly()] }),
    );
    host.reply("acceptPayment", payment({ state: "CONFIRMED" }));
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: /Accept the coins that came/ }));
    const dialog = await screen.findByRole("dialog", {
      name: "Accept 5.00 of 10.00 USD, 5.00 short, for order-7?",
    });
    expect(dialog.textContent).toContain("The shop is notified");
    expect(host.askedFor("acceptPayment")).toHaveLength(0);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Accept the coins" }));
    await waitFor(() => expect(host.askedFor("acceptPayment")).toHaveLength(1));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  test("accepting carries the sum that was shown, also where other coins came meanwhile", async () => {
    host.reply("showPayment", payment({ state: "EXPIRED", acceptance: acceptance() }));
    host.reply("acceptPayment", payment({ state: "CONFIRMED" }));
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: /Accept the coins that came/ }));
    const dialog = await screen.findByRole("dialog");
    const fewer = { sats: 10, text: "0.00000010", shown: "0.00000010" };
    host.reply(
      "showPayment",
      payment({ state: "EXPIRED", paid: fewer, acceptance: acceptance({ coins: fewer }) }),
    );
    host.emit("changed");
    await screen.findByText(/0.00000010 BTC ·/);
    expect(dialog.textContent).toContain("0.00007787 BTC");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Accept the coins" }));
    await waitFor(() => expect(host.askedFor("acceptPayment")).toMatchObject([{ acceptedSats: 7787 }]));
  });

  test("accepting says the state once", async () => {
    host.reply("showPayment", payment({ state: "EXPIRED", acceptance: acceptance() }));
    host.reply("acceptPayment", () => {
      host.reply("showPayment", payment({ state: "CONFIRMED" }));
      host.emit("changed");
      return payment({ state: "CONFIRMED" });
    });
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: /Accept the coins that came/ }));
    await fireEvent.click(await screen.findByRole("button", { name: "Accept the coins" }));
    expect(await screen.findByText("Accepted the coins that came for order-7.")).toBeTruthy();
    expect(await screen.findAllByText(/is now: Confirmed/)).toHaveLength(1);
  });

  test("confirmations are counted against what is wanted until they are enough", async () => {
    const transaction: TransactionRow = {
      btcTxId: "c".repeat(64),
      amount: { sats: 100, text: "0.00000100", shown: "0.00000100" },
      counted: { sats: 100, text: "0.00000100", shown: "0.00000100" },
      confirmations: 14,
      position: "block",
      time: "2026-01-12T12:05:00Z",
    };
    const waiting = { ...transaction, btcTxId: "d".repeat(64), confirmations: 0 };
    host.reply("showPayment", payment({ state: "CONFIRMED", transactions: [transaction, waiting] }));
    open(href);
    expect(await screen.findByText("14 confirmations")).toBeTruthy();
    expect(screen.getByText("0 of 1")).toBeTruthy();
  });

  test("a refused dismissal stays open with its reason", async () => {
    host.reply("showPayment", payment({ anomalies: [anomaly()] }));
    host.reply("dismissAnomaly", { errorType: "CONFLICT", message: "It was accepted already.", field: null });
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: /Dismiss/ }));
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

  test("offers the merchant's currencies alone, in their order", async () => {
    open("#/new");
    const choice = await screen.findByLabelText<HTMLSelectElement>("Currency");
    const offered = [...choice.options].map((option) => [option.value, option.disabled]);
    expect(offered).toEqual([
      ["USD", false],
      ["JPY", true],
      ["EUR", false],
    ]);
  });

  test("is not made without a fresh rate, and the form says why", async () => {
    const rates = status.rates.map((rate) => ({ ...rate, fresh: false }));
    host.reply("status", { ...status, rates });
    open("#/new");
    const choice = await screen.findByLabelText<HTMLSelectElement>("Currency");
    expect(choice.value).toBe("");
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Make the payment" }).disabled).toBe(true);
    expect(screen.getByText(/No currency has a fresh rate now/)).toBeTruthy();

    host.reply("status", status);
    host.emit("changed");
    await waitFor(() => expect(choice.value).toBe("USD"));
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Make the payment" }).disabled).toBe(false);
  });

  test("is not made in a currency whose rate went stale after it was chosen", async () => {
    open("#/new");
    const choice = await screen.findByLabelText<HTMLSelectElement>("Currency");
    await fireEvent.change(choice, { target: { value: "EUR" } });
    const rates = status.rates.map((rate) => ({ ...rate, fresh: rate.currency !== "EUR" && rate.fresh }));
    host.reply("status", { ...status, rates });
    host.emit("changed");
    expect(await screen.findByText(/There is no fresh rate for EUR now/)).toBeTruthy();
    expect(choice.value).toBe("EUR");
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Make the payment" }).disabled).toBe(true);
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
  test("say that customers see a key's name", async () => {
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Create an API key" }));
    expect(screen.getByText(/their wallet shows it/)).toBeTruthy();
  });

  test("Esc destroys no secret that was not copied, and no other screen does", async () => {
    host.reply("createKey", { name: "webshop", secret: "s3cret", permissions: ["payments.read"] });
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Create an API key" }));
    await fireEvent.input(screen.getByLabelText("Name"), { target: { value: "webshop" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create the key" }));
    const dialog = await screen.findByRole("dialog", { name: "The key was created" });
    const refused = !(await fireEvent.keyDown(dialog, { key: "Escape" }));
    expect(refused).toBe(true);
    expect((await within(dialog).findByRole("alert")).textContent).toContain("not copied");
    go({ screen: "payments" });
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    expect(await screen.findByText("No payments yet")).toBeTruthy();
    expect(screen.getByText("s3cret")).toBeTruthy();

    Object.assign(navigator, { clipboard: { writeText: () => Promise.resolve() } });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Copy the secret" }));
    await within(dialog).findByText("Copied");
    expect(screen.getByText("Copied the secret.")).toBeTruthy();
    expect(await fireEvent.keyDown(dialog, { key: "Escape" })).toBe(true);
    await fireEvent(dialog, new Event("close"));
    await waitFor(() => expect(document.body.textContent).not.toContain("s3cret"));
  });

  test("a secret is shown once", async () => {
    host.reply("createKey", { name: "webshop", secret: "s3cret", permissions: ["payments.read"] });
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Create an API key" }));
    await fireEvent.input(screen.getByLabelText("Name"), { target: { value: "webshop" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create the key" }));
    expect(await screen.findByText("s3cret")).toBeTruthy();
    expect(screen.getByText(/Tillgate keeps only what it needs to check it/)).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "I have stored it" }));
    await waitFor(() => expect(document.body.textContent).not.toContain("s3cret"));
  });

  test.each([
    ["keyring", "Tillgate keeps it in the keyring and signs with it; it is shown this once."],
    ["file", "Tillgate keeps it in its file of secrets and signs with it; it is shown this once."],
  ])("a signing key is kept, because it signs: in the %s", async (secrets, said) => {
    host.reply("status", { ...status, secrets });
    host.reply("rotateHmacKey", { key: "whsec_s3cret" });
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Make a signing key" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Make the key" }));
    expect(await screen.findByText(said)).toBeTruthy();
    expect(screen.queryByText(/only what it needs/)).toBeNull();
    expect(screen.getByRole("button", { name: "Copy the signing key" })).toBeTruthy();
  });

  test("revoking asks first", async () => {
    const key = {
      name: "webshop",
      permissions: ["payments.read"],
      notificationUrlOptional: false,
      own: true,
      notifyHosts: ["shop.example"],
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

describe("the sandbox", () => {
  test.each([
    ["The chain cannot be reached", "The chain cannot be reached now.", "The chain can be reached again."],
    ["Broadcasts are refused", "Broadcasts are refused now.", "Broadcasts are taken again."],
  ])("says which fault is on and which is off: %s", async (name, on, off) => {
    host.reply("sandbox", {
      height: 112,
      tipHash: "0".repeat(64),
      mempool: [],
      clock: "2026-01-12T12:06:20Z",
      faults: { chainDown: false, broadcastRejects: false, latencyMs: 0 },
    });
    open("#/sandbox");
    const fault = await screen.findByLabelText<HTMLInputElement>(name);
    await fireEvent.click(fault);
    expect(await screen.findByText(on)).toBeTruthy();
    await waitFor(() => expect(fault.checked).toBe(true));
    await fireEvent.click(fault);
    expect(await screen.findByText(off)).toBeTruthy();
  });
});
