import { fireEvent, screen, waitFor } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { STEPS, backOf, factsOf, firstOpen, nextOf, strengthOf } from "../src/lib/golive";
import { backup, backups, limits, production, settings, telling } from "./fixture";
import { bare, click, page, step, type } from "./guide";
import { host, open } from "./panel";

describe("the guide's order of steps", () => {
  const rows = settings({ backendUrl: "http://127.0.0.1:8332" }).items;
  const seen = { ...production, chainLookedAt: "2026-01-12T12:06:20Z" };

  test("is the same forwards and backwards, except for the words", () => {
    const steps = STEPS.map(({ step }) => step).filter((step) => step !== "words");
    for (const [index, step] of steps.entries()) {
      expect(nextOf(step)).toBe(steps[index + 1] ?? "done");
      expect(backOf(step)).toBe(steps[index - 1] ?? "wallet");
    }
    expect(nextOf("words")).toBe("chain");
    expect(backOf("words")).toBe("wallet");
  });

  test("continues with the first step that is not done", () => {
    expect(firstOpen(factsOf(bare, [], undefined, []))).toBe("wallet");
    expect(firstOpen(factsOf(production, settings().items, backups(), []))).toBe("chain");
    expect(firstOpen(factsOf({ ...seen, chainError: telling("down") }, rows, backups(), []))).toBe("chain");
    expect(firstOpen(factsOf(seen, rows, backups(), []))).toBe("rates");
    expect(firstOpen(factsOf({ ...seen, rates: [] }, rows, backups(), ["rates"]))).toBe("rates");
    expect(firstOpen(factsOf(seen, rows, backups(), ["rates"]))).toBe("limits");
    expect(firstOpen(factsOf(seen, rows, backups(), ["rates", "limits"]))).toBe("backup");
    expect(firstOpen(factsOf(seen, rows, backups({ last: backup }), ["rates", "limits"]))).toBe("done");
  });
});

describe("rates and limits", () => {
  const url = { backendUrl: "http://127.0.0.1:8332" };

  test("sources are removed at once, but the last one stays", async () => {
    host.replyIn("production", "listSettings", settings({ ...url, rateSources: "kraken,coinbase" }));
    host.replyIn("production", "status", {
      ...production,
      rateSources: [
        {
          name: "kraken",
          answeredAt: null,
          ageSeconds: null,
          error: telling("it answers 429"),
          nextAt: null,
        },
      ],
    });
    open("#/production/go-live");
    await screen.findByRole("heading", { name: "Exchange rates" });
    expect(screen.getByText("It answers 429")).toBeTruthy();
    expect(screen.getByText("$64,210.55")).toBeTruthy();
    expect(screen.getByText(/Payments in JPY are refused until/)).toBeTruthy();
    host.replyIn("production", "changeSettings", () => {
      host.replyIn("production", "listSettings", settings({ ...url, rateSources: "kraken" }));
      return settings();
    });
    await fireEvent.click(screen.getByLabelText("Coinbase"));
    await waitFor(() => expect(screen.getByLabelText("Kraken")).toHaveProperty("disabled", true));
    expect(host.askedOfProductionFor("changeSettings")[0]?.changes).toEqual([
      { name: "rateSources", value: "kraken" },
    ]);
  });

  test("a source without words is shown by its own name, and is kept", async () => {
    host.replyIn("production", "listSettings", settings({ ...url, rateSources: "kraken,coinbase,newone" }));
    host.replyIn("production", "status", production);
    open("#/production/go-live");
    await screen.findByRole("heading", { name: "Exchange rates" });
    expect(screen.getByLabelText("mempool.space")).toHaveProperty("checked", false);
    expect(screen.getByLabelText("newone")).toHaveProperty("checked", true);
    host.replyIn("production", "changeSettings", settings());
    await fireEvent.click(screen.getByLabelText("Coinbase"));
    await waitFor(() =>
      expect(host.askedOfProductionFor("changeSettings")[0]?.changes).toEqual([
        { name: "rateSources", value: "kraken,newone" },
      ]),
    );
  });

  test("a limit is shown with its worth, and a wrong one is refused", async () => {
    host.replyIn("production", "listSettings", settings(url));
    host.replyIn("production", "showLimits", limits);
    host.replyIn("production", "estimatePayout", (({ btcAmount }: { btcAmount: string }) => ({
      worth: { minor: 1, text: btcAmount === "0.5" ? "32105.27" : "64210.55", shown: "", currency: "USD" },
    })) as never);
    open("#/production/go-live");
    await screen.findByRole("heading", { name: "Exchange rates" });
    await click("Continue");
    await screen.findByRole("heading", { name: "Limits of payouts" });
    await type("Daily limit in BTC", "0.5");
    expect(await screen.findByText(/Worth \$32,105.27 now/)).toBeTruthy();
    host.replyIn("production", "setLimits", {
      errorType: "VALIDATION_FAILED",
      message: "dailyLimitBtc must be a sum",
      field: "dailyBtc",
    });
    await click("Save and continue");
    expect(await screen.findByText(/Daily limit in BTC must be a sum/)).toBeTruthy();
    host.replyIn("production", "setLimits", limits);
    await click("Save and continue");
    const next = await screen.findByRole("heading", { name: "First backup" });
    // The clicked button is gone, so the step's heading gets the focus.
    await waitFor(() => expect(document.activeElement).toBe(next));
    // A person who returns is asked for neither step again.
    expect(JSON.parse(localStorage.getItem(`tillgate.goLive.${FOLDER}`) ?? "{}")).toEqual({
      seen: ["rates", "limits"],
      finished: false,
    });
    await fireEvent.click(step("Limits"));
    expect(await screen.findByRole("heading", { name: "Limits of payouts" })).toBeTruthy();
  });
});

/** The environment's data folder, by which the guide's progress is stored for each installation. */
const FOLDER = "/home/ada/.local/share/tillgate/production";

describe("the first backup", () => {
  async function atBackup() {
    localStorage.setItem(`tillgate.goLive.${FOLDER}`, JSON.stringify({ seen: ["rates", "limits"] }));
    host.replyIn("production", "listSettings", settings({ backendUrl: "http://127.0.0.1:8332" }));
    open("#/production/go-live");
    await screen.findByRole("heading", { name: "First backup" });
  }

  test("sets the folder first, and unsets it if the passphrase fails", async () => {
    await atBackup();
    await type("Folder", "/media/usb/none");
    await type("Passphrase", "correct horse battery staple tram");
    await type("Passphrase once more", "correct horse battery staple tram");
    host.replyIn("production", "setSetting", {
      errorType: "VALIDATION_FAILED",
      message: "backupFolder must be a folder that is there",
      field: "value",
    });
    await click("Back up now");
    expect(await screen.findByText("The folder must be a folder that is there")).toBeTruthy();
    expect(host.askedOfProductionFor("setBackupPassphrase")).toHaveLength(0);

    host.replyIn("production", "setSetting", { name: "", value: "", default: "", about: "" });
    host.replyIn("production", "unsetSetting", { name: "", value: "", default: "", about: "" });
    host.replyIn("production", "setBackupPassphrase", {
      errorType: "SECRETS_UNAVAILABLE",
      message: "the keyring is locked",
      field: null,
    });
    await click("Back up now");
    expect(await screen.findByText("The keyring is locked")).toBeTruthy();
    expect(host.askedOfProductionFor("unsetSetting")).toHaveLength(1);
    expect(host.askedOfProductionFor("backUp")).toHaveLength(0);
  });

  test("ignores the progress of another installation's guide", async () => {
    localStorage.setItem(
      "tillgate.goLive./srv/other/production",
      JSON.stringify({ seen: ["rates", "limits"], finished: true }),
    );
    host.replyIn("production", "listSettings", settings({ backendUrl: "http://127.0.0.1:8332" }));
    open("#/production/go-live");
    expect(await screen.findByRole("heading", { name: "Exchange rates" })).toBeTruthy();
  });

  test("needs a strong passphrase typed twice, and is made each night", async () => {
    await atBackup();
    await type("Folder", "/media/usb/tillgate/");
    await type("Passphrase", "short");
    await type("Passphrase once more", "short");
    await click("Back up now");
    expect(screen.getByText("Too short: 7 more characters.")).toBeTruthy();
    await type("Passphrase", "correct horse battery staple tram");
    await type("Passphrase once more", "correct horse battery staple tran");
    await click("Back up now");
    expect(await screen.findByText("Both must be the same.")).toBeTruthy();
    expect(host.askedOfProductionFor("setBackupPassphrase")).toHaveLength(0);
    host.replyIn("production", "setBackupPassphrase", backups());
    host.replyIn("production", "setSetting", { name: "", value: "", default: "", about: "" });
    host.replyIn("production", "backUp", () => {
      host.replyIn("production", "showBackups", backups({ last: backup, folder: "/media/usb/tillgate" }));
      return backup;
    });
    await type("Passphrase once more", "correct horse battery staple tram");
    await click("Back up now");
    expect(await screen.findByText(backup.file)).toBeTruthy();
    expect(host.askedOfProductionFor("setSetting")[0]).toMatchObject({
      name: "backupFolder",
      value: "/media/usb/tillgate",
    });
    expect(host.askedOfProductionFor("backUp")[0]).toMatchObject({ file: null, passphrase: null });
    expect(page()).not.toContain("battery");
    await click("Continue");
    expect(await screen.findByRole("heading", { name: "You can take money" })).toBeTruthy();
    await click("Close this guide");
    await waitFor(() => expect(screen.queryByRole("link", { name: "Go live" })).toBeNull());
  });

  test("is the one that the gateway is already making", async () => {
    await atBackup();
    host.replyIn("production", "setBackupPassphrase", backups());
    host.replyIn("production", "setSetting", { name: "", value: "", default: "", about: "" });
    host.replyIn("production", "backUp", () => {
      host.replyIn("production", "showBackups", backups({ last: backup, folder: "/media/usb" }));
      return { errorType: "BACKUP_BUSY", message: "another backup is being made", field: null };
    });
    await type("Folder", "/media/usb");
    await type("Passphrase", "correct horse battery staple tram");
    await type("Passphrase once more", "correct horse battery staple tram");
    await click("Back up now");
    expect(await screen.findByText(backup.file, undefined, { timeout: 5000 })).toBeTruthy();
    expect(host.askedOfProductionFor("backUp")).toHaveLength(1);
    expect(page()).not.toContain("another backup");
  });

  test("counts as made if the gateway began it after the button was pressed", async () => {
    await atBackup();
    const pressed = Date.now();
    host.replyIn("production", "setSetting", { name: "", value: "", default: "", about: "" });
    host.replyIn("production", "setBackupPassphrase", backups());
    host.replyIn("production", "backUp", () => {
      host.replyIn("production", "showBackups", backups({ last: backup, folder: "/media/usb" }));
      return backup;
    });
    await type("Folder", "/media/usb");
    await type("Passphrase", "correct horse battery staple tram");
    await type("Passphrase once more", "correct horse battery staple tram");
    await click("Back up now");
    expect(await screen.findByText(backup.file)).toBeTruthy();
    const [asked, ...more] = host.askedOfProductionFor("backUp");
    expect(more).toHaveLength(0);
    expect(Date.parse(asked?.unlessSince ?? "")).toBeGreaterThanOrEqual(pressed);
  });

  test("offers no kept passphrase while its own backup runs", async () => {
    await atBackup();
    host.replyIn("production", "setSetting", { name: "", value: "", default: "", about: "" });
    host.replyIn("production", "setBackupPassphrase", () => {
      host.replyIn("production", "showBackups", backups({ passphraseSetAt: "2026-01-12T12:06:00Z" }));
      host.emit("changed", "production");
      return backups();
    });
    let finish = () => undefined as void;
    host.replyIn("production", "backUp", () => new Promise((done) => (finish = () => done(backup))));
    await type("Folder", "/media/usb");
    await type("Passphrase", "correct horse battery staple tram");
    await type("Passphrase once more", "correct horse battery staple tram");
    await click("Back up now");
    await waitFor(() => expect(host.askedOfProductionFor("backUp")).toHaveLength(1));
    expect(screen.getByText(/Copying, sealing/)).toBeTruthy();
    expect(screen.queryByText("With the passphrase that was set before")).toBeNull();
    finish();
  });

  test("in a missing folder says what to do, without a command", async () => {
    await atBackup();
    host.replyIn("production", "setSetting", { name: "", value: "", default: "", about: "" });
    host.replyIn("production", "setBackupPassphrase", backups());
    host.replyIn("production", "backUp", {
      errorType: "BACKUP_FOLDER_MISSING",
      message: "the disk is not connected: `tillgate settings set backupFolder /media/usb`",
      field: null,
    });
    await type("Folder", "/media/usb");
    await type("Passphrase", "correct horse battery staple tram");
    await type("Passphrase once more", "correct horse battery staple tram");
    await click("Back up now");
    expect(await screen.findByText(/Connect the disk, or choose another folder/)).toBeTruthy();
    expect(page()).not.toContain("tillgate settings");
  });

  test("may be a single file with the time in its name", async () => {
    await atBackup();
    await type("Folder", "/media/usb");
    await fireEvent.click(screen.getByLabelText(/Each night from now on/));
    await type("Passphrase", "correct horse battery staple tram");
    await type("Passphrase once more", "correct horse battery staple tram");
    host.replyIn("production", "backUp", backup);
    await click("Back up now");
    await waitFor(() => expect(host.askedOfProductionFor("backUp")).toHaveLength(1));
    const [made] = host.askedOfProductionFor("backUp");
    expect(made?.file).toMatch(/^\/media\/usb\/tillgate-production-\d{4}-\d\d-\d\d-\d{6}\.backup$/);
    expect(made?.passphrase).toBe("correct horse battery staple tram");
    expect(host.askedOfProductionFor("setSetting")).toHaveLength(0);
  });

  test("describes the strength of a passphrase", () => {
    expect(strengthOf("", 12).sentence).toContain("At least 12 characters");
    expect(strengthOf("aaaaaaaaaaaaaaaa", 12)).toMatchObject({ enough: false });
    expect(strengthOf("x7#kPq92mZt!", 12)).toMatchObject({ enough: true });
    expect(strengthOf("tram lamp river stone oak", 12).sentence).toContain("Good");
  });

  test("can be left for later, and the last step says so", async () => {
    await atBackup();
    await click("Later");
    expect(await screen.findByRole("heading", { name: "Nearly there" })).toBeTruthy();
    await fireEvent.click(screen.getAllByRole("button", { name: /First backup/ }).at(-1)!);
    expect(await screen.findByRole("heading", { name: "First backup" })).toBeTruthy();
  });
});
