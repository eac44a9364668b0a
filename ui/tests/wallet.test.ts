import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { backup, backups, restoring, status, wallet, telling } from "./fixture";
import { host, open } from "./panel";

const sum = (name: string) => document.querySelector(`[data-sum="${name}"]`);

describe("the wallet", () => {
  test("shows one balance in the shop's currency, and its parts in one bar", async () => {
    open("#/test/wallet");
    const balance = await screen.findByRole("region", { name: "Balance" });
    expect(balance.querySelector(".worth")?.textContent).toBe("$97,500.00");
    expect(sum("balance")?.textContent).toBe("1.50000000 BTC");
    expect(sum("spendable")?.textContent).toBe("1.40000000 BTC");
    expect(sum("locked")?.textContent).toBe("0.10000000 BTC");
    expect(sum("pending")?.textContent).toBe("7,787 sat");
    expect(sum("immature")).toBeNull();
    const parts = [...balance.querySelectorAll<HTMLElement>(".bar span")];
    expect(parts.map((part) => part.style.flexGrow)).toEqual(["140000000", "10000000", "7787"]);
    expect(within(balance).getByText("About these sums").closest("details")?.open).toBe(false);
  });

  test("shows the balance in Bitcoin as large while there is no fresh rate", async () => {
    host.reply("walletInfo", wallet({ balanceWorth: null }));
    open("#/test/wallet");
    await screen.findByText("No fresh rate now");
    expect(sum("balance")?.className).toContain("worth");
    expect(sum("balance")?.textContent).toBe("1.50000000 BTC");
  });

  test("folds the words about other programs, unless those would miss coins", async () => {
    open("#/test/wallet");
    const summary = await screen.findByText("If you ever open this wallet in another program");
    expect(summary.closest("details")?.open).toBe(false);
    host.reply("walletInfo", wallet({ longestUnused: 57, gapLimit: 58 }));
    host.emit("changed");
    await waitFor(() => expect(summary.closest("details")?.open).toBe(true));
  });

  test("says which gap limit another wallet's program needs", async () => {
    open("#/test/wallet");
    await screen.findByText(
      /at most 7 addresses in a row are unpaid: every usual program finds all your money/,
    );
    host.reply("walletInfo", wallet({ longestUnused: 0, nextIndex: 0 }));
    host.emit("changed");
    await screen.findByText(/every address before the last paid one was paid: every usual program/);
    host.reply("walletInfo", wallet({ longestUnused: 57, gapLimit: 58 }));
    host.emit("changed");
    expect(
      await screen.findByText(/57 addresses in a row are unpaid: set the other program's gap limit to 58/),
    ).toBeTruthy();
    // A gap above the usual limit is a bad sign, so the bar must not look good.
    const meter = screen.getByRole("meter");
    expect(Number(meter.getAttribute("value"))).toBeGreaterThan(Number(meter.getAttribute("high")));
    expect(meter.getAttribute("optimum")).toBe("0");
  });

  test("shows the descriptors only on request, with a warning", async () => {
    open("#/test/wallet");
    await screen.findByText(/Anyone who has it sees every past and future payment/);
    expect(host.askedFor("walletDescriptor")).toHaveLength(0);
    host.reply("walletDescriptor", {
      descriptor: "wpkh([aa/84h]xpub/<0;1>/*)#b",
      qrSvg: "<svg></svg>",
      external: "wpkh([aa/84h]xpub/0/*)#c",
      internal: "wpkh([aa/84h]xpub/1/*)#d",
    });
    await fireEvent.click(screen.getByRole("button", { name: "Show the descriptors" }));
    expect(await screen.findByText("wpkh([aa/84h]xpub/0/*)#c")).toBeTruthy();
    expect(screen.getByText("wpkh([aa/84h]xpub/<0;1>/*)#b")).toBeTruthy();
    expect(screen.getByAltText("QR code of the descriptor")).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "Hide the descriptors" }));
    expect(screen.queryByText("wpkh([aa/84h]xpub/0/*)#c")).toBeNull();
  });

  test("shows the rewards of a miner only if there are some", async () => {
    host.reply("walletInfo", wallet({ immature: { sats: 5, text: "0.00000005", shown: "0.00000005" } }));
    open("#/test/wallet");
    expect(await screen.findByText("5 sat")).toBeTruthy();
  });

  test("explains an empty wallet", async () => {
    const none = { sats: 0, text: "0.00000000", shown: "0.00000000" };
    host.reply("walletInfo", wallet({ balance: none, spendable: none, locked: none, pending: none }));
    open("#/test/wallet");
    expect(await screen.findByText(/Nothing received yet/)).toBeTruthy();
    expect(screen.getByText(/No backup was made yet/)).toBeTruthy();
  });

  test("shows no receipts and no gap before a restored copy has looked", async () => {
    const none = { sats: 0, text: "0.00000000", shown: "0.00000000" };
    const sums = { balance: none, spendable: none, locked: none, pending: none };
    host.reply("walletInfo", wallet({ ...sums, restore: restoring() }));
    open("#/test/wallet");
    expect(await screen.findByText(/once this copy has looked through the chain/)).toBeTruthy();
    for (const untrue of [
      /Nothing received yet/,
      /finds all your money/,
      /finds\s+everything/,
      /were given/,
    ]) {
      expect(screen.queryByText(untrue)).toBeNull();
    }
    expect(screen.getByText(/Their change may be in Spendable already/)).toBeTruthy();
  });

  test("links to the guide if there is no wallet", async () => {
    host.reply("status", { ...status, sandbox: false });
    host.reply("walletInfo", {
      errorType: "WALLET_NOT_READY",
      message: "there is no wallet yet",
      field: null,
    });
    open("#/test/wallet");
    const link = await screen.findByRole("link", { name: "Make one, step by step" });
    expect((link as HTMLAnchorElement).hash).toBe("#/test/go-live");
  });

  test("shows the number of addresses asked about on Electrum", async () => {
    host.reply("showRestore", { restore: restoring({ scannedHeight: null, percent: 0, toAsk: 5000 }) });
    open("#/test/wallet");
    expect(await screen.findByText("0 of 5000")).toBeTruthy();
    expect(screen.getByText(/The server's blocks are followed first/)).toBeTruthy();
    expect(document.body.textContent).not.toContain("of 900000");
    const further = restoring({ scannedHeight: null, percent: 24, asked: 1240, toAsk: 5041 });
    host.reply("showRestore", { restore: further });
    host.emit("changed");
    expect(await screen.findByText("1240 of 5041")).toBeTruthy();
    expect(screen.getByRole("progressbar").getAttribute("value")).toBe("24");
    expect(screen.getByText("24 %")).toBeTruthy();
    expect(screen.getByText(/Somebody else's server is asked slowly/)).toBeTruthy();
  });

  test("asks for a server, without progress, if none is chosen", async () => {
    host.reply("showRestore", { restore: restoring({ state: "AWAITED", awaitsBackend: true, percent: 0 }) });
    open("#/test/wallet");
    expect(await screen.findByText(/waits for a server/)).toBeTruthy();
    expect(screen.queryByRole("progressbar")).toBeNull();
    await fireEvent.click(screen.getByRole("button", { name: "Choose the server…" }));
    await waitFor(() => expect(location.hash).toBe("#/test/go-live/chain"));
  });

  test("can look through the chain again if a coin is missing", async () => {
    const looked = restoring({ state: "LOOKED", percent: 100, birthHeight: 200, scannedHeight: 900 });
    host.reply("showRestore", { restore: looked });
    open("#/test/wallet");
    expect((await screen.findByText(/201 to/)).textContent).toMatch(/900/);
    expect(screen.getByText(/A coin is missing/).textContent).toContain("the day that was named");
    await fireEvent.click(screen.getByRole("button", { name: "Look once more" }));
    expect(screen.getByText(/no address is given and nothing is sent/)).toBeTruthy();
    await fireEvent.input(screen.getByLabelText("The words, in their order"), {
      target: { value: "zoo zoo zoo" },
    });
    host.reply("restoreWallet", { made: false, restore: restoring(), likeElectrum: false });
    await fireEvent.click(screen.getByRole("button", { name: "Look once more" }));
    await waitFor(() => expect(host.askedFor("restoreWallet")).toHaveLength(1));
    // Without a birthday or a gap only the words would be stored again, so the form sends block 0.
    expect(host.askedFor("restoreWallet")[0]).toMatchObject({
      words: "zoo zoo zoo",
      birthday: "0",
      gap: null,
    });
    expect(screen.queryByLabelText("The words, in their order")).toBeNull();
  });

  test("restored from a backup mentions no day that a person named", async () => {
    host.reply("showRestore", { restore: restoring({ source: "backup", state: "LOOKED", percent: 100 }) });
    open("#/test/wallet");
    const told = (await screen.findByText(/A coin is missing/)).textContent;
    expect(told).toContain("Perhaps more orders in a row were unpaid than the look allowed.");
    expect(told).not.toContain("the day");
  });

  test("shows the progress of a restored copy, which can be stopped", async () => {
    host.reply("showRestore", { restore: restoring() });
    open("#/test/wallet");
    const bar = await screen.findByRole("progressbar");
    expect(bar.getAttribute("value")).toBe("50");
    expect(screen.getByText("850000 of 900000")).toBeTruthy();
    expect(screen.getByText("3 transactions")).toBeTruthy();
    host.reply("stopRestore", () => {
      host.reply("showRestore", { restore: restoring({ state: "STOPPED" }) });
      return restoring({ state: "STOPPED" });
    });
    await fireEvent.click(screen.getByRole("button", { name: "Stop looking" }));
    host.reply("continueRestore", () => {
      host.reply("showRestore", { restore: restoring({ state: "LOOKED", percent: 100, firstGiven: 1041 }) });
      return restoring();
    });
    await fireEvent.click(await screen.findByRole("button", { name: "Go on looking" }));
    expect(await screen.findByText(/from number 1041 on/)).toBeTruthy();
    expect(screen.queryByRole("progressbar")).toBeNull();
  });
});

describe("its backups", () => {
  test("are shown with place, time, check and trouble", async () => {
    host.reply(
      "showBackups",
      backups({
        last: backup,
        folder: "/media/usb/tillgate",
        passphraseSetAt: "2026-01-11T09:00:00Z",
        trouble: telling(
          "the last nightly backup failed: the folder /media/usb/tillgate is away, which is the setting backupFolder",
        ),
        troubleKind: "BACKUP_FAILED",
      }),
    );
    open("#/test/wallet");
    expect(await screen.findByText(backup.file)).toBeTruthy();
    expect(screen.getByText("Last verified")).toBeTruthy();
    expect(screen.getByRole("alert").textContent).toContain("/media/usb/tillgate is away");
    expect(screen.getByRole("alert").textContent).toContain("the setting “Folder”");
  });

  test("without a passphrase ask for one, without a command", async () => {
    const trouble = telling("no passphrase is set: `tillgate backup --set-passphrase`");
    host.reply(
      "showBackups",
      backups({ folder: "/media/usb/tillgate", trouble, troubleKind: "BACKUP_PASSPHRASE" }),
    );
    open("#/test/wallet");
    expect((await screen.findByRole("alert")).textContent).toContain("asks for one");
    expect(screen.queryByText(/tillgate backup/)).toBeNull();
  });

  test("with trouble that only a command fixes name no command", async () => {
    const trouble = telling(
      "the last nightly backup failed: the stored key of backups is unreadable: replace it with `tillgate backup --set-passphrase`",
    );
    host.reply("showBackups", backups({ folder: "/media/usb", trouble, troubleKind: "BACKUP_FAILED" }));
    open("#/test/wallet");
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("the stored key of backups is unreadable.");
    expect(alert.textContent).not.toContain("tillgate");
  });

  test("whose folder lacks its mark wait for a confirmation", async () => {
    const folder = "/media/usb/tillgate";
    const trouble = telling(
      `failed: ${folder} is not the folder: \`tillgate settings set backupFolder ${folder}\``,
    );
    host.reply("showBackups", backups({ last: backup, folder, trouble, troubleKind: "BACKUP_FOLDER" }));
    open("#/test/wallet");
    expect((await screen.findByRole("alert")).textContent).toMatch(/its disk\s+is\s+not connected/);
    expect(screen.queryByText(/tillgate settings/)).toBeNull();
    await fireEvent.click(screen.getByRole("button", { name: "It is the right folder…" }));
    host.reply("setSetting", { name: "backupFolder", value: folder, default: "", about: "" });
    host.reply("backUp", backup);
    await fireEvent.click(screen.getByRole("button", { name: "It is: back up to it now" }));
    const now = { command: "backUp", file: null, passphrase: null };
    await waitFor(() => expect(host.askedFor("backUp")).toEqual([now]));
    const named = { command: "setSetting", name: "backupFolder", value: folder };
    expect(host.askedFor("setSetting")).toEqual([named]);
  });

  test("are verified by file, and a wrong passphrase marks its field", async () => {
    host.reply("showBackups", backups({ last: backup }));
    open("#/test/wallet");
    await fireEvent.click(await screen.findByRole("button", { name: "Verify a backup file…" }));
    expect((screen.getByLabelText("File") as HTMLInputElement).value).toBe(backup.file);
    await fireEvent.input(screen.getByLabelText("Passphrase"), { target: { value: "wrong one" } });
    const message = "the backup does not open: the passphrase is wrong, or the file was changed";
    host.reply("verifyBackup", { errorType: "VALIDATION_FAILED", message, field: "passphrase" });
    await fireEvent.click(screen.getByRole("button", { name: "Verify" }));
    expect(await screen.findByText(/The backup does not open/)).toBeTruthy();
    host.reply("verifyBackup", { ok: true, madeAt: backup.madeAt, program: "0.1.0" });
    await fireEvent.input(screen.getByLabelText("Passphrase"), { target: { value: "right one" } });
    await fireEvent.click(screen.getByRole("button", { name: "Verify" }));
    expect(await screen.findByText(/It would restore this wallet/)).toBeTruthy();
    expect((screen.getByLabelText("Passphrase") as HTMLInputElement).value).toBe("");
  });

  test("stop at night only after a confirmation", async () => {
    host.reply("showBackups", backups({ last: backup, folder: "/media/usb/tillgate" }));
    open("#/test/wallet");
    await fireEvent.click(await screen.findByRole("button", { name: "Stop the nightly backups…" }));
    expect(host.askedFor("unsetSetting")).toHaveLength(0);
    host.reply("unsetSetting", { name: "backupFolder", value: "", default: "", about: "" });
    await fireEvent.click(screen.getByRole("button", { name: "Stop them" }));
    await waitFor(() => expect(host.askedFor("unsetSetting")).toHaveLength(1));
  });
});
