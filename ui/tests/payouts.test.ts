import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { beforeEach, describe, expect, test } from "vitest";
import { ADDRESS, anomaly, estimate, limits, payout, status } from "./fixture";
import { host, open } from "./panel";

describe("the list of payouts", () => {
  test("teaches where there are none", async () => {
    open("#/payouts");
    expect(await screen.findByText("No payouts yet")).toBeTruthy();
    expect(screen.getByRole("link", { name: "Make a payout" }).getAttribute("href")).toBe(
      "#/test/new-payout",
    );
  });

  test("says why an approved one waits, with times as people read them", async () => {
    const row = payout({
      state: "QUEUED",
      waitsFor: "it is sent at about 2026-01-12T12:07:00Z",
    });
    host.reply("listPayouts", { items: [row], itemsCount: 1 });
    open("#/payouts");
    const why = await screen.findByText(/It is sent at about /);
    expect(why.textContent).not.toContain("T12:07:00Z");
  });

  test("is searched and narrowed by the gateway", async () => {
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

  test("n begins a payout and / searches payouts where payouts are shown", async () => {
    open("#/payouts");
    await screen.findByText("No payouts yet");
    await fireEvent.keyDown(window, { key: "n" });
    await waitFor(() => expect(location.hash).toBe("#/test/new-payout"));
  });

  test("shops' offers that wait are counted beside the screen's name", async () => {
    host.reply("status", { ...status, offersWaiting: 2 });
    open("#/payments");
    expect(await screen.findByLabelText("2 wait for approval")).toBeTruthy();
  });

  test("a click on the desktop's notification shows what waits for approval", async () => {
    open("#/keys");
    await screen.findByText("Test environment");
    host.emit("offers");
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

  test("is changed only after it was said what that means", async () => {
    host.reply("setLimits", { ...limits, daily: { sats: 5, text: "2.00000000", shown: "2.00000000" } });
    open("#/payouts");
    await fireEvent.click(await screen.findByRole("button", { name: "Change…" }));
    const dialog = await screen.findByRole("dialog");
    expect(dialog.textContent).toMatch(/thief\s+can\s+take\s+each\s+day/);
    await fireEvent.input(within(dialog).getByLabelText("At most a day, in BTC"), { target: { value: "2" } });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Change the limit" }));
    await waitFor(() =>
      expect(host.askedFor("setLimits")).toMatchObject([{ dailyBtc: "2", minimumBtc: "0.00010000" }]),
    );
  });
});

describe("a limit that cannot be", () => {
  test("is refused at its field, in the field's words", async () => {
    const message =
      "minPayoutBtc must be a sum in Bitcoin from 0.00000546 to 21000000, like 0.0001, not above dailyLimitBtc unless that is 0";
    host.reply("setLimits", { errorType: "VALIDATION_FAILED", message, field: "minimumBtc" });
    open("#/payouts");
    await fireEvent.click(await screen.findByRole("button", { name: "Change…" }));
    const dialog = await screen.findByRole("dialog");
    const input = within(dialog).getByLabelText("The least payout, in BTC");
    await fireEvent.input(input, { target: { value: "0,001" } });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Change the limit" }));
    await waitFor(() => expect(input.getAttribute("aria-invalid")).toBe("true"));
    expect(dialog.textContent).toContain("write it with a point, not a comma");
    expect(within(dialog).queryByRole("alert")).toBeNull();
  });
});

describe("limits under which no payout can be made", () => {
  test("are refused in the words of both fields", async () => {
    const message =
      "minPayoutBtc may not be above dailyLimitBtc, and would be 0.5 above 0.02, so that no payout could be made; lower the one or raise the other";
    host.reply("setLimits", { errorType: "VALIDATION_FAILED", message, field: "minimumBtc" });
    open("#/payouts");
    await fireEvent.click(await screen.findByRole("button", { name: "Change…" }));
    const dialog = await screen.findByRole("dialog");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Change the limit" }));
    const told = await within(dialog).findByText(/may not be above/);
    expect(told.textContent).toContain("The least payout, in BTC may not be above “At most a day, in BTC”");
    expect(told.textContent).toContain("0.5 above 0.02");
  });
});

describe("a sender that does not send", () => {
  test("leads to the page where a stopped look of a restored wallet goes on", async () => {
    const stopped = { senderHold: "its look was stopped", senderHoldCause: "RESTORE_STOPPED" as const };
    host.reply("status", { ...status, ...stopped });
    open("#/payouts");
    const links = await screen.findAllByRole<HTMLAnchorElement>("link", { name: "Let it go on" });
    expect(links.map((link) => link.hash)).toEqual(["#/test/wallet", "#/test/wallet"]);
    expect(screen.queryByText(/by itself/)).toBeNull();
  });

  test("says in the window's words that the keyring is locked", async () => {
    const senderWaitsFor =
      "the wallet's words are not in the OS keyring: `tillgate wallet restore` puts them back";
    host.reply("status", { ...status, payoutsQueued: 1, senderWaitsFor, senderWaitCause: "KEYRING" });
    open("#/payouts");
    expect(await screen.findByText(/cannot be read from the OS keyring/)).toBeTruthy();
    expect(screen.getByText(/tillgate wallet restore/).closest("details")?.open).toBe(false);
  });

  test("is not asked again where asking helps nothing", async () => {
    host.reply("status", {
      ...status,
      senderWaitsFor: "the coins come to 1 BTC",
      senderWaitCause: "COINS" as const,
    });
    open("#/payouts");
    expect(await screen.findByText("A payout waits for coins")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Ask again now" })).toBeNull();
  });

  test("says what can be done about fees in the panel's words", async () => {
    host.reply("status", {
      ...status,
      senderWaitsFor: "the network asks for 300 sat/vB now",
      senderWaitCause: "FEES" as const,
    });
    open("#/payouts");
    const note = (await screen.findByText("Approved payouts wait")).closest("section");
    expect(note?.textContent).toContain("once the network asks for less");
    expect(note?.textContent).not.toContain("tillgate ");
  });

  test("holds unmistakably, says what to check, and goes on only after a question", async () => {
    host.reply("status", {
      ...status,
      senderHold: "another copy of this wallet spent coins",
      payoutsQueued: 2,
    });
    host.reply("releaseSender", { released: true, serving: true, payoutsQueued: 2 });
    open("#/payouts");
    const note = (await screen.findByText("Nothing is paid out until you let it go on")).closest("section");
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
    // The button is gone with the hold: the keyboard goes on from the page's heading.
    await waitFor(() => expect(document.activeElement?.tagName).toBe("H1"));
  });

  test("is not released before a transaction of the mempool is decided, unless people say so", async () => {
    host.reply("status", { ...status, senderHold: "another copy of this wallet made transaction ab" });
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

  test("of a restored copy says which payouts would be sent again, and lets each be given up before", async () => {
    const senderHold = "the wallet was restored from a backup; 1 approved payout waits";
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
    const note = (await screen.findByText("Nothing is paid out until you have compared what waits")).closest(
      "section",
    ) as HTMLElement;
    expect(await within(note).findByText("0.01000000 BTC")).toBeTruthy();
    const link = within(note).getByTitle<HTMLAnchorElement>(waits.address);
    expect(link.hash).toBe(`#/test/payout/${waits.payoutId}`);
    await fireEvent.click(within(note).getByRole("button", { name: "Give it up…" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Give it up" }));
    await waitFor(() => expect(host.askedFor("abandonPayout")).toHaveLength(1));

    await fireEvent.click(await screen.findByRole("button", { name: "Let payouts go on…" }));
    const dialog = await screen.findByRole("dialog", { name: "Let payouts go on?" });
    expect(dialog.textContent).toContain("0.01000000 BTC");
    expect(dialog.textContent).toMatch(/paid in another way, after this copy was saved is paid\s+again/);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Let payouts go on" }));
    const read = { command: "releaseSender", reason: senderHold, force: false };
    await waitFor(() => expect(host.askedFor("releaseSender")).toEqual([read]));
  });

  test("of a restored copy is released although the mempool shows a transaction, if people say so", async () => {
    const senderHold = "the wallet was restored from a backup";
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

  test("of a restored copy lets nothing go on while nobody can read what waits", async () => {
    const senderHold = "the wallet was restored from a backup; 1 approved payout waits";
    host.reply("status", { ...status, senderHold, senderHoldCause: "HOLD_RESTORED" as const });
    host.reply("listPayouts", () => {
      throw { errorType: "BUSY", message: "the database is busy", field: null };
    });
    open("#/payouts");
    expect(await screen.findByText("What waits could not be read.")).toBeTruthy();
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
      "the wallet was restored from a backup; 1 approved payout waits that the other copy may have given up (cd)",
      "Payouts are on hold: the wallet was restored from a backup.",
    ],
  ])("is told on every screen while it holds, and what for: %s", async (senderHold, told) => {
    host.reply("status", { ...status, senderHold, senderHoldCause: "HOLD" as const });
    open("#/keys");
    const banner = await screen.findByText(/Payouts are on hold/);
    expect(banner.textContent).toBe(`${told} See what to do`);
  });

  test("asks a locked keyring again at once", async () => {
    host.reply("status", {
      ...status,
      senderWaitsFor: "the keyring is locked: unlock it",
      senderWaitCause: "KEYRING" as const,
    });
    host.reply("retrySender", { released: false, serving: true, payoutsQueued: 1 });
    open("#/payouts");
    expect(await screen.findByText("The keyring is locked: unlock it.")).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "Ask again now" }));
    await waitFor(() => expect(host.askedFor("retrySender")).toHaveLength(1));
  });
});

async function types(label: string, value: string) {
  await fireEvent.input(await screen.findByLabelText(label), { target: { value } });
}

describe("a new payout", () => {
  test("has its address checked once the typing pauses, not at each key", async () => {
    host.reply("estimatePayout", estimate({ addressProblem: "address has a typing error" }));
    open("#/new-payout");
    await types("Address", "bcrt1");
    await types("Address", "bcrt1qw");
    await types("Address", "bcrt1qwx");
    expect(await screen.findByText("Address has a typing error")).toBeTruthy();
    const asked = host.askedFor("estimatePayout").map((one) => "address" in one && one.address);
    expect(asked.filter((address) => address !== null)).toEqual(["bcrt1qwx"]);
    expect((screen.getByRole("button", { name: "Make the offer" }) as HTMLButtonElement).disabled).toBe(true);
  });

  test("an address that was refused may be mended: the error goes, and the offer can be made", async () => {
    host.reply("estimatePayout", estimate());
    host.reply("requestPayout", () => {
      throw { errorType: "INVALID_REQUEST", message: "address has a typing error", field: "address" };
    });
    open("#/new-payout");
    await types("Address", "bcrt1q");
    await types("Amount", "0.01");
    await fireEvent.click(screen.getByRole("button", { name: "Make the offer" }));
    expect(await screen.findByText("Address has a typing error")).toBeTruthy();
    await types("Address", ADDRESS);
    await waitFor(() => expect(screen.queryByText("Address has a typing error")).toBeNull());
    const button = screen.getByRole("button", { name: "Make the offer" }) as HTMLButtonElement;
    expect(button.disabled).toBe(false);
  });

  test("says of a field that stays empty that it must be filled in, until it is", async () => {
    host.reply("estimatePayout", estimate());
    open("#/new-payout");
    await types("Address", ADDRESS);
    await fireEvent.click(screen.getByRole("button", { name: "Make the offer" }));
    expect(await screen.findByText("This must be filled in")).toBeTruthy();
    expect(host.askedFor("requestPayout")).toHaveLength(0);
    await types("Amount", "0.01");
    expect(screen.queryByText("This must be filled in")).toBeNull();
  });

  test("says of a field that a button fills no longer that it is empty", async () => {
    host.reply("estimatePayout", estimate());
    open("#/new-payout");
    await types("Address", ADDRESS);
    await fireEvent.click(screen.getByRole("button", { name: "Make the offer" }));
    expect(await screen.findByText("This must be filled in")).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "Pay out everything" }));
    await waitFor(() => expect(screen.queryByText("This must be filled in")).toBeNull());
    expect(screen.getByLabelText("Amount").getAttribute("aria-invalid")).toBe("false");
  });

  test("says of an amount with a comma that it wants a point", async () => {
    const amountProblem =
      "btcAmount must be a decimal number with a point and no comma, like 10.00, or 0.001 in Bitcoin";
    host.reply("estimatePayout", estimate({ amountProblem }));
    open("#/new-payout");
    await types("Amount", "0,01");
    expect(await screen.findByText("Amount: write it with a point, not a comma")).toBeTruthy();
  });

  test("above the day's limit says until when and where that is changed, and not that it may wait for coins", async () => {
    const amountProblem =
      "Payout above daily limit: 0.00300000 BTC are left of it until 2026-01-13T00:00:00Z. Ask for less, wait, or have the limit raised (the setting dailyLimitBtc)";
    host.reply("estimatePayout", estimate({ amountProblem, balanceShort: true }));
    open("#/new-payout");
    await types("Amount", "2");
    const told = (await screen.findByText(/Payout above daily limit/)).textContent;
    expect(told).toContain("wait, or change the limit on the page “Payouts”");
    expect(told).not.toMatch(/T00:00:00Z|dailyLimitBtc/);
    expect(screen.queryByText(/too few/)).toBeNull();
  });

  test("warns of an address that was paid before", async () => {
    const before = {
      payoutId: "e".repeat(40),
      state: "SENT" as const,
      amount: payout().amount,
      time: "2026-01-11T10:00:00Z",
    };
    host.reply("estimatePayout", estimate({ paidBefore: before }));
    open("#/new-payout");
    await types("Address", ADDRESS);
    expect((await screen.findByText(/This address had a payout before/)).textContent).toContain(
      "0.01000000 BTC",
    );
  });

  test("points out an open anomaly of exactly the sum", async () => {
    const anomalyAlike = {
      anomalyId: "a".repeat(40),
      paymentId: "c".repeat(40),
      merchantTransactionId: "order-7",
    };
    host.reply("estimatePayout", estimate({ anomalyAlike }));
    open("#/new-payout");
    await types("Amount", "0.01");
    expect(await screen.findByText(/has coins of exactly this sum that wait for a decision/)).toBeTruthy();
    expect(screen.getByRole("link", { name: "order-7" }).getAttribute("href")).toContain(
      anomalyAlike.paymentId,
    );
  });

  test("everything is what the gateway says can be paid out", async () => {
    host.reply("estimatePayout", estimate());
    open("#/new-payout");
    await fireEvent.click(await screen.findByRole("button", { name: "Pay out everything" }));
    expect((screen.getByLabelText("Amount") as HTMLInputElement).value).toBe("0.99999718");
  });

  test("shows rate, fee and sum, and that the coins are too few", async () => {
    host.reply("estimatePayout", estimate({ balanceShort: true }));
    open("#/new-payout");
    const card = (await screen.findByText("What it comes to")).closest("section");
    await waitFor(() => expect(card?.textContent).toContain("0.01000282 BTC"));
    expect(card?.textContent).toContain("64,210.55");
    expect(card?.textContent).toContain("too few");
  });

  test("is asked for in a currency, and becomes an offer that nobody approved", async () => {
    host.reply("estimatePayout", estimate());
    host.reply("requestPayout", payout());
    host.reply("showPayout", payout());
    open("#/new-payout");
    await types("Address", ` ${ADDRESS} `);
    await types("Amount", "100,00");
    await fireEvent.change(screen.getByLabelText("In"), { target: { value: "EUR" } });
    await fireEvent.click(screen.getByRole("button", { name: "Make the offer" }));
    await waitFor(() => expect(location.hash).toBe(`#/test/payout/${"b".repeat(40)}`));
    // The button is gone: whoever works with the keyboard goes on with the offer, not from the window's top.
    await waitFor(() => expect(document.activeElement?.tagName).toBe("H1"));
    expect(host.askedFor("requestPayout")).toMatchObject([
      { address: ADDRESS, btcAmount: null, fiatAmount: "100,00", currency: "EUR", approve: false },
    ]);
  });
});

describe("a payout that another copy of the wallet paid already", () => {
  beforeEach(() => {
    host.reply("estimatePayout", estimate());
    host.reply("requestPayout", {
      errorType: "PAYOUT_PAID_BEFORE",
      message: "another copy of this wallet paid this amount to this address: confirm that it is paid again",
      field: "again",
    });
    open("#/new-payout");
  });
  const again = (name: string) => screen.findByRole<HTMLInputElement>("checkbox", { name });

  test("is paid again once its amount with its unit was agreed to", async () => {
    await types("Address", ADDRESS);
    await types("Amount", "0.01");
    await fireEvent.click(screen.getByRole("button", { name: "Make the offer" }));
    await fireEvent.click(await again("Pay 0.01 BTC again. The other payment was for something else."));
    host.reply("requestPayout", payout());
    host.reply("showPayout", payout());
    await fireEvent.click(screen.getByRole("button", { name: "Make the offer" }));
    await waitFor(() =>
      expect(host.askedFor("requestPayout")).toMatchObject([{ again: false }, { again: true }]),
    );
  });

  test("in another unit needs another agreement", async () => {
    await types("Address", ADDRESS);
    await types("Amount", "1");
    await fireEvent.click(screen.getByRole("button", { name: "Make the offer" }));
    await fireEvent.click(await again("Pay 1 BTC again. The other payment was for something else."));
    await fireEvent.change(screen.getByLabelText("In"), { target: { value: "EUR" } });
    await fireEvent.click(screen.getByRole("button", { name: "Make the offer" }));
    await waitFor(() =>
      expect(host.askedFor("requestPayout")).toMatchObject([{ again: false }, { again: false }]),
    );
    expect((await again("Pay 1 EUR again. The other payment was for something else.")).checked).toBe(false);
  });

  test("is asked about for the refused request alone", async () => {
    await types("Address", ADDRESS);
    await types("Amount", "1");
    await fireEvent.click(screen.getByRole("button", { name: "Make the offer" }));
    await screen.findByRole("checkbox");
    await types("Amount", "2");
    await waitFor(() => expect(screen.queryByRole("checkbox")).toBeNull());
    expect(screen.queryByText(/confirm that it is paid again/)).toBeNull();
  });
});

describe("a refund", () => {
  test("gives all coins of the anomaly back, to an address that was checked", async () => {
    host.reply("listAnomalies", { items: [anomaly()], itemsCount: 1 });
    host.reply("estimatePayout", estimate({ amount: anomaly().paid }));
    host.reply("refundAnomaly", payout());
    host.reply("showPayout", payout());
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: "Refund…" }));
    const dialog = await screen.findByRole("dialog", {
      name: "Refund 0.00007787 BTC for order-7 (10.00 USD)?",
    });
    await fireEvent.input(within(dialog).getByLabelText("The customer's address"), {
      target: { value: ADDRESS },
    });
    expect(await within(dialog).findByText("A valid address.")).toBeTruthy();
    await fireEvent.click(within(dialog).getByRole("checkbox"));
    await fireEvent.click(within(dialog).getByRole("button", { name: "Refund and approve" }));
    await waitFor(() =>
      expect(host.askedFor("refundAnomaly")).toMatchObject([
        { anomalyId: "a".repeat(40), address: ADDRESS, approve: true },
      ]),
    );
  });

  test("that another copy of the wallet made is made again only where a person says so", async () => {
    host.reply("listAnomalies", { items: [anomaly()], itemsCount: 1 });
    host.reply("estimatePayout", estimate());
    host.reply("refundAnomaly", {
      errorType: "REFUND_PAID_BEFORE",
      message: "another copy paid it: dismiss the anomaly, or confirm that the sum is to be sent again",
      field: "althoughPaid",
    });
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: "Refund…" }));
    const dialog = within(await screen.findByRole("dialog"));
    await fireEvent.input(dialog.getByLabelText("The customer's address"), { target: { value: ADDRESS } });
    expect(await dialog.findByText("A valid address.")).toBeTruthy();
    expect(dialog.queryByRole("checkbox", { name: /again/ })).toBeNull();
    await fireEvent.click(dialog.getByRole("button", { name: "Make the offer" }));
    expect(await dialog.findByText(/is to be sent again/)).toBeTruthy();
    host.reply("refundAnomaly", payout());
    host.reply("showPayout", payout());
    await fireEvent.click(dialog.getByRole("checkbox", { name: /again/ }));
    await fireEvent.click(dialog.getByRole("button", { name: "Make the offer" }));
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
