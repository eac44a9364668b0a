import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { payment, production, status, withoutServer, telling } from "./fixture";
import { host, open } from "./panel";

describe("the window", () => {
  test("says in its footer which shop's server fails", async () => {
    host.reply("status", { ...status, failingNotifications: 2, failingServers: ["shop.example"] });
    open("#/payments");
    expect(await screen.findByText("2 notifications fail: shop.example")).toBeTruthy();
  });

  test("says that all is good, or how many things need a person, and shows its figures on a click", async () => {
    const calm = { ...status, openAnomalies: 0, currencies: ["USD"] };
    host.reply("status", calm);
    open("#/payments");
    expect(await screen.findByText("All good")).toBeTruthy();
    expect(screen.queryByText(/API http/)).toBeNull();
    await fireEvent.click(screen.getByRole("button", { name: "Details" }));
    expect(screen.getByText("API http://127.0.0.1:7421/v2")).toBeTruthy();
    host.reply("status", { ...calm, openAnomalies: 2, offersWaiting: 1 });
    host.emit("changed");
    const link = await screen.findByRole<HTMLAnchorElement>("link", { name: "3 things to do" });
    expect(link.hash).toBe("#/test/home");
  });

  test("counts a backup that was never made, as Home does", async () => {
    const calm = { ...production, openAnomalies: 0, currencies: ["USD"] };
    host.replyIn("production", "status", { ...calm, isBackedUp: false });
    open("#/production/payments");
    expect(await screen.findByRole("link", { name: "1 thing to do" })).toBeTruthy();
    expect(screen.queryByText("All good")).toBeNull();
  });

  test("claims nothing before the environment is set up", async () => {
    host.replyIn("production", "status", { ...withoutServer, hasWallet: false });
    open("#/production/home");
    const bar = await screen.findByRole("contentinfo");
    expect(bar.textContent).toContain("Not set up yet");
    expect(within(bar).queryByRole("link")).toBeNull();
  });

  test("is light or dark by choice, and the choice is kept", async () => {
    open("#/payments");
    await fireEvent.click(await screen.findByRole("button", { name: "Preferences" }));
    await fireEvent.change(screen.getByLabelText("Colours"), { target: { value: "dark" } });
    expect(document.documentElement.dataset["theme"]).toBe("dark");
    expect(localStorage.getItem("theme")).toBe("dark");
    await fireEvent.change(screen.getByLabelText("Colours"), { target: { value: "light" } });
    expect(document.documentElement.dataset["theme"]).toBe("light");
  });

  test("shows Bitcoin in BTC or in satoshis by choice", async () => {
    const amount = { sats: 1_557_400, text: "0.01557400", shown: "0.01557400" };
    host.reply("showPayment", payment({ amount }));
    open(`#/payment/${"p".repeat(40)}`);
    expect(await screen.findByText("0.01557400 BTC")).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "Preferences" }));
    await fireEvent.change(screen.getByLabelText("Unit of Bitcoin"), { target: { value: "sat" } });
    expect(screen.getByText("1,557,400 sat")).toBeTruthy();
    expect(localStorage.getItem("tillgate.unit")).toBe("sat");
    await fireEvent.change(screen.getByLabelText("Unit of Bitcoin"), { target: { value: "BTC" } });
  });

  test("says that it is the test environment", async () => {
    open("#/payments");
    expect(await screen.findByText("Test environment")).toBeTruthy();
    expect(screen.getByText("These coins are worth nothing")).toBeTruthy();
  });

  test("shows why the gateway could not open, and tries again", async () => {
    host.reply("status", {
      errorType: "GATEWAY_DOWN",
      message: "Another program runs: stop it.",
      field: null,
    });
    open("#/payments");
    expect((await screen.findByRole("alert")).textContent).toContain("Another program runs");
    await fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(host.acts).toEqual(["reopen"]);
  });

  test("hides the raw error in the details if Tillgate already runs", async () => {
    const message = "Another Tillgate serves this data directory. (the lock is held: stop that one)";
    host.reply("status", { errorType: "GATEWAY_ELSEWHERE", message, field: null });
    open("#/payments");
    expect(await screen.findByText("Tillgate is running already")).toBeTruthy();
    expect(screen.getByText(message).closest("details")?.open).toBe(false);
    expect(screen.getByRole("alert").textContent).not.toContain("stop");
  });

  test("asks before it quits", async () => {
    open("#/payments");
    await screen.findByText("Test environment");
    await fireEvent.keyDown(window, { key: "q", ctrlKey: true });
    const dialog = await screen.findByRole("dialog", { name: "Quit Tillgate?" });
    expect(host.acts).toEqual([]);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Quit Tillgate" }));
    expect(host.acts).toEqual(["quit"]);
  });

  test("explains before it hides without a tray that it keeps running", async () => {
    open("#/payments");
    await screen.findByText("Test environment");
    host.emit("no-tray");
    const dialog = await screen.findByRole("dialog", { name: "Tillgate keeps running" });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Close the window" }));
    expect(host.acts).toEqual(["hide"]);
  });

  test("warns of an unwatched chain, with the reason in the details", async () => {
    host.reply("status", { ...status, chainError: telling("database is locked") });
    open("#/payments");
    expect(await screen.findByText(/Not connected to the sandbox/)).toBeTruthy();
    expect(screen.getByText(/database is locked/i).closest("details")?.open).toBe(false);
  });

  test("links to the guide if no server is chosen, without a command", async () => {
    host.replyIn("production", "status", withoutServer);
    open("#/production/payments");
    const link = await screen.findByRole("link", { name: "Choose a server" });
    expect((link as HTMLAnchorElement).hash).toContain("/go-live");
    expect(screen.queryByText(/settings set/)).toBeNull();
  });

  test("names a silent server and links to the choice of another", async () => {
    const chainError = telling(
      "the Bitcoin backend cannot be asked: the node at 127.0.0.1:8332 does not answer",
    );
    host.replyIn("production", "status", { ...production, chainError });
    open("#/production/payments");
    expect(await screen.findByText(/Not connected to .* \(Bitcoin Core at 127.0.0.1:8332\)/)).toBeTruthy();
    const link = screen.getByRole<HTMLAnchorElement>("link", { name: "Check the connection" });
    expect(link.hash).toContain("/go-live");
    expect(screen.getByText(/does not answer/).closest("details")?.open).toBe(false);
  });

  test("says that a node which downloads the chain needs no action", async () => {
    const chainError = telling("the Bitcoin backend cannot be asked", "CHAIN_DOWN", {
      _0: telling("the node is downloading the chain", "DOWN_DOWNLOADING", {
        blocks: "12",
        headers: "900000",
      }),
    });
    host.replyIn("production", "status", { ...production, chainError });
    open("#/production/payments");
    const told =
      /The node is downloading the chain, it has block 12 of 900000. New payments show once it is done/;
    expect(await screen.findByText(told)).toBeTruthy();
    expect(screen.queryByRole("link", { name: "Check the connection" })).toBeNull();
  });

  test("names the backend and its kind of updates in the footer", async () => {
    const servers = ["127.0.0.1:8332", "10.0.0.7:8332"];
    host.replyIn("production", "status", { ...production, backend: { kind: "core", servers, zmq: null } });
    open("#/production/payments");
    await fireEvent.click(await screen.findByRole("button", { name: "Details" }));
    const block = await screen.findByText(/by Bitcoin Core/);
    expect(block.title).toBe("At 127.0.0.1:8332, then 10.0.0.7:8332; asked each second (without ZMQ)");
  });

  test("explains warnings without the commands that would fix them", async () => {
    const told = [
      ["3 were given up: `tillgate deliveries resend`", "GIVEN_UP", /3 notifications were given up/],
      ["they wait: the keyring is locked", "KEYRING", /cannot be read from the OS keyring/],
      ["the server does not report: set backendUrl", "UNREPORTED", /do not show and do not close/],
      ["nothing is heard: unset backendZmq", "ZMQ", /sends no usable notices of new payments/],
    ] as const;
    const warnings = told.map(([sentence]) => telling(sentence));
    const warningKinds = told.map(([, kind]) => kind);
    host.reply("status", { ...status, warnings, warningKinds, givenUpNotifications: 3 });
    open("#/payments");
    for (const [, , words] of told) expect(await screen.findByText(words)).toBeTruthy();
    for (const named of screen.queryAllByText(/tillgate [a-z]|backendZmq|backendUrl/)) {
      expect(named.closest("details")?.open, named.textContent).toBe(false);
    }
  });

  test("says that a restored wallet first looks through the chain", async () => {
    const hold = { senderHold: telling("it looks"), senderHoldCause: "RESTORED" as const };
    host.reply("status", { ...status, ...hold });
    open("#/payments");
    expect(await screen.findByText(/looks through the chain first/)).toBeTruthy();
    expect(screen.queryByText(/another copy of this wallet may be sending/)).toBeNull();
  });

  test("shows in the footer how far the gateway has caught up", async () => {
    const catchingUp = telling("the gateway catches up with the chain: block 500 of 2000 (25 %)");
    host.reply("status", { ...status, chainHeight: 500, catchingUp });
    open("#/payments");
    expect((await screen.findByText("Catching up")).title).toBe(
      "The gateway catches up with the chain: block 500 of 2000 (25 %)",
    );
  });

  test("shows a payout's alarm until staff confirm that it is settled", async () => {
    const payoutId = "b".repeat(40);
    const alarm = { payoutId, message: telling("payout bbbb was paid twice"), time: "2026-01-12T12:06:20Z" };
    host.reply("status", { ...status, alarms: [alarm] });
    host.reply("dismissAlarm", { alarms: [] });
    open("#/payments");
    expect((await screen.findByRole("alert")).textContent).toContain("Payout bbbb was paid twice.");
    expect(screen.getByRole("link", { name: "See the payout" }).getAttribute("href")).toContain(payoutId);
    await fireEvent.click(screen.getByRole("button", { name: "It is settled…" }));
    expect(host.askedFor("dismissAlarm")).toHaveLength(0);
    await fireEvent.click(screen.getByRole("button", { name: "It is settled" }));
    await waitFor(() => expect(host.askedFor("dismissAlarm")).toMatchObject([{ payoutId }]));
  });

  test("names each stuck payout with its remedy", async () => {
    const payoutId = "b".repeat(40);
    const stuck = {
      payoutId,
      amount: status.balance,
      address: "bcrt1qpayee",
      reason: "UNCONFIRMED" as const,
      feeRate: "2.00",
      feeRateWanted: "9.00",
      canBump: true,
      message: telling("payout bbbb was sent 7 hours ago and is in no block"),
    };
    host.reply("status", { ...status, stuck: [stuck], stuckPayouts: 3 });
    open("#/payments");
    expect(await screen.findByText(/Payout bbbb was sent 7 hours ago and is in no block\./)).toBeTruthy();
    expect(screen.getByRole("link", { name: "Raise its fee" }).getAttribute("href")).toContain(payoutId);
    expect(screen.getByText(/2 more payouts do not arrive/)).toBeTruthy();
  });

  test("names an attack in red, once for each payment", async () => {
    const attack = (txid: string) => ({
      ...telling("another transaction tries to spend the coins"),
      code: "STAFF_WARNING_DOUBLE_SPEND_ATTEMPT",
      values: { paymentId: "a".repeat(40), txid },
    });
    host.reply("status", { ...status, warnings: [attack("1".repeat(64)), attack("2".repeat(64))] });
    host.reply("showPayment", payment({ merchantTransactionId: "A-17", conflictSeen: true }));
    open("#/payments");
    const line = await screen.findByText(/Stop: the customer is taking the money back/);
    expect(line.getAttribute("role")).toBe("alert");
    expect(await within(line).findByText(/A-17 \(/)).toBeTruthy();
    const link = within(line).getByRole("link", { name: "See the payment" });
    expect(link.getAttribute("href")).toContain("a".repeat(40));
    expect(screen.queryByText(/1{64}|2{64}/)).toBeNull();
  });

  test("shows the gateway's warnings and currencies without a fresh rate", async () => {
    host.reply("status", { ...status, warnings: [telling("A double-spend was seen")] });
    open("#/payments");
    expect(await screen.findByText("A double-spend was seen.")).toBeTruthy();
    expect(screen.getByText(/no recent exchange rate for JPY/)).toBeTruthy();
  });
});
