import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { tick } from "svelte";
import { describe, expect, test } from "vitest";
import { ADDRESS, anomaly, estimate, limits, payout, status, telling } from "./fixture";
import { host, open } from "./panel";

describe("the list of payouts", () => {
  test("explains an empty list", async () => {
    open("#/payouts");
    expect(await screen.findByText("No payouts yet")).toBeTruthy();
    expect(screen.getByRole("link", { name: "Create payout" }).getAttribute("href")).toBe(
      "#/test/new-payout",
    );
  });

  test("says why an approved payout waits, with local times", async () => {
    const row = payout({
      state: "QUEUED",
      waitsFor: telling("it is sent at about 2026-01-12T12:07:00Z"),
    });
    host.reply("listPayouts", { items: [row], itemsCount: 1 });
    open("#/payouts");
    const why = await screen.findByText(/It is sent at about /);
    expect(why.textContent).not.toContain("T12:07:00Z");
  });

  test("is searched and filtered by the gateway", async () => {
    open("#/payouts");
    await fireEvent.input(await screen.findByRole("searchbox"), { target: { value: " abc " } });
    await fireEvent.change(screen.getByRole("combobox", { name: "State" }), { target: { value: "FAILED" } });
    await waitFor(() =>
      expect(host.askedFor("listPayouts").at(-1)).toMatchObject({
        search: "abc",
        states: ["FAILED"],
        offset: 0,
      }),
    );
    expect(await screen.findByText("No payout matches")).toBeTruthy();
  });

  test("opens a new payout at the key n", async () => {
    open("#/payouts");
    await screen.findByText("No payouts yet");
    await fireEvent.keyDown(window, { key: "n" });
    await waitFor(() => expect(location.hash).toBe("#/test/new-payout"));
  });

  test("counts shops' waiting offers beside the screen's name", async () => {
    host.reply("status", { ...status, offersWaiting: 2 });
    open("#/payments");
    expect(await screen.findByRole("link", { name: "Payouts 2 to approve" })).toBeTruthy();
  });

  test("shows no row before the limit above it, so that no row moves", async () => {
    host.reply("listPayouts", { items: [payout()], itemsCount: 1 });
    let answer: (limit: typeof limits) => void = () => undefined;
    host.reply("showLimits", () => new Promise<typeof limits>((resolve) => (answer = resolve)));
    open("#/payouts");
    await waitFor(() => expect(host.askedFor("listPayouts")).toHaveLength(1));
    expect(await screen.findByText("Reading…")).toBeTruthy();
    expect(screen.queryByRole("meter")).toBeNull();
    expect(screen.queryByText("$642.10")).toBeNull();
    answer(limits);
    expect(await screen.findByText("$642.10")).toBeTruthy();
    expect(screen.getByRole("meter")).toBeTruthy();
  });

  test("shows the waiting offers after a click on a notification", async () => {
    open("#/keys");
    await screen.findByText("Test environment");
    host.emit("screen", "test/payouts");
    await waitFor(() => expect(host.askedFor("listPayouts").at(-1)).toMatchObject({ states: ["NEW"] }));
  });
});

describe("the limit", () => {
  test("is shown as a bar and in figures", async () => {
    open("#/payouts");
    const bar = await screen.findByRole("meter");
    expect(bar.getAttribute("max")).toBe(String(limits.daily.sats));
    expect(bar.getAttribute("value")).toBe(String(limits.used.sats));
    expect(screen.getByText("0.75000000")).toBeTruthy();
  });

  test("is changed only in a dialog that explains it", async () => {
    host.reply("setLimits", { ...limits, daily: { sats: 5, text: "2.00000000", shown: "2.00000000" } });
    open("#/payouts");
    await fireEvent.click(await screen.findByRole("button", { name: "Change…" }));
    const dialog = await screen.findByRole("dialog");
    expect(dialog.textContent).toMatch(/thief\s+can\s+take\s+this\s+sum\s+each\s+day/);
    await fireEvent.input(within(dialog).getByLabelText("Daily limit in BTC"), { target: { value: "2" } });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Change the limits" }));
    await waitFor(() =>
      expect(host.askedFor("setLimits")).toMatchObject([{ dailyBtc: "2", minimumBtc: "0.00010000" }]),
    );
  });
});

describe("an invalid limit", () => {
  test("is refused at its field, under the field's label", async () => {
    const message =
      "minPayoutBtc must be a sum in Bitcoin from 0.00000546 to 21000000, like 0.0001, not above dailyLimitBtc unless that is 0";
    host.reply("setLimits", { errorType: "VALIDATION_FAILED", message, field: "minimumBtc" });
    open("#/payouts");
    await fireEvent.click(await screen.findByRole("button", { name: "Change…" }));
    const dialog = await screen.findByRole("dialog");
    const input = within(dialog).getByLabelText("Minimum in BTC");
    await fireEvent.input(input, { target: { value: "little" } });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Change the limits" }));
    await waitFor(() => expect(input.getAttribute("aria-invalid")).toBe("true"));
    expect(dialog.textContent).toContain("Minimum in BTC: write a number");
    expect(within(dialog).queryByRole("alert")).toBeNull();
  });
});

describe("limits that allow no payout", () => {
  test("are refused with the labels of both fields", async () => {
    const message =
      "minPayoutBtc may not be above dailyLimitBtc, and would be 0.5 above 0.02, so that no payout could be made; lower the one or raise the other";
    host.reply("setLimits", { errorType: "VALIDATION_FAILED", message, field: "minimumBtc" });
    open("#/payouts");
    await fireEvent.click(await screen.findByRole("button", { name: "Change…" }));
    const dialog = await screen.findByRole("dialog");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Change the limits" }));
    const told = await within(dialog).findByText(/may not be above/);
    expect(told.textContent).toContain("Minimum in BTC may not be above “Daily limit in BTC”");
    expect(told.textContent).toContain("0.5 above 0.02");
  });
});

describe("a sender that does not send", () => {
  test("links to the page that continues a stopped look", async () => {
    const stopped = {
      senderHold: telling("its look was stopped"),
      senderHoldCause: "RESTORE_STOPPED" as const,
    };
    host.reply("status", { ...status, ...stopped });
    open("#/payouts");
    const links = await screen.findAllByRole<HTMLAnchorElement>("link", { name: "Let it go on" });
    expect(links.map((link) => link.hash)).toEqual(["#/test/wallet", "#/test/wallet"]);
    expect(screen.queryByText(/by itself/)).toBeNull();
  });

  test("explains a locked keyring without a command", async () => {
    const senderWaitsFor = telling("the wallet's words are missing", "WAITS_NO_WORDS", {
      place: "the OS keyring",
    });
    host.reply("status", { ...status, payoutsQueued: 1, senderWaitsFor, senderWaitCause: "KEYRING" });
    open("#/payouts");
    expect(await screen.findByText(/cannot be read from the OS keyring/)).toBeTruthy();
    expect(screen.getByText(/words are not in the OS keyring/).closest("details")?.open).toBe(false);
  });

  test("has no button to ask again while it waits for coins", async () => {
    host.reply("status", {
      ...status,
      senderWaitsFor: telling("the coins come to 1 BTC"),
      senderWaitCause: "COINS" as const,
    });
    open("#/payouts");
    expect(await screen.findByText("A payout waits for coins")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Ask again now" })).toBeNull();
  });

  test("explains high fees without a command", async () => {
    host.reply("status", {
      ...status,
      senderWaitsFor: telling("the network asks for 300 sat/vB now"),
      senderWaitCause: "FEES" as const,
    });
    open("#/payouts");
    const note = (await screen.findByText("Approved payouts wait")).closest("section");
    expect(note?.textContent).toContain("once the network asks for less");
    expect(note?.textContent).not.toContain("tillgate ");
  });

  test("shows its hold, and is released only after a confirmation", async () => {
    host.reply("status", {
      ...status,
      senderHold: telling("another copy of this wallet spent coins"),
      payoutsQueued: 2,
    });
    host.reply("releaseSender", { released: true, serving: true, payoutsQueued: 2 });
    open("#/payouts");
    const note = (await screen.findByText("Nothing is paid out until you let payouts go on")).closest(
      "section",
    );
    expect(note?.textContent).toContain("Another copy of this wallet spent coins.");
    expect(note?.textContent).toContain("2 approved payouts wait");
    await fireEvent.click(screen.getByRole("button", { name: "Let payouts go on…" }));
    expect(host.askedFor("releaseSender")).toHaveLength(0);
    const dialog = await screen.findByRole("dialog");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Let payouts go on" }));
    const read = {
      command: "releaseSender",
      reason: "another copy of this wallet spent coins",
      force: false,
    };
    await waitFor(() => expect(host.askedFor("releaseSender")).toEqual([read]));
    // The button is gone with the hold, so the page's heading gets the focus.
    await waitFor(() => expect(document.activeElement?.tagName).toBe("H1"));
  });

  test("needs a second confirmation if the mempool shows a transaction", async () => {
    host.reply("status", {
      ...status,
      senderHold: telling("another copy of this wallet made transaction ab"),
    });
    host.reply("releaseSender", () => {
      throw { errorType: "TWIN_IN_MEMPOOL", message: "transaction ab is in the mempool", field: null };
    });
    open("#/payouts");
    await fireEvent.click(await screen.findByRole("button", { name: "Let payouts go on…" }));
    const dialog = await screen.findByRole("dialog");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Let payouts go on" }));
    await fireEvent.click(await within(dialog).findByRole("checkbox"));
    host.reply("releaseSender", { released: true, serving: true, payoutsQueued: 0 });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Let payouts go on" }));
    await waitFor(() => expect(host.askedFor("releaseSender").at(-1)).toMatchObject({ force: true }));
  });

  test("of a restored copy lists the payouts that could be paid twice", async () => {
    const senderHold = telling("the wallet was restored from a backup; 1 approved payout waits");
    host.reply("status", {
      ...status,
      senderHold,
      senderHoldCause: "HOLD_RESTORED" as const,
      payoutsQueued: 1,
    });
    const waits = payout({ state: "QUEUED", approvalTime: "2026-01-12T12:07:00Z" });
    host.reply("listPayouts", { items: [waits], itemsCount: 1 });
    host.reply("showPayout", waits);
    open("#/payouts");
    const note = (
      await screen.findByText("Nothing is paid out until you have compared the waiting payouts")
    ).closest("section") as HTMLElement;
    expect(await within(note).findByText("0.01000000 BTC")).toBeTruthy();
    const link = within(note).getByTitle<HTMLAnchorElement>(waits.address);
    expect(link.hash).toBe(`#/test/payout/${waits.payoutId}`);
    await fireEvent.click(within(note).getByRole("button", { name: "Cancel payout…" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Cancel payout" }));
    await waitFor(() => expect(host.askedFor("abandonPayout")).toHaveLength(1));

    await fireEvent.click(await screen.findByRole("button", { name: "Let payouts go on…" }));
    const dialog = await screen.findByRole("dialog", { name: "Let payouts go on?" });
    expect(dialog.textContent).toContain("0.01000000 BTC");
    expect(dialog.textContent).toMatch(/paid in another way, after this copy was saved is paid\s+again/);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Let payouts go on" }));
    const read = { command: "releaseSender", reason: senderHold.message, force: false };
    await waitFor(() => expect(host.askedFor("releaseSender")).toEqual([read]));
  });

  test("of a restored copy can be released despite a transaction", async () => {
    const senderHold = telling("the wallet was restored from a backup");
    host.reply("status", { ...status, senderHold, senderHoldCause: "HOLD_RESTORED" as const });
    host.reply("releaseSender", () => {
      throw { errorType: "TWIN_IN_MEMPOOL", message: "transaction ab is in the mempool", field: null };
    });
    open("#/payouts");
    const go = await screen.findByRole("button", { name: "Let payouts go on…" });
    await waitFor(() => expect((go as HTMLButtonElement).disabled).toBe(false));
    await fireEvent.click(go);
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.queryByRole("checkbox")).toBeNull();
    await fireEvent.click(dialog.getByRole("button", { name: "Let payouts go on" }));
    await fireEvent.click(await dialog.findByRole("checkbox", { name: /without waiting/ }));
    host.reply("releaseSender", { released: true, serving: true, payoutsQueued: 0 });
    await fireEvent.click(dialog.getByRole("button", { name: "Let payouts go on" }));
    await waitFor(() =>
      expect(host.askedFor("releaseSender")).toMatchObject([{ force: false }, { force: true }]),
    );
  });

  test("of a restored copy is not released if its list is unreadable", async () => {
    const senderHold = telling("the wallet was restored from a backup; 1 approved payout waits");
    host.reply("status", { ...status, senderHold, senderHoldCause: "HOLD_RESTORED" as const });
    host.reply("listPayouts", () => {
      throw { errorType: "BUSY", message: "the database is busy", field: null };
    });
    open("#/payouts");
    expect(await screen.findByText("The waiting payouts could not be read.")).toBeTruthy();
    expect(screen.queryByText(/No approved payout waits here/)).toBeNull();
    const go = screen.getByRole("button", { name: "Let payouts go on…" }) as HTMLButtonElement;
    expect(go.disabled).toBe(true);
  });

  test.each([
    [
      "a transaction that was not made here spends coins of this wallet: another copy of the wallet works (ab)",
      "Payouts are on hold: a transaction that was not made here spends coins of this wallet.",
    ],
    [
      "the wallet was restored from a backup; 1 approved payout waits that the other copy may have cancelled (cd)",
      "Payouts are on hold: the wallet was restored from a backup.",
    ],
  ])("is shown as on hold on every screen, with the reason: %s", async (hold, told) => {
    host.reply("status", { ...status, senderHold: telling(hold), senderHoldCause: "HOLD" as const });
    open("#/keys");
    const banner = await screen.findByText(/Payouts are on hold/);
    expect(banner.textContent).toBe(`${told} See what to do`);
  });

  test("asks a locked keyring again at once", async () => {
    host.reply("status", {
      ...status,
      senderWaitsFor: telling("the keyring is locked: unlock it"),
      senderWaitCause: "KEYRING" as const,
    });
    host.reply("retrySender", { released: false, serving: true, payoutsQueued: 1 });
    open("#/payouts");
    expect(await screen.findByText("The keyring is locked: unlock it.")).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "Ask again now" }));
    await waitFor(() => expect(host.askedFor("retrySender")).toHaveLength(1));
  });
});

describe("a refund", () => {
  test("calls an address valid only after an answer about it", async () => {
    const answered: (() => void)[] = [];
    host.reply("listAnomalies", { items: [anomaly()], itemsCount: 1 });
    host.reply("estimatePayout", async ({ address }: { address: string | null }) => {
      if (address !== null) await new Promise<void>((answer) => answered.push(answer));
      return estimate({ addressProblem: address === null ? null : telling("is no address") });
    });
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: "Refund…" }));
    const dialog = within(await screen.findByRole("dialog"));
    await fireEvent.input(dialog.getByLabelText("The customer's address"), { target: { value: "nonsense" } });
    await waitFor(() => expect(answered).toHaveLength(1));
    await tick();
    expect(dialog.queryByText("A valid address.")).toBeNull();
    answered[0]?.();
    expect(await dialog.findByText(/is no address/i)).toBeTruthy();
  });

  test("returns all coins of the anomaly to a checked address", async () => {
    host.reply("listAnomalies", { items: [anomaly()], itemsCount: 1 });
    host.reply("estimatePayout", estimate({ amount: anomaly().paid }));
    host.reply("refundAnomaly", payout());
    host.reply("showPayout", payout());
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: "Refund…" }));
    const dialog = await screen.findByRole("dialog", {
      name: "Refund 7,787 sat for order-7?",
    });
    await fireEvent.input(within(dialog).getByLabelText("The customer's address"), {
      target: { value: ADDRESS },
    });
    expect(await within(dialog).findByText("A valid address.")).toBeTruthy();
    await fireEvent.click(within(dialog).getByRole("checkbox"));
    await fireEvent.click(within(dialog).getByRole("button", { name: "Send refund" }));
    await waitFor(() =>
      expect(host.askedFor("refundAnomaly")).toMatchObject([
        { anomalyId: "a".repeat(40), address: ADDRESS, approve: true },
      ]),
    );
  });

  test("that another copy made is repeated only after a confirmation", async () => {
    host.reply("listAnomalies", { items: [anomaly()], itemsCount: 1 });
    host.reply("estimatePayout", estimate());
    host.reply("refundAnomaly", {
      errorType: "PAYOUT_PAID_BEFORE",
      message: "another copy paid it: dismiss the anomaly, or confirm that the sum is to be sent again",
      field: "althoughPaid",
    });
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: "Refund…" }));
    const dialog = within(await screen.findByRole("dialog"));
    await fireEvent.input(dialog.getByLabelText("The customer's address"), { target: { value: ADDRESS } });
    expect(await dialog.findByText("A valid address.")).toBeTruthy();
    expect(dialog.queryByRole("checkbox", { name: /again/ })).toBeNull();
    await fireEvent.click(dialog.getByRole("button", { name: "Review refund" }));
    expect(await dialog.findByText(/is to be sent again/)).toBeTruthy();
    host.reply("refundAnomaly", payout());
    host.reply("showPayout", payout());
    await fireEvent.click(dialog.getByRole("checkbox", { name: /again/ }));
    await fireEvent.click(dialog.getByRole("button", { name: "Review refund" }));
    await waitFor(() =>
      expect(host.askedFor("refundAnomaly")).toMatchObject([{ althoughPaid: false }, { althoughPaid: true }]),
    );
  });

  test("is not offered for coins that the network took back", async () => {
    host.reply("listAnomalies", { items: [anomaly({ anomalyType: "REVERSED_PAYMENT" })], itemsCount: 1 });
    open("#/anomalies");
    await screen.findByRole("button", { name: "Dismiss…" });
    expect(screen.queryByRole("button", { name: "Refund…" })).toBeNull();
  });

  test("and its anomaly are linked both ways", async () => {
    const refunded = anomaly({ resolution: "REFUNDED", payoutId: "b".repeat(40) });
    host.reply("listAnomalies", { items: [refunded], itemsCount: 1 });
    open("#/anomalies");
    expect((await screen.findByRole("link", { name: "Refunded by this payout" })).getAttribute("href")).toBe(
      `#/test/payout/${"b".repeat(40)}`,
    );
  });
});

describe("a hold by another copy", () => {
  const txid = "c".repeat(64);
  const twin = {
    txid,
    time: "2026-01-12T12:00:00Z",
    paid: [{ amount: { sats: 5000, text: "0.00005000", shown: "0.00005000" }, address: ADDRESS }],
  };

  test("shows its transactions in the table only, and other reasons in words", async () => {
    const other = "another copy of this wallet is in use: it gave a customer the address of index 7";
    host.reply("status", {
      ...status,
      senderHold: telling("both", "HOLD_REASON_BOTH", {
        first: telling("it made a transaction", "COPY_IN_USE_PAID", { txid, at: "", paid: "" }),
        next: telling(other),
      }),
      senderHoldCause: "HOLD" as const,
      senderHoldTransactions: [twin],
      senderHoldTransactionsCount: 1,
    });
    open("#/payouts");
    const title = await screen.findByText("Nothing is paid out until you let payouts go on");
    const note = title.closest("section") as HTMLElement;
    expect(within(note).getByText(/it made the transactions below/).textContent).toContain("index 7");
    expect(note.textContent).not.toContain(txid);
    expect(note.querySelectorAll("tbody tr")).toHaveLength(1);
  });

  test("after a restore says once to stop the old machine", async () => {
    host.reply("status", {
      ...status,
      senderHold: telling("1 transaction was made after this backup"),
      senderHoldCause: "HOLD_RESTORED" as const,
    });
    open("#/payouts");
    await screen.findByText("No approved payout waits here, so there is none to compare.");
    expect(document.querySelector("main")?.textContent.match(/stop it first/g)).toHaveLength(1);
  });
});
