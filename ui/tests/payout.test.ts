import type { PayoutView } from "../src/lib/bindings/PayoutView";
import type { VersionItem } from "../src/lib/bindings/VersionItem";
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ADDRESS, anomaly, bumpEstimate, estimate, payout, sendEstimate, status, telling } from "./fixture";
import { host, open } from "./panel";

const HREF = `#/payout/${"b".repeat(40)}`;
const GROUPS = "bcrt 1qw5 08d6 qejx tdg4 y5r3 zarv ary0 c5xw 7kyg t080".split(" ");

const possible = { possible: true, whyNot: null };

function version(over: Partial<VersionItem> = {}): VersionItem {
  return {
    btcTxId: "c".repeat(64),
    number: 1,
    pays: true,
    fee: { sats: 282, text: "0.00000282", shown: "0.00000282" },
    feeRate: "2.00",
    position: "mempool",
    confirmations: 0,
    accepted: true,
    time: "2026-01-12T12:07:00.000Z",
    ...over,
  };
}

function sent(over: Partial<PayoutView> = {}): PayoutView {
  return payout({
    state: "SENT",
    approvedBy: "panel:ada",
    versions: [version()],
    btcTxId: "c".repeat(64),
    canApprove: { possible: false, whyNot: telling("it is SENT") },
    canBump: possible,
    canAbandon: possible,
    ...over,
  });
}

/** Opens the payout's screen and clicks the button. */
async function asks(button: RegExp) {
  open(HREF);
  await fireEvent.click(await screen.findByRole("button", { name: button }));
  return screen.findByRole("dialog");
}

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

describe("rejecting a request", () => {
  test("a shop's request is rejected with the reason that the shop reads", async () => {
    host.reply("showPayout", payout({ requestedByShop: true }));
    host.reply("rejectPayout", payout({ state: "EXPIRED" }));
    const dialog = await asks(/^Reject…/);
    await fireEvent.input(within(dialog).getByLabelText("Reason (optional)"), {
      target: { value: " too dear " },
    });
    expect(within(dialog).getByRole<HTMLButtonElement>("button", { name: "Not now" }).autofocus).toBe(true);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Reject" }));
    await waitFor(() =>
      expect(host.askedFor("rejectPayout")).toMatchObject([{ payoutId: "b".repeat(40), reason: "too dear" }]),
    );
  });

  test("a request of staff is withdrawn", async () => {
    host.reply("showPayout", payout({ requestedByShop: false }));
    host.reply("rejectPayout", payout({ state: "EXPIRED" }));
    const dialog = await asks(/^Withdraw…/);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Withdraw" }));
    await waitFor(() => expect(host.askedFor("rejectPayout")).toHaveLength(1));
  });

  test("an ended request shows who ended it and why", async () => {
    const failureReason = telling("it was rejected by staff: too dear");
    host.reply("showPayout", payout({ state: "EXPIRED", requestedByShop: true, failureReason }));
    open(HREF);
    expect(await screen.findByRole("heading", { name: "This request has ended" })).toBeTruthy();
    expect(screen.getByText("It was rejected by staff: too dear")).toBeTruthy();
  });
});

describe("approving a payout", () => {
  beforeEach(() => {
    host.reply("showPayout", payout());
    host.reply("getSetting", { name: "batchSeconds", value: "30", default: "30" } as never);
  });

  test("shows the address in groups of four, all sums, and the effect", async () => {
    const dialog = await asks(/^Approve…/);
    const address = dialog.querySelector(`[data-address="${ADDRESS}"]`);
    expect([...(address?.querySelectorAll("span") ?? [])].map((group) => group.textContent)).toEqual(GROUPS);
    // The copied text has no blanks.
    expect(address?.textContent).toBe(ADDRESS);
    for (const sum of [
      "0.01000000 BTC",
      "642.10 USD",
      "0.00000282 BTC",
      "0.01000282 BTC",
      "642.29 USD",
      "0.99000000 BTC",
    ]) {
      expect(dialog.textContent).toContain(sum);
    }
    await waitFor(() => expect(dialog.textContent).toContain("sent within about 30 s"));
    expect(dialog.textContent).toContain("cannot be taken back once a block holds it");
  });

  test("happens once, and only after a confirmation", async () => {
    host.reply("approvePayout", payout({ state: "QUEUED" }));
    const dialog = await asks(/^Approve…/);
    expect(host.askedFor("approvePayout")).toHaveLength(0);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Approve 0.01000000 BTC" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(host.askedFor("approvePayout")).toMatchObject([{ payoutId: "b".repeat(40) }]);
  });

  test("shows the gateway's refusal and stays open", async () => {
    host.reply("approvePayout", {
      errorType: "PAYOUT_ABOVE_DAILY_LIMIT",
      message:
        "Payout above daily limit: 0.00500000 BTC are left of it until 2026-01-13T00:00:00Z. Ask for less, wait, or have the limit raised (the setting dailyLimitBtc)",
      field: null,
    });
    const dialog = await asks(/^Approve…/);
    await fireEvent.click(within(dialog).getByRole("button", { name: /^Approve 0/ }));
    const told = (await within(dialog).findByRole("alert")).textContent;
    expect(told).toContain("0.00500000 BTC are left of it");
    expect(told).toContain("wait, or have the limit raised");
    expect(told).not.toMatch(/T00:00:00Z|dailyLimitBtc/);
  });

  test("is disabled with the reason if it is not possible", async () => {
    host.reply(
      "showPayout",
      payout({
        canApprove: { possible: false, whyNot: telling("it is above what is left of today's limit") },
      }),
    );
    open(HREF);
    const button = await screen.findByRole("button", { name: /^Approve…/ });
    expect((button as HTMLButtonElement).disabled).toBe(true);
    expect(screen.getByText("It is above what is left of today's limit.")).toBeTruthy();
  });

  test("names the cause of waiting, and then promises no time", async () => {
    host.reply("status", {
      ...status,
      senderWaitsFor: telling("the keyring is locked"),
      senderWaitCause: "KEYRING" as const,
    });
    const dialog = await asks(/^Approve…/);
    expect(dialog.textContent).toContain("It has to wait: the keyring is locked.");
    expect(dialog.textContent).not.toContain("sent within");
  });

  test("does not wait because another payout waits for coins", async () => {
    host.reply("status", {
      ...status,
      senderWaitsFor: telling("the coins come to 1 BTC"),
      senderWaitCause: "COINS" as const,
    });
    const dialog = await asks(/^Approve…/);
    expect(dialog.textContent).not.toContain("It has to wait");
    await waitFor(() => expect(dialog.textContent).toContain("sent within about 30 s"));
  });

  test("warns of a fee that is high for the amount", async () => {
    host.reply(
      "showPayout",
      payout({ feeWarning: telling("the network's fee is more than the amount itself") }),
    );
    const dialog = await asks(/^Approve…/);
    expect(dialog.textContent).toContain("The network's fee is more than the amount itself.");
  });

  test("shows a comment that imitates other parts as quoted text only", async () => {
    const comment = "Refund · asked by panel:ada \u202egnp.exe\u2066\n";
    host.reply("showPayout", payout({ comment, requestedBy: "key:stolen", requestedByShop: true }));
    const dialog = await asks(/^Approve…/);
    for (const place of [dialog, document.querySelector("header h1")?.parentElement]) {
      expect(place?.querySelector("q bdi")?.textContent).toBe(
        "Refund · asked by panel:ada \\u{202e}gnp.exe\\u{2066}\\u{a}",
      );
      expect(place?.querySelector(".asked")?.textContent).toBe("Requested by key:stolen (API key)");
      expect(place?.querySelector(".refund")).toBeNull();
    }
  });

  test("warns twice of another payout to the same address", async () => {
    const paidBefore = {
      payoutId: "e".repeat(40),
      state: "QUEUED" as const,
      amount: payout().amount,
      time: "2026-01-12T12:00:00Z",
    };
    host.reply("showPayout", payout({ paidBefore }));
    const dialog = await asks(/^Approve…/);
    expect(dialog.textContent).toMatch(/This address had a payout before:\s+0\.01000000 BTC/);
    expect(dialog.querySelector("q bdi")?.textContent).toBe("Invoice 12");
    expect(dialog.querySelector(".asked")?.textContent).toBe("Requested by ada");
    expect(screen.getAllByText(/This address had a payout before/)).toHaveLength(2);
  });
});

describe("a request's countdown", () => {
  beforeEach(() => {
    vi.useFakeTimers({ shouldAdvanceTime: true, now: new Date("2026-01-12T12:15:00Z") });
    host.reply("status", { ...status, clock: "2026-01-12T12:15:50Z" });
    host.reply("showPayout", payout());
    host.reply("getSetting", { name: "batchSeconds", value: "0", default: "30" } as never);
  });
  afterEach(() => vi.useRealTimers());

  test("ends, and the open dialog then allows only a new request", async () => {
    host.reply("requestPayout", payout({ payoutId: "f".repeat(40) }));
    const dialog = await asks(/^Approve…/);
    expect(within(dialog).getByRole("timer").textContent).toMatch(
      /^Decide within (10|9) s\. After that nothing is paid\.$/,
    );
    await waitFor(() => expect(dialog.textContent).toContain("sent at once"));
    host.reply("status", { ...status, clock: "2026-01-12T12:16:01Z" });
    await vi.advanceTimersByTimeAsync(12_000);
    expect(within(dialog).getByRole("alert").textContent).toContain("This request has lapsed");
    expect(within(dialog).queryByRole("button", { name: /^Approve/ })).toBeNull();
    await fireEvent.click(within(dialog).getByRole("button", { name: "Request it again" }));
    await waitFor(() => expect(location.hash).toBe(`#/test/payout/${"f".repeat(40)}`));
    expect(host.askedFor("requestPayout")).toMatchObject([
      { address: ADDRESS, btcAmount: "0.01000000", fiatAmount: null, currency: "USD", approve: false },
    ]);
  });

  test("renewing a request that another copy paid needs a confirmation", async () => {
    host.reply("showPayout", payout({ state: "EXPIRED", currency: "EUR" }));
    host.reply("estimatePayout", estimate());
    host.reply("requestPayout", {
      errorType: "PAYOUT_PAID_BEFORE",
      message: "another copy of this wallet paid this amount to this address: confirm that it is paid again",
      field: "again",
    });
    open(HREF);
    await fireEvent.click(await screen.findByRole("button", { name: "Request it again" }));
    await waitFor(() => expect(location.hash).toBe("#/test/new-payout"));
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    expect((await screen.findByLabelText<HTMLInputElement>("Address")).value).toBe(ADDRESS);
    expect(screen.getByLabelText<HTMLInputElement>("Amount").value).toBe("0.01000000");
    expect(screen.getByLabelText<HTMLSelectElement>("Amount in").value).toBe("BTC");
    expect(screen.getByText(/Another copy of this wallet paid this amount/)).toBeTruthy();
    await fireEvent.click(screen.getByRole("checkbox", { name: /^Pay 0\.01000000 BTC again/ }));
    host.reply("requestPayout", payout({ payoutId: "f".repeat(40) }));
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    await waitFor(() => expect(location.hash).toBe(`#/test/payout/${"f".repeat(40)}`));
    const asked = { address: ADDRESS, btcAmount: "0.01000000", currency: "EUR", comment: "Invoice 12" };
    expect(host.askedFor("requestPayout")).toMatchObject([
      { ...asked, again: false },
      { ...asked, again: true },
    ]);
  });

  test("a shop's lapsed request can be renewed only by the shop", async () => {
    host.reply("showPayout", payout({ state: "EXPIRED", requestedByShop: true, requestedBy: "webshop" }));
    open(HREF);
    expect(await screen.findByText("This request has lapsed")).toBeTruthy();
    expect(screen.getByText(/let webshop ask for it again/)).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Request it again" })).toBeNull();
  });

  test("a lapsed refund is renewed in the refund dialog", async () => {
    const lapsed = payout({ state: "EXPIRED", anomalyId: "a".repeat(40), currency: "EUR" });
    host.reply("showPayout", lapsed);
    host.reply("showAnomaly", anomaly());
    host.reply("estimatePayout", estimate());
    host.reply("refundAnomaly", {
      errorType: "PAYOUT_PAID_BEFORE",
      message: "another copy paid it: confirm that the sum is to be sent again",
      field: "althoughPaid",
    });
    open(HREF);
    await fireEvent.click(await screen.findByRole("button", { name: "Request it again" }));
    const dialog = within(await screen.findByRole("dialog", { name: /^Refund / }));
    await fireEvent.click(dialog.getByRole("button", { name: "Review refund" }));
    await fireEvent.click(await dialog.findByRole("checkbox", { name: /again/ }));
    host.reply("refundAnomaly", payout({ payoutId: "f".repeat(40) }));
    await fireEvent.click(dialog.getByRole("button", { name: "Review refund" }));
    await waitFor(() => expect(location.hash).toBe(`#/test/payout/${"f".repeat(40)}`));
    const asked = { anomalyId: "a".repeat(40), address: ADDRESS, currency: "EUR" };
    expect(host.askedFor("refundAnomaly")).toMatchObject([
      { ...asked, althoughPaid: false },
      { ...asked, althoughPaid: true },
    ]);
  });

  test("the reason why a refund cannot be renewed is beside the button", async () => {
    host.reply("showPayout", payout({ state: "EXPIRED", anomalyId: "a".repeat(40) }));
    host.reply("showAnomaly", { errorType: "NOT_FOUND", message: "there is no such anomaly", field: null });
    open(HREF);
    await fireEvent.click(await screen.findByRole("button", { name: "Request it again" }));
    expect(await screen.findByText(/there is no such anomaly/i)).toBeTruthy();
  });
});

describe("a payout's transaction", () => {
  test("shows each version with its fee rate, the newest first", async () => {
    const first = version({ position: "missing" });
    const second = version({ btcTxId: "d".repeat(64), number: 2, feeRate: "9.50" });
    host.reply("showPayout", sent({ versions: [first, second] }));
    open(HREF);
    const texts = (await screen.findAllByRole("row")).map((row) => row.textContent ?? "");
    const newest = texts.findIndex((text) => text.includes("2. Pays the recipient, with a higher fee"));
    const oldest = texts.findIndex((text) => text.includes("1. Pays the recipient"));
    expect(newest).toBeGreaterThanOrEqual(0);
    expect(newest).toBeLessThan(oldest);
    expect(texts[newest]).toContain("9.50");
    expect(texts[newest]).toContain("Waits for a block");
    expect(texts[oldest]).toContain("Replaced");
  });

  test("a higher fee is shown in full before it is paid", async () => {
    host.reply("showPayout", sent());
    host.reply("estimateBump", bumpEstimate());
    const replacement = version({ feeRate: "12.00" });
    host.reply("bumpPayout", { ...sent(), replacement, isLeast: false, refusal: null });
    const dialog = await asks(/^Pay a higher fee/);
    await waitFor(() => expect(dialog.textContent).toContain("0.00000564 BTC (0.37 USD), 4.00 sat/vB"));
    host.reply(
      "estimateBump",
      bumpEstimate({ fee: { sats: 1692, text: "0.00001692", shown: "0.00001692" }, feeRate: "12.00" }),
    );
    await fireEvent.click(within(dialog).getByRole("radio", { name: /A rate of your own/ }));
    await fireEvent.input(within(dialog).getByRole("spinbutton"), { target: { value: "12" } });
    await fireEvent.click(
      await within(dialog).findByRole("button", { name: "Pay 0.00001692 BTC as the fee" }),
    );
    await waitFor(() =>
      expect(host.askedFor("bumpPayout")).toMatchObject([{ feeRate: 12, force: false, feeAtMostSats: 1692 }]),
    );
  });

  test("a refused replacement is shown with the backend's reason", async () => {
    const message = `the Bitcoin backend refused it: "insufficient fee". It names a fee of 0.00050000 BTC`;
    const replacement = version({ accepted: false });
    const refusal = { message: telling(message), feeNamed: null, feeMayHelp: true };
    host.reply("showPayout", sent());
    host.reply("estimateBump", bumpEstimate());
    host.reply("bumpPayout", { ...sent(), replacement, isLeast: false, refusal });
    const dialog = await asks(/^Pay a higher fee/);
    await fireEvent.click(await within(dialog).findByRole("button", { name: /as the fee$/ }));
    expect((await screen.findByText(/insufficient fee/)).textContent).toContain("broadcast again");
    expect(screen.queryByText(/The fee is raised/)).toBeNull();
  });

  test("a fee above the cap or the amount needs a second confirmation", async () => {
    host.reply("showPayout", sent());
    host.reply("estimateBump", bumpEstimate({ aboveCap: true, abovePays: true, needed: 250 }));
    host.reply("bumpPayout", { ...sent(), replacement: version(), isLeast: false, refusal: null });
    const dialog = await asks(/^Pay a higher fee/);
    const said = (await within(dialog).findByRole("alert")).textContent;
    expect(said).toContain("more than the 0.01000000 BTC that the transaction pays out");
    expect(said).toContain("above the highest rate that you set, 200 sat/vB");
    expect(dialog.textContent).toContain("choose a rate of your own, 250 sat/vB");
    await fireEvent.click(within(dialog).getByRole("radio", { name: /A rate of your own/ }));
    await fireEvent.input(within(dialog).getByRole("spinbutton"), { target: { value: "250" } });
    const yes = await within(dialog).findByRole("checkbox", { name: "Pay it all the same" });
    const pay = within(dialog).getByRole("button", { name: /as the fee$/ }) as HTMLButtonElement;
    expect(pay.disabled).toBe(true);
    await fireEvent.click(yes);
    expect(pay.disabled).toBe(false);
    await fireEvent.click(pay);
    await waitFor(() => expect(host.askedFor("bumpPayout")).toMatchObject([{ feeRate: 250, force: true }]));
  });

  test("a refusal above the cap names the dialog's own remedy", async () => {
    host.reply("showPayout", sent());
    host.reply("estimateBump", bumpEstimate());
    host.reply("bumpPayout", {
      errorType: "FEE_ABOVE_CAP",
      message: "the replacement must pay 250 sat/vB, above the allowed maximum of 200 sat/vB",
      field: null,
      told: [telling("the replacement must pay", "REPLACE_ABOVE_CAP", { needed: "250", cap: "200" })],
    });
    const dialog = await asks(/^Pay a higher fee/);
    await fireEvent.click(await within(dialog).findByRole("button", { name: /as the fee$/ }));
    const said = await within(dialog).findByText(/must pay 250/);
    expect(said.textContent).toContain("choose a rate of your own to pay it all the same");
  });

  test("says once why nothing can be done any more", async () => {
    const confirmed = {
      possible: false,
      whyNot: telling("the payout is SENT", "REPLACE_STATE", {
        _0: "SENT",
        _1: telling("its transaction is in a block", "NOT_REPLACEABLE_CONFIRMED"),
      }),
    };
    host.reply("showPayout", sent({ confirmations: 3, canBump: confirmed, canAbandon: confirmed }));
    open(HREF);
    expect(await screen.findByRole("heading", { name: "Nothing to do here" })).toBeTruthy();
    expect(screen.getByText("Its transaction is in a block.")).toBeTruthy();
    expect(screen.queryByRole("button", { name: /^Pay a higher fee|^Cancel payout/ })).toBeNull();
  });
});

describe("a payout without a fee rate", () => {
  const waiting = (over: Partial<PayoutView> = {}) =>
    sent({
      state: "QUEUED",
      versions: [],
      btcTxId: null,
      waitCause: "NO_ESTIMATE",
      waitsFor: telling("the Bitcoin backend has no estimate of the network's fee rate"),
      canBump: {
        possible: false,
        whyNot: telling("the payout is QUEUED: no transaction was signed for it yet"),
      },
      canSend: possible,
      ...over,
    });

  test("is sent at a rate of staff's own, whose fee is said before", async () => {
    host.reply("showPayout", waiting());
    host.reply("estimateSend", sendEstimate());
    host.reply("sendPayout", { ...sent(), transaction: version({ feeRate: "7.00" }), refusal: null });
    const dialog = await asks(/^Send it at your own fee rate/);
    await fireEvent.input(within(dialog).getByRole("spinbutton"), { target: { value: "7" } });
    const act = await within(dialog).findByRole("button", {
      name: "Send it, and pay 0.00000987 BTC as the fee",
    });
    expect(dialog.textContent).toContain("0.00000987 BTC (0.64 USD), 7.00");
    await fireEvent.click(act);
    await waitFor(() =>
      expect(host.askedFor("sendPayout")).toMatchObject([{ feeRate: 7, force: false, feeAtMostSats: 987 }]),
    );
  });

  test("needs a second confirmation above the cap", async () => {
    host.reply("showPayout", waiting({ waitCause: "FEES" }));
    host.reply("estimateSend", sendEstimate({ aboveCap: true, feeRate: "250.00" }));
    const dialog = await asks(/^Send it at your own fee rate/);
    await fireEvent.input(within(dialog).getByRole("spinbutton"), { target: { value: "250" } });
    const act = (await within(dialog).findByRole("button", { name: /as the fee$/ })) as HTMLButtonElement;
    expect(act.disabled).toBe(true);
    expect((await within(dialog).findByRole("alert")).textContent).toContain(
      "highest rate that you set, 200",
    );
    await fireEvent.click(within(dialog).getByRole("checkbox", { name: "Pay it all the same" }));
    expect(act.disabled).toBe(false);
  });

  test("offers no rate while it waits for something else", async () => {
    host.reply("showPayout", waiting({ waitCause: "COINS" }));
    open(HREF);
    expect(await screen.findByRole("button", { name: /^Cancel payout/ })).toBeTruthy();
    expect(screen.queryByRole("button", { name: /^Send it at your own fee rate/ })).toBeNull();
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
    expect(dialog.textContent).toContain("a fee of 0.00000410 BTC");
    expect(dialog.textContent).toContain("0.00005000 BTC");
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
