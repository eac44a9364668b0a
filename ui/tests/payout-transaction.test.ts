import type { PayoutView } from "../src/lib/bindings";
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { bumpEstimate, sendEstimate, telling } from "./fixture";
import { host, open } from "./panel";
import { HREF, asks, possible, sent, version } from "./sent-payout";

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
    await waitFor(() => expect(dialog.textContent).toContain("564 sat ($0.37), 4.00 sat/vB"));
    host.reply(
      "estimateBump",
      bumpEstimate({ fee: { sats: 1692, text: "0.00001692", shown: "0.00001692" }, feeRate: "12.00" }),
    );
    await fireEvent.click(within(dialog).getByRole("radio", { name: /A rate of your own/ }));
    await fireEvent.input(within(dialog).getByRole("spinbutton"), { target: { value: "12" } });
    await fireEvent.click(await within(dialog).findByRole("button", { name: "Pay 1,692 sat as the fee" }));
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
      name: "Send it, and pay 987 sat as the fee",
    });
    expect(dialog.textContent).toContain("987 sat ($0.64), 7.00");
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
