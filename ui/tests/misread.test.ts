// Sentences that would cost a merchant money if misread.
import type { PaymentView } from "../src/lib/bindings";
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { beforeEach, describe, expect, test } from "vitest";
import { acceptance, anomaly, backups, estimate, payment, production, status, telling } from "./fixture";
import { host, open } from "./panel";

const sum = (sats: number, text: string) => ({ sats, text, shown: text });
const usd = (minor: number, text: string) => ({ minor, text, shown: text, currency: "USD" });

beforeEach(() => {
  Object.assign(navigator, { clipboard: { writeText: () => Promise.resolve() } });
});

describe("a refund", () => {
  async function refunds(over: Parameters<typeof estimate>[0]) {
    host.reply("listAnomalies", { items: [anomaly()], itemsCount: 1 });
    host.reply("estimatePayout", estimate(over));
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: "Refund…" }));
    return screen.findByRole("dialog");
  }

  test("first shows the customer's amount and the merchant's fee", async () => {
    const dialog = await refunds({ amount: sum(3000, "0.00003000"), fee: sum(141, "0.00000141") });
    await within(dialog).findByText("3,000 sat");
    const first = within(dialog).getByTestId("refund-sums").textContent ?? "";
    expect(first).toMatch(/The customer gets.*3,000 sat.*You pay on top.*about 141 sat/s);
    expect(host.askedFor("estimatePayout")).toMatchObject([{ anomalyId: "a".repeat(40), btcAmount: null }]);
  });

  test("is marked as refused before anything is typed", async () => {
    const problem = "Refund is dust";
    const dialog = await refunds({ amountProblem: telling(problem) });
    expect(await within(dialog).findByText(new RegExp(problem))).toBeTruthy();
    expect(within(dialog).getByRole<HTMLButtonElement>("button", { name: "Review refund" }).disabled).toBe(
      true,
    );
  });
});

describe("the link to the customer's page", () => {
  const href = `#/payment/${"p".repeat(40)}`;

  test("warns when copied if it opens only on this computer", async () => {
    host.reply("showPayment", payment());
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: "Copy link" }));
    expect(await screen.findByText(/opens on this computer alone/)).toBeTruthy();
    expect(document.querySelector("code.mono")?.textContent).toMatch(
      /settings set publicUrl .* --environment test/,
    );
  });

  test("is copied without a warning if customers can open it", async () => {
    host.reply("showPayment", payment({ paymentPageUrl: "https://pay.example/pay/" + "p".repeat(40) }));
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: "Copy link" }));
    expect(await screen.findByText("Copied the payment page's URL.")).toBeTruthy();
    expect(screen.queryByText(/opens on this computer alone/)).toBeNull();
  });
});

describe("accepting coins", () => {
  test("shows the coins' worth today beside their former worth", async () => {
    host.reply("showPayment", payment({ state: "EXPIRED", acceptance: acceptance() }));
    host.reply("estimatePayout", estimate({ worth: usd(812, "8.12") }));
    open(`#/payment/${"p".repeat(40)}`);
    await fireEvent.click(await screen.findByRole("button", { name: "Accept the coins that came…" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(await dialog.findByText(/\$8\.12/)).toBeTruthy();
    expect(dialog.getByText("Worth today")).toBeTruthy();
    expect(dialog.getByText("Counted as")).toBeTruthy();
  });
});

describe("a new payment while the chain is not watched", () => {
  test("is made only after a confirmation", async () => {
    host.reply("status", { ...status, chainError: telling("no connection") });
    host.reply("createPayment", payment());
    host.reply("showPayment", payment());
    open("#/new");
    await fireEvent.input(await screen.findByLabelText("Amount"), { target: { value: "10.00" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create payment" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/[Nn]ot connected to the Bitcoin network/)).toBeTruthy();
    expect(host.askedFor("createPayment")).toEqual([]);
    await fireEvent.click(dialog.getByRole("button", { name: "Create it anyway" }));
    await waitFor(() => expect(host.askedFor("createPayment")).toHaveLength(1));
  });

  test("is disabled with the reason once the gateway refuses payments", async () => {
    const paymentsRefused = telling("the Bitcoin chain has not been watched for 10 minutes");
    host.reply("status", { ...status, chainError: telling("no connection"), paymentsRefused });
    open("#/new");
    await fireEvent.input(await screen.findByLabelText("Amount"), { target: { value: "10.00" } });
    const make = screen.getByRole<HTMLButtonElement>("button", { name: "Create payment" });
    expect(make.disabled).toBe(true);
    const why = screen.getByText(/No payment can be created now/).textContent;
    expect(why).toContain("has not been watched for 10 minutes");
    host.reply("status", status);
    host.emit("changed");
    await waitFor(() => expect(make.disabled).toBe(false));
  });
});

describe("the guide", () => {
  test("stays in the menu until all steps are done", async () => {
    host.replyIn("production", "status", {
      ...production,
      chainError: telling("no server is set"),
      backend: null,
    });
    open("#/production/go-live");
    await fireEvent.click(await screen.findByRole("button", { name: /Done/ }));
    await fireEvent.click(await screen.findByRole("button", { name: "Go on later" }));
    expect(await screen.findByRole("link", { name: "Go live" })).toBeTruthy();
    expect(location.hash).toBe("#/production/home");
    expect(screen.queryByRole("button", { name: "Close this guide" })).toBeNull();
    const menu = within(screen.getByRole("navigation", { name: "Screens" }));
    await fireEvent.click(menu.getByRole("link", { name: "Wallet" }));
    await fireEvent.click(await screen.findByRole("link", { name: "Bitcoin network" }));
    expect(await screen.findByRole("heading", { level: 1, name: /Bitcoin network/ })).toBeTruthy();
  });
});

describe("a sentence that would be untrue", () => {
  test("an unreadable file is not called locked", async () => {
    const waits = {
      payoutsQueued: 1,
      senderWaitsFor: telling("the words cannot be read"),
      senderWaitCause: "KEYRING",
    };
    host.reply("status", { ...status, ...waits, secrets: "a plain file" } as typeof status);
    open("#/payouts");
    await screen.findByText(/cannot be read from a plain file/);
    expect(screen.queryByText(/unlock it/)).toBeNull();
  });

  test("a test wallet's words may have been written down, or seen by nobody", async () => {
    host.reply("showBackups", backups({ last: null }));
    open("#/wallet");
    const lost = await screen.findByText(/No backup was made yet/);
    expect(lost.textContent).toMatch(/the coins too, unless you wrote down this\s+wallet's words/);
    expect(lost.textContent).not.toMatch(/nobody was shown|the words bring back the coins/i);
  });

  test("the guide's backup promises nothing about words that nobody may have seen", async () => {
    host.reply("status", { ...status, sandbox: false });
    host.reply("showBackups", backups({ last: null }));
    open("#/test/go-live");
    await fireEvent.click(await screen.findByRole("button", { name: /First backup/ }));
    const lead = (await screen.findByRole("heading", { level: 1, name: "First backup" })).nextElementSibling;
    expect(lead?.textContent).toMatch(/Unless you wrote down this wallet's\s+words, only\s+a backup/);
    expect(lead?.textContent).not.toMatch(/nobody was shown/i);
  });

  test("the hint for a wrong price allows a decimal comma", async () => {
    const message =
      "amount must be a decimal number with a point and no comma, like 10.00, or 0.001 in Bitcoin";
    host.reply("createPayment", { errorType: "VALIDATION_FAILED", message, field: "amount" });
    open("#/new");
    await fireEvent.input(await screen.findByLabelText("Amount"), { target: { value: "ten" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create payment" }));
    expect(await screen.findByText("Amount: write a number, like 10.00 or 10,00")).toBeTruthy();
  });
});

describe("coins that came late", () => {
  const uncounted = { coins: acceptance().coins, worth: acceptance().worth };

  test("are shown as received, not as paid", async () => {
    host.reply(
      "showPayment",
      payment({ state: "EXPIRED", uncounted, acceptance: acceptance(), anomalies: [anomaly()] }),
    );
    open(`#/payment/${"p".repeat(40)}`);
    const received = (await screen.findByText("Received")).parentElement;
    expect(received?.textContent).toContain("7,787 sat");
    expect(screen.queryByText("Paid")).toBeNull();
    expect(screen.queryByText("Short by")).toBeNull();
  });

  test.each<[Partial<PaymentView>, string]>([
    [{ acceptance: acceptance() }, "You can accept it."],
    [{ acceptance: acceptance(), anomalies: [anomaly()] }, "You can accept, refund or dismiss it."],
    [
      { anomalies: [anomaly({ resolution: "REFUNDING" })] },
      "A refund was begun: its payout shows the progress.",
    ],
    [{ anomalies: [anomaly({ resolution: "REFUNDED" })] }, "It was refunded."],
    [{ acceptance: acceptance(), anomalies: [anomaly({ resolution: "DISMISSED" })] }, "You can accept it."],
    [
      { anomalies: [anomaly({ resolution: "REFUNDING" }), anomaly({ anomalyId: "e".repeat(40) })] },
      "Its anomalies show the decisions.",
    ],
  ])("are shown as received after every decision: %o", async (over, decided) => {
    host.reply("showPayment", payment({ state: "EXPIRED", uncounted, ...over }));
    open(`#/payment/${"p".repeat(40)}`);
    const received = (await screen.findByText("Received")).parentElement?.textContent ?? "";
    expect(received).toContain("7,787 sat");
    expect(received).toContain(`It does not count as paid. ${decided}`);
    expect(screen.queryByText("Paid")).toBeNull();
    expect(screen.queryByText("Short by")).toBeNull();
  });
});
