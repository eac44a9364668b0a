import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ADDRESS, anomaly, estimate, payout, status, telling } from "./fixture";
import { host, open } from "./panel";
import { HREF, asks } from "./sent-payout";

const GROUPS = "bcrt 1qw5 08d6 qejx tdg4 y5r3 zarv ary0 c5xw 7kyg t080".split(" ");

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
      "$642.10",
      "0.00000282 BTC",
      "0.01000282 BTC",
      "$642.29",
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
