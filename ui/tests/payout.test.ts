import type { PayoutView } from "../src/lib/bindings";
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { payout, telling } from "./fixture";
import { host, open } from "./panel";
import { HREF, asks, possible, sent, version } from "./sent-payout";

describe("an approved payout", () => {
  test("names the person who approved it, without the place", async () => {
    host.reply("showPayout", sent());
    open(HREF);
    const term = await screen.findByText("Approved by");
    expect(term.nextElementSibling?.textContent?.trim()).toBe("ada");
  });

  test.each<[PayoutView, string, string]>([
    [
      sent({ state: "QUEUED", waitsFor: telling("waits for 20 s more, to share its transaction") }),
      "Approved",
      "Waits for 20 s more, to share its transaction.",
    ],
    [sent({ confirmations: 0 }), "On its way", "It waits for a block. That takes 10 minutes on average"],
    [sent({ confirmations: 2 }), "Arrived", "the recipient has the coins (2 confirmations)"],
  ])("shows its way in three steps, and what it waits for", async (view, step, sentence) => {
    host.reply("showPayout", view);
    open(HREF);
    const way = await screen.findByRole("region", { name: "The payout's way" });
    expect(within(way).getAllByRole("listitem")).toHaveLength(3);
    expect(way.querySelector("[aria-current='step']")?.textContent).toContain(step);
    expect(within(way).getByRole("status").textContent).toContain(sentence);
  });

  test("that failed has no way to go", async () => {
    host.reply(
      "showPayout",
      sent({ state: "FAILED", failureReason: telling("the wallet ran out of coins") }),
    );
    open(HREF);
    expect(await screen.findByText(/Nothing more is sent for it/)).toBeTruthy();
    expect(screen.queryByRole("region", { name: "The payout's way" })).toBeNull();
  });
});

describe("cancelling a payout", () => {
  test("is shown as being cancelled until it is decided", async () => {
    const waitsFor = telling(
      "it is being cancelled: after 6 blocks, in about an hour, it has failed, or it was sent after all",
    );
    host.reply("showPayout", sent({ beingGivenUp: true, waitsFor }));
    open(HREF);
    expect(await screen.findByText("Being cancelled")).toBeTruthy();
    expect(screen.getByText(/It is being cancelled: after 6 blocks, in about an hour/)).toBeTruthy();
    expect(screen.queryByText("Sent, waits for a block")).toBeNull();
  });

  test("allows a new request once the payout has failed", async () => {
    host.reply(
      "showPayout",
      payout({ state: "FAILED", failureReason: telling("it was cancelled by panel:ada") }),
    );
    host.reply("requestPayout", payout({ payoutId: "f".repeat(40) }));
    open(HREF);
    await fireEvent.click(await screen.findByRole("button", { name: "Request it again" }));
    await waitFor(() => expect(location.hash).toBe(`#/test/payout/${"f".repeat(40)}`));
  });

  test("is in the history with its author and the time of failure", async () => {
    const history = [
      { step: "bumped" as const, by: "cli:bea", at: "12:20" },
      { step: "abandoned" as const, by: "panel:cal", at: "12:30" },
      { step: "failed" as const, by: null, at: "13:30" },
    ].map(({ at, ...step }) => ({ ...step, time: `2026-01-12T${at}:00.000Z`, btcTxId: null, reason: null }));
    const ended = { failureReason: telling("it was cancelled"), failedTime: "2026-01-12T13:30:00Z" };
    host.reply("showPayout", payout({ state: "FAILED", ...ended, history }));
    open(HREF);
    const bumped = (await screen.findByText("Replaced by a transaction with a higher fee")).closest("li");
    expect(bumped?.textContent).toContain("by bea");
    const givenUp = screen.getByText("Cancelled by a transaction that pays the coins back").closest("li");
    expect(givenUp?.textContent).toContain("by cal");
    expect(screen.getAllByText("Failed", { selector: "dt" })).toHaveLength(1);
  });

  test("fails at once if nothing was signed yet", async () => {
    host.reply("showPayout", payout({ state: "QUEUED", canAbandon: possible }));
    host.reply("abandonPayout", { ...payout({ state: "FAILED" }), replacement: null, refusal: null });
    const dialog = await asks(/^Cancel payout/);
    expect(dialog.textContent).toContain("Nothing has been sent yet, and nothing will be.");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Cancel payout" }));
    await waitFor(() =>
      expect(host.askedFor("abandonPayout")).toMatchObject([{ all: false, feeAtMostSats: 0 }]),
    );
  });

  test("names all payouts of the signed transaction and both outcomes", async () => {
    const other = {
      payoutId: "e".repeat(40),
      state: "SENT" as const,
      address: "bcrt1qother0000000000000000000000000000000000",
      amount: { sats: 5000, text: "0.00005000", shown: "0.00005000" },
    };
    const own = sent();
    const fee = { sats: 410, text: "0.00000410", shown: "0.00000410" };
    host.reply("showPayout", own);
    host.reply("estimateAbandon", { fee, worth: null, payouts: [own, other] });
    host.reply("abandonPayout", { ...own, replacement: version({ pays: false }), refusal: null });
    const dialog = await asks(/^Cancel payout/);
    const heading = within(dialog).getByRole("heading");
    await waitFor(() => expect(heading.textContent).toBe("Cancel 2 payouts?"));
    expect(dialog.textContent).toContain("a fee of 410 sat");
    expect(dialog.textContent).toContain("5,000 sat");
    expect(dialog.textContent).toContain("0.01000000 BTC");
    expect(dialog.textContent).toMatch(/We'll\s+know\s+in\s+about\s+an\s+hour/);
    expect(dialog.textContent).toContain("the payouts go through");
    await fireEvent.click(within(dialog).getByRole("button", { name: /^Cancel all 2 for a fee of/ }));
    await waitFor(() =>
      expect(host.askedFor("abandonPayout")).toMatchObject([{ all: true, feeAtMostSats: 410 }]),
    );
  });

  test("does not concern payouts that joined after the dialog opened", async () => {
    host.reply("showPayout", payout({ state: "QUEUED", canAbandon: possible }));
    const dialog = await asks(/^Cancel payout/);
    host.reply("showPayout", sent({ sharesWith: [] }));
    host.emit("changed");
    await screen.findByText("Pays the recipient", { exact: false });
    expect(dialog.textContent).toContain("Nothing has been sent yet");
    expect(within(dialog).getByRole("heading").textContent).not.toContain("payouts?");
  });
});

describe("a payout that was paid by a transaction not made here", () => {
  test("is shown as paid from elsewhere, and can be requested again", async () => {
    const elsewhere = { madeElsewhere: true, canBump: { possible: false, whyNot: telling("x") } };
    host.reply("showPayout", sent({ versions: [], ...elsewhere, canAbandon: elsewhere.canBump }));
    open(HREF);
    expect(await screen.findByText("Paid by a transaction that was not made here:")).toBeTruthy();
    expect(screen.getAllByText("Paid from elsewhere").length).toBeGreaterThan(0);
    expect(screen.queryByRole("button", { name: /higher fee|Cancel payout/ })).toBeNull();
    expect(screen.getByRole("button", { name: "Request it again" })).toBeTruthy();
  });
});
