import type { AnomalyKind } from "../src/lib/bindings";
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { tick } from "svelte";
import { describe, expect, test } from "vitest";
import { acceptance, anomaly, estimate, payment, payout, status } from "./fixture";
import { lists } from "../src/lib/state/lists.svelte";
import { host, open } from "./panel";

describe("anomalies", () => {
  test("a refund that lapses in the approval is renewed, and its dialog stays open", async () => {
    const requested = payout({ anomalyId: "a".repeat(40) });
    host.reply("showPayout", requested);
    host.reply("showAnomaly", anomaly());
    host.reply("estimatePayout", estimate());
    open(`#/payout/${"b".repeat(40)}`);
    await fireEvent.click(await screen.findByRole("button", { name: /^Approve…/ }));
    host.reply("showPayout", { ...requested, state: "EXPIRED" });
    host.emit("changed");
    const approval = within(await screen.findByRole("dialog", { name: /^Pay / }));
    await fireEvent.click(await approval.findByRole("button", { name: "Request it again" }));
    await screen.findByRole("dialog", { name: /^Refund / });
    await tick();
    await Promise.resolve();
    expect(screen.getByRole("dialog", { name: /^Refund / })).toBeTruthy();
  });

  test("on the last page move to the page before once the last is decided", async () => {
    lists.anomalies = { open: true, offset: 50 };
    host.reply("listAnomalies", ({ offset }: { offset: number }) => ({
      items: offset === 0 ? [anomaly()] : [],
      itemsCount: 50,
    }));
    open("#/anomalies");
    expect(await screen.findByRole("button", { name: "Refund…" })).toBeTruthy();
    await waitFor(() => expect(lists.anomalies.offset).toBe(0));
  });

  test("in production are explained without the sandbox", async () => {
    open("#/production/anomalies");
    expect(await screen.findByText("Nothing needs your attention")).toBeTruthy();
    expect(document.querySelector("main")?.textContent).not.toContain("sandbox");
  });

  test.each<[AnomalyKind, string]>([
    ["LATE_PAYMENT", "that were not seen in time stay in your wallet"],
    ["EXTRA_PAYMENT", "that came on top stay in your wallet"],
    ["OVERPAYMENT", "that were too much stay in your wallet"],
    ["UNDERPAYMENT", "although they were too few"],
    ["REVERSED_PAYMENT", "are not in your wallet"],
  ])("dismissing %s says where its coins are", async (anomalyType, said) => {
    host.reply("listAnomalies", { items: [anomaly({ anomalyType, notified: false })], itemsCount: 1 });
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: /Dismiss/ }));
    const dialog = await screen.findByRole("dialog", {
      name: "Dismiss this for order-7 ($10.00)?",
    });
    expect(dialog.textContent).toContain(said);
    expect(dialog.textContent).toContain("No shop is notified");
    expect(dialog.textContent).not.toContain("The shop is notified");
  });

  test.each([
    [
      true,
      "It is sent to the shop with the anomaly, and any API key that may read this anomaly can read it.",
    ],
    [false, "Any API key that may read this anomaly can read it."],
  ])("dismissing says who can read the reason; shop notified: %s", async (notified, said) => {
    host.reply("listAnomalies", { items: [anomaly({ notified })], itemsCount: 1 });
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: /Dismiss/ }));
    expect(await screen.findByText(said)).toBeTruthy();
  });

  test("name their order in the list, and can be accepted there", async () => {
    const late = anomaly({ anomalyType: "LATE_PAYMENT", acceptance: acceptance({ notified: false }) });
    host.reply("listAnomalies", { items: [late], itemsCount: 1 });
    host.reply("acceptPayment", payment({ state: "CONFIRMED" }));
    open("#/anomalies");
    expect((await screen.findByRole("link", { name: "order-7" })).getAttribute("href")).toBe(
      `#/test/payment/${"p".repeat(40)}`,
    );
    await fireEvent.click(screen.getByRole("button", { name: /Accept the coins/ }));
    const dialog = await screen.findByRole("dialog");
    expect(dialog.textContent).toContain("No shop is notified");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Accept the coins" }));
    expect(await screen.findByText("Accepted the coins for order-7. It is now: Paid.")).toBeTruthy();
    expect(host.askedFor("acceptPayment")).toMatchObject([{ agreedSats: 7787 }]);
  });

  test("a reversal is shown on every screen", async () => {
    host.reply("status", { ...status, openReversals: 1 });
    open("#/keys");
    expect((await screen.findByRole("alert")).textContent).toContain("1 confirmed payment was reversed");
    expect(screen.getByRole("link", { name: /^Needs attention 1 to decide, 1 reversed$/ })).toBeTruthy();
  });
});

describe("the inbox", () => {
  const late = anomaly({
    anomalyId: "1".repeat(40),
    anomalyType: "LATE_PAYMENT",
    acceptance: acceptance({
      short: null,
      worth: { minor: 1000, text: "10.00", shown: "10.00", currency: "USD" },
    }),
  });
  const extra = anomaly({ anomalyId: "2".repeat(40), anomalyType: "EXTRA_PAYMENT" });
  const refunded = anomaly({ anomalyId: "3".repeat(40), resolution: "REFUNDED" });

  test.each<[Partial<Parameters<typeof anomaly>[0]>, string, string[]]>([
    [
      { anomalyType: "LATE_PAYMENT" },
      "Coins for order “order-7” (price $10.00) came after the payment had closed.",
      ["Refund…", "Dismiss…"],
    ],
    [
      { anomalyType: "LATE_PAYMENT", acceptance: acceptance({ short: null }) },
      "Coins for order “order-7” (price $10.00) came after the payment had closed.",
      ["Accept the coins…", "Refund…", "Dismiss…"],
    ],
    [
      { anomalyType: "LATE_PAYMENT", cameInTime: true },
      "Coins for order “order-7” (price $10.00) arrived in time, but were seen too late.",
      ["Refund…", "Dismiss…"],
    ],
    [
      { anomalyType: "UNDERPAYMENT", acceptance: acceptance() },
      "Only $5.00 of $10.00 came for order “order-7” before the payment closed.",
      ["Refund…", "Accept the coins…", "Dismiss…"],
    ],
    [
      { anomalyType: "OVERPAYMENT", merchantTransactionId: "" },
      "The customer paid $5.00 too much for the payment of $10.00.",
      ["Refund…", "Dismiss…"],
    ],
    [
      { anomalyType: "REVERSED_PAYMENT" },
      "The coins for order “order-7” (price $10.00) were taken back. It is no longer paid: ask the customer to pay again.",
      ["Dismiss…"],
    ],
  ])("says what happened and recommends the first button: %o", async (over, sentence, buttons) => {
    host.reply("listAnomalies", { items: [anomaly(over)], itemsCount: 1 });
    open("#/anomalies");
    expect(await screen.findByText(sentence)).toBeTruthy();
    const row = screen.getByText(sentence).closest("li") as HTMLElement;
    const shown = [...row.querySelectorAll("button")];
    expect(shown.map((button) => button.textContent)).toEqual(buttons);
    expect(shown.map((button) => button.closest("details") !== null)).toEqual(buttons.map((_, at) => at > 0));
    expect(shown[0]?.className.includes("primary")).toBe(buttons[0] !== "Dismiss…");
  });

  test("a reversed payment is lost, and its dismissal is no suggestion", async () => {
    const reversed = anomaly({ anomalyType: "REVERSED_PAYMENT" });
    const covered = anomaly({
      anomalyId: "4".repeat(40),
      anomalyType: "REVERSED_PAYMENT",
      acceptance: acceptance({ short: null }),
    });
    host.reply("listAnomalies", { items: [reversed, covered], itemsCount: 2 });
    open("#/anomalies");
    const [lost] = await screen.findAllByText("lost");
    expect(lost?.parentElement?.textContent).toMatch(/lost\s+\$5\.00/);
    expect(screen.queryByText("now worth")).toBeNull();
    const suggested = [...document.querySelectorAll("main li button.primary")];
    expect(suggested.map((button) => button.textContent)).toEqual(["Accept the coins…"]);
  });

  test("shows one worth where two differ by their rounding alone", async () => {
    const worth = { minor: 1649, text: "16.49", shown: "16.49", currency: "USD" };
    const worthToday = { ...worth, minor: 1650, text: "16.50", shown: "16.50" };
    host.reply("listAnomalies", { items: [anomaly({ worth, worthToday })], itemsCount: 1 });
    open("#/anomalies");
    expect(await screen.findByText("$16.49", { selector: "b" })).toBeTruthy();
    expect(screen.queryByText(/16\.50/)).toBeNull();
  });

  test("shows what open coins are worth today, and others' worth then", async () => {
    host.reply("listAnomalies", { items: [extra, refunded], itemsCount: 2 });
    open("#/anomalies");
    expect((await screen.findByText("$5.20")).closest("dd")?.textContent).toContain("now worth");
    expect(screen.getByText("$5.00", { selector: "dd span" }).closest("dd")?.textContent).toContain("then");
  });

  test("is walked through by j and k, and Enter presses the first button", async () => {
    host.reply("listAnomalies", { items: [late, extra, refunded], itemsCount: 3 });
    open("#/anomalies");
    const accept = await screen.findByRole("button", { name: "Accept the coins…" });
    const press = (key: string) => fireEvent.keyDown(document.activeElement ?? document.body, { key });
    await press("j");
    expect(document.activeElement).toBe(accept);
    await press("j");
    expect(document.activeElement?.textContent).toBe("Refund…");
    await press("j");
    expect((document.activeElement as HTMLAnchorElement).hash).toBe(`#/test/payment/${"p".repeat(40)}`);
    await press("j");
    await press("k");
    await press("k");
    expect(document.activeElement).toBe(accept);
    expect(accept.getAttribute("aria-describedby")).toBe(
      screen.getAllByText(/came after the payment had closed/)[0]?.id,
    );
    // A button is pressed by Enter in every browser, so the test clicks it.
    await fireEvent.click(accept);
    expect(await screen.findByRole("dialog", { name: "Treat order-7 as paid?" })).toBeTruthy();
    await press("j");
    expect(document.activeElement).toBe(accept);
  });

  test("closes the other decisions at Esc", async () => {
    host.reply("listAnomalies", { items: [late], itemsCount: 1 });
    open("#/anomalies");
    const more = await screen.findByText("Other decisions");
    const details = more.closest("details") as HTMLDetailsElement;
    details.open = true;
    await fireEvent.keyDown(more, { key: "Escape" });
    expect(details.open).toBe(false);
  });

  test("has one number in the menu, with its meaning", async () => {
    host.reply("status", { ...status, openAnomalies: 4, openReversals: 1 });
    open("#/keys");
    const link = await screen.findByRole("link", { name: /^Needs attention/ });
    expect(link.querySelectorAll(".count")).toHaveLength(1);
    expect(link.querySelector(".count")?.getAttribute("title")).toBe("4 to decide, 1 reversed");
  });
});

describe("a refund's address", () => {
  const question = { askedAt: "2026-01-12T12:06:00Z", address: null, answeredAt: null };
  const address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
  const answered = { ...question, address, answeredAt: "2026-01-12T12:07:00Z" };

  test("is asked for by the payment's page, and the answer fills in the form", async () => {
    host.reply("listAnomalies", { items: [anomaly()], itemsCount: 1 });
    host.reply("showAnomaly", anomaly());
    host.reply("askRefundAddress", anomaly({ question }));
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: "Refund…" }));
    host.reply("showAnomaly", anomaly({ question }));
    await fireEvent.click(await screen.findByRole("button", { name: "Ask the customer by a link" }));
    expect(await screen.findByText("The payment's page asks the customer for an address.")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Copy link" })).toBeTruthy();
    host.reply("showAnomaly", anomaly({ question: answered }));
    host.emit("changed");
    await fireEvent.click(await screen.findByRole("button", { name: "Use this address" }));
    const field = screen.getByRole<HTMLInputElement>("textbox", { name: "The customer's address" });
    expect(field.value).toBe(address);
    expect(screen.queryByRole("button", { name: "Use this address" })).toBeNull();
  });

  test("that the customer gave is said in the list, and a person takes it over", async () => {
    const row = anomaly({ question: answered, acceptance: acceptance({ short: null }) });
    host.reply("listAnomalies", { items: [row], itemsCount: 1 });
    host.reply("showAnomaly", row);
    open("#/anomalies");
    expect(await screen.findByText("The customer gave an address for the refund.")).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "Refund…" }));
    const field = await screen.findByRole<HTMLInputElement>("textbox", { name: "The customer's address" });
    expect(field.value).toBe("");
    expect(screen.getByRole("button", { name: "Use this address" })).toBeTruthy();
    expect(screen.getByText(/Anyone with the page's link can give an address/)).toBeTruthy();
  });
});
