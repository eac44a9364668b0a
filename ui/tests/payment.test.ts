import type { PaymentState, PaymentView, TransactionItem } from "../src/lib/bindings";
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { acceptance, anomaly, certificate, delivery, payment } from "./fixture";
import { host, open } from "./panel";

describe("a payment", () => {
  const href = `#/payment/${"p".repeat(40)}`;

  test("shows imported labels in quotes, because others wrote them", async () => {
    host.reply("showPayment", payment({ labels: ["Table 4", "pay \u202e09"] }));
    open(href);
    expect((await screen.findByText("Table 4")).closest("q")).toBeTruthy();
    expect(screen.getByText("pay \\u{202e}09")).toBeTruthy();
  });

  const paymentTime = "2026-01-12T12:00:00Z";
  test.each<[Partial<PaymentView>, boolean]>([
    [{ state: "CONFIRMED", paymentTime }, true],
    [{ state: "CONFIRMED", paymentTime, conflictSeen: true }, false],
    [{ state: "INVALID", paymentTime, whyInvalid: "REVERSED" }, false],
  ])("is called final only while it is: %o", async (facts, isFinal) => {
    host.reply("showPayment", payment(facts));
    open(href);
    await screen.findByRole("heading", { name: "Summary" });
    expect(screen.queryByText("Final since") !== null).toBe(isFinal);
  });

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

  test("a rate lists its quotes, with the reason for each unused one", async () => {
    host.reply("showPayment", payment({ certificate }));
    open(href);
    const card = (await screen.findByText("Exchange rate details")).closest("section")!;
    const [, kraken, mempool] = within(card).getAllByRole("row");
    expect(kraken?.textContent).toMatch(/kraken.*64,210\.55.*Yes/s);
    expect(mempool?.textContent).toMatch(/mempool.*70,000.*No: more than 5 % from the median/s);
  });

  test("a shop's answer is shown as text, never as markup", async () => {
    host.reply("showPayment", payment({ deliveries: [delivery()] }));
    open(href);
    expect(await screen.findByText("<b>upset</b>")).toBeTruthy();
  });

  test("only the newest attempt shows the notification's state", async () => {
    const first = delivery({ deliveryId: "e".repeat(40), attempt: 1 });
    host.reply("showPayment", payment({ deliveries: [delivery({ attempt: 2 }), first] }));
    open(href);
    expect(await screen.findAllByText(/Payment, attempt/)).toHaveLength(2);
    expect(screen.getAllByText("Waiting")).toHaveLength(1);
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
  ])("the difference to the price is named by the state: %o", async (over, name) => {
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
  ])("the code and the Bitcoin link are shown only while coins are due: %s", async (state, due) => {
    host.reply("showPayment", payment({ state }));
    open(href);
    await screen.findByText("Rate");
    expect(screen.queryByAltText("QR code of the address and the amount") !== null).toBe(due);
    expect(screen.queryByRole("button", { name: "Copy Bitcoin link" }) !== null).toBe(due);
  });

  test("a paid payment says first that the goods can be handed over", async () => {
    host.reply("showPayment", payment({ state: "CONFIRMED", stillDue: null }));
    open(href);
    const answer = await screen.findByRole("region", { name: "Is it paid?" });
    expect(answer.textContent).toContain("Paid. You can hand over the goods.");
    expect(answer.textContent).toContain("Nothing more to pay.");
    expect(answer.className).toContain("good");
  });

  test.each<[RegExp, string]>([
    [/Pay exactly/, "The customer sent 1 transaction for order-7 ($10.00). Mine 1 block to confirm."],
    [/Pay a part/, "The customer sent 1 transaction for order-7 ($10.00)."],
    [/Pay too much/, "The customer sent 1 transaction for order-7 ($10.00)."],
  ])("only a payment of the price is said to need a block: %s", async (name, said) => {
    host.reply("showPayment", payment());
    host.reply("sandbox", { btcTxIds: ["c".repeat(64)] });
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name }));
    expect(await screen.findByText(said)).toBeTruthy();
  });

  test("the details show the text of a notification, and say if the last one failed", async () => {
    host.reply("showPayment", payment({ deliveries: [delivery()] }));
    open(href);
    expect(await screen.findByText("The last notification failed")).toBeTruthy();
    expect(screen.getByText(/"status": "CONFIRMED"/).closest("details")?.open).toBe(false);
    expect(screen.getByText("Rate").closest("details")?.open).toBe(false);
  });

  test("the customer's page is opened in the browser, or sent by mail", async () => {
    host.reply("showPayment", payment());
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: "Open" }));
    await waitFor(() => expect(host.acts).toEqual(["open-page"]));
    await fireEvent.click(screen.getByRole("button", { name: "Mail…" }));
    await waitFor(() => expect(host.acts).toEqual(["open-page", "mail-page"]));
    expect(host.fields).toEqual([{ paymentId: "p".repeat(40) }, { paymentId: "p".repeat(40) }]);
    expect(screen.getByText("This page opens on this computer alone.")).toBeTruthy();
  });

  test("a resend names the delivery", async () => {
    host.reply("showPayment", payment({ deliveries: [delivery()] }));
    host.reply("resend", { queued: 1 });
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: /Resend the notification/ }));
    await waitFor(() => expect(host.askedFor("resend")).toMatchObject([{ id: "d".repeat(40) }]));
    expect(await screen.findByText(/Queued 1 notification/)).toBeTruthy();
  });

  test("a payment without coins is cancelled after a confirmation", async () => {
    host.reply("showPayment", payment({ state: "NEW", transactions: [] }));
    host.reply("cancelPayment", payment({ state: "NEW" }));
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: "Cancel payment…" }));
    const dialog = await screen.findByRole("dialog");
    expect(host.askedFor("cancelPayment")).toHaveLength(0);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Cancel payment" }));
    await waitFor(() =>
      expect(host.askedFor("cancelPayment")).toMatchObject([{ paymentId: "p".repeat(40) }]),
    );
  });

  test("a cancelled payment is called so, and nothing is due", async () => {
    host.reply("showPayment", payment({ state: "EXPIRED", isCancelled: true }));
    open(href);
    await screen.findByText("Rate");
    expect(screen.getAllByText("Cancelled").length).toBeGreaterThan(0);
    expect(screen.queryByText("Short by")).toBeNull();
  });

  test("a payment with coins has no button to cancel it", async () => {
    host.reply("showPayment", payment({ state: "UNDERPAID" }));
    open(href);
    await screen.findByText("Rate");
    expect(screen.queryByRole("button", { name: "Cancel payment…" })).toBeNull();
  });

  test("accepting shows its effect and happens after a confirmation", async () => {
    host.reply(
      "showPayment",
      payment({ state: "EXPIRED", acceptance: acceptance(), anomalies: [anomaly()] }),
    );
    host.reply("acceptPayment", payment({ state: "CONFIRMED" }));
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: /Accept the coins that came/ }));
    const dialog = await screen.findByRole("dialog", {
      name: "Treat order-7 as paid, $5.00 short?",
    });
    expect(dialog.textContent).toContain("The shop is notified");
    expect(host.askedFor("acceptPayment")).toHaveLength(0);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Accept the coins" }));
    await waitFor(() => expect(host.askedFor("acceptPayment")).toHaveLength(1));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  test("accepting sends the shown sum even if the coins changed", async () => {
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
    await screen.findByText("10 sat");
    expect(dialog.textContent).toContain("7,787 sat");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Accept the coins" }));
    await waitFor(() => expect(host.askedFor("acceptPayment")).toMatchObject([{ agreedSats: 7787 }]));
  });

  test("accepting announces the new state once", async () => {
    host.reply("showPayment", payment({ state: "EXPIRED", acceptance: acceptance() }));
    host.reply("acceptPayment", () => {
      host.reply("showPayment", payment({ state: "CONFIRMED" }));
      host.emit("changed");
      return payment({ state: "CONFIRMED" });
    });
    open(href);
    await fireEvent.click(await screen.findByRole("button", { name: /Accept the coins that came/ }));
    await fireEvent.click(await screen.findByRole("button", { name: "Accept the coins" }));
    expect(await screen.findByText("Accepted the coins for order-7.")).toBeTruthy();
    expect(await screen.findAllByText(/is now: Paid/)).toHaveLength(1);
  });

  test("confirmations are shown with the wanted number until reached", async () => {
    const transaction: TransactionItem = {
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
    await fireEvent.click(within(dialog).getByRole("button", { name: "Dismiss" }));
    expect((await within(dialog).findByRole("alert")).textContent).toContain("accepted already");
    expect(host.askedFor("dismissAnomaly")).toMatchObject([{ reason: "kept as a tip" }]);
  });
});
