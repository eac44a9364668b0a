import { fireEvent, screen, waitFor } from "@testing-library/svelte";
import { beforeEach, describe, expect, test } from "vitest";
import { ADDRESS, estimate, payout, telling } from "./fixture";
import { host, open } from "./panel";

async function types(label: string, value: string) {
  await fireEvent.input(await screen.findByLabelText(label), { target: { value } });
}

describe("a new payout", () => {
  test("has its address checked at a pause in typing, not at each key", async () => {
    host.reply(
      "estimatePayout",
      estimate({ addressProblem: telling("has a typing error", "ADDRESS_REFUSAL_CHECKSUM", {}, "address") }),
    );
    open("#/new-payout");
    await types("Address", "bcrt1");
    await types("Address", "bcrt1qw");
    await types("Address", "bcrt1qwx");
    expect(await screen.findByText(/^Address has a typing error/)).toBeTruthy();
    const asked = host.askedFor("estimatePayout").map((one) => "address" in one && one.address);
    expect(asked.filter((address) => address !== null)).toEqual(["bcrt1qwx"]);
    expect((screen.getByRole("button", { name: "Review payout" }) as HTMLButtonElement).disabled).toBe(true);
  });

  test("can be offered after a refused address is corrected", async () => {
    host.reply("estimatePayout", estimate());
    host.reply("requestPayout", () => {
      throw { errorType: "INVALID_REQUEST", message: "address has a typing error", field: "address" };
    });
    open("#/new-payout");
    await types("Address", "bcrt1q");
    await types("Amount", "0.01");
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    expect(await screen.findByText("Address has a typing error")).toBeTruthy();
    await types("Address", ADDRESS);
    await waitFor(() => expect(screen.queryByText("Address has a typing error")).toBeNull());
    const button = screen.getByRole("button", { name: "Review payout" }) as HTMLButtonElement;
    expect(button.disabled).toBe(false);
  });

  test("marks an empty field until it is filled in", async () => {
    host.reply("estimatePayout", estimate());
    open("#/new-payout");
    await types("Address", ADDRESS);
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    expect(await screen.findByText("This must be filled in")).toBeTruthy();
    expect(host.askedFor("requestPayout")).toHaveLength(0);
    await types("Amount", "0.01");
    expect(screen.queryByText("This must be filled in")).toBeNull();
  });

  test("no longer marks an empty field after a button fills it", async () => {
    host.reply("estimatePayout", estimate());
    open("#/new-payout");
    await types("Address", ADDRESS);
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    expect(await screen.findByText("This must be filled in")).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "Enter the largest amount" }));
    await waitFor(() => expect(screen.queryByText("This must be filled in")).toBeNull());
    expect(screen.getByLabelText("Amount").getAttribute("aria-invalid")).toBe("false");
  });

  test("asks for a number, with a point or a comma", async () => {
    const amountProblem = telling("must be a decimal number", "AMOUNT_NOT_A_NUMBER", {}, "btcAmount");
    host.reply("estimatePayout", estimate({ amountProblem }));
    open("#/new-payout");
    await types("Amount", "some");
    expect(await screen.findByText("Amount: write a number, like 10.00 or 10,00")).toBeTruthy();
  });

  test("above the daily limit names its reset and its page", async () => {
    const amountProblem = telling("Payout above daily limit", "LIMIT_REFUSAL_ABOVE_DAILY_LIMIT", {
      availableSats: { sum: "0.00300000" },
      until: { time: "2026-01-13T00:00:00Z" },
    });
    host.reply("estimatePayout", estimate({ amountProblem, balanceShort: true }));
    open("#/new-payout");
    await types("Amount", "2");
    const told = (await screen.findByText(/Payout above daily limit/)).textContent;
    expect(told).toContain("Ask for less, wait, or have the limit raised");
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

  test("to an address that another copy paid is confirmed before", async () => {
    const paidByCopy = { btcTxId: "d".repeat(64), amount: payout().amount, time: "2026-01-11T10:00:00Z" };
    host.reply("estimatePayout", estimate({ paidByCopy }));
    host.reply("requestPayout", payout());
    host.reply("showPayout", payout());
    open("#/new-payout");
    await types("Address", ADDRESS);
    await types("Amount", "0.02");
    const warning = (await screen.findByText(/Another copy of this wallet paid this address/)).textContent;
    expect(warning).toContain("0.01000000 BTC");
    expect(warning).toContain(paidByCopy.btcTxId);
    await fireEvent.click(await screen.findByRole("checkbox", { name: /^Pay 0.02 BTC again/ }));
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    await waitFor(() => expect(host.askedFor("requestPayout")).toMatchObject([{ again: true }]));
  });

  test("points out an open anomaly of the same amount", async () => {
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

  test("fills in everything that the gateway can pay out", async () => {
    host.reply("estimatePayout", estimate());
    open("#/new-payout");
    await fireEvent.click(await screen.findByRole("button", { name: "Enter the largest amount" }));
    expect((screen.getByLabelText("Amount") as HTMLInputElement).value).toBe("0.99999718");
  });

  test("says the least and the most that can be paid out", async () => {
    host.reply("estimatePayout", estimate());
    open("#/new-payout");
    const told = (await screen.findByText(/At most/)).textContent?.replace(/\s+/g, " ");
    expect(told).toContain("At most 0.99999718 BTC can be paid out now");
    await waitFor(() => expect(screen.getByText(/The minimum is/).textContent).toContain("0.00010000 BTC"));
  });

  test("shows rate, fee and total, and a lack of coins", async () => {
    host.reply("estimatePayout", estimate({ balanceShort: true }));
    open("#/new-payout");
    const card = (await screen.findByText("Sums")).closest("section");
    await waitFor(() => expect(card?.textContent).toContain("0.01000282 BTC"));
    expect(card?.textContent).toContain("64,210.55");
    expect(card?.textContent).toContain("too few");
  });

  test("in a currency becomes an offer without approval", async () => {
    host.reply("estimatePayout", estimate());
    host.reply("requestPayout", payout());
    host.reply("showPayout", payout());
    open("#/new-payout");
    await types("Address", ` ${ADDRESS} `);
    await types("Amount", "100,00");
    await fireEvent.change(screen.getByLabelText("Amount in"), { target: { value: "EUR" } });
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    await waitFor(() => expect(location.hash).toBe(`#/test/payout/${"b".repeat(40)}`));
    // The clicked button is gone, so the offer's heading gets the focus.
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

  test("is paid again after its amount and unit are confirmed", async () => {
    await types("Address", ADDRESS);
    await types("Amount", "0.01");
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    await fireEvent.click(await again("Pay 0.01 BTC again. The other payment was for something else."));
    host.reply("requestPayout", payout());
    host.reply("showPayout", payout());
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    await waitFor(() =>
      expect(host.askedFor("requestPayout")).toMatchObject([{ again: false }, { again: true }]),
    );
  });

  test("needs another confirmation in another unit", async () => {
    await types("Address", ADDRESS);
    await types("Amount", "1");
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    await fireEvent.click(await again("Pay 1 BTC again. The other payment was for something else."));
    await fireEvent.change(screen.getByLabelText("Amount in"), { target: { value: "EUR" } });
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    await waitFor(() =>
      expect(host.askedFor("requestPayout")).toMatchObject([{ again: false }, { again: false }]),
    );
    expect((await again("Pay 1 EUR again. The other payment was for something else.")).checked).toBe(false);
  });

  test("asks for a confirmation of the refused request only", async () => {
    await types("Address", ADDRESS);
    await types("Amount", "1");
    await fireEvent.click(screen.getByRole("button", { name: "Review payout" }));
    await screen.findByRole("checkbox");
    // The address decides alone.
    await types("Amount", "2");
    expect(await again("Pay 2 BTC again. The other payment was for something else.")).toBeTruthy();
    await types("Address", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx");
    await waitFor(() => expect(screen.queryByRole("checkbox")).toBeNull());
    expect(screen.queryByText(/confirm that it is paid again/)).toBeNull();
  });
});

describe("a payout of everything", () => {
  test("says before that its fee cannot be raised", async () => {
    host.reply("estimatePayout", estimate({ takesAllCoins: true }));
    open("#/new-payout");
    expect(await screen.findByText(/You cannot raise its fee later/)).toBeTruthy();
  });

  test("says so again when it is approved", async () => {
    host.reply("showPayout", payout({ takesAllCoins: true }));
    open(`#/payout/${"b".repeat(40)}`);
    await fireEvent.click(await screen.findByRole("button", { name: "Approve…" }));
    expect((await screen.findByRole("dialog")).textContent).toContain("You cannot raise its fee later");
  });
});
