import { fireEvent, screen, waitFor } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import type { BackendTestView } from "../src/lib/bindings/BackendTestView";
import {
  STEPS,
  aboutWords,
  backOf,
  changesOf,
  factsOf,
  firstOpen,
  formOf,
  nextOf,
  restoreLines,
  strengthOf,
  testOf,
  wordsIn,
} from "../src/lib/golive";
import { backup, backups, limits, production, restoring, settings } from "./fixture";
import { host, open } from "./panel";

const WORDS = "abandon ability able about above absent absorb abstract absurd abuse access accident";
const bare = { ...production, hasWallet: false };

/** Production without a wallet, and the guide. */
async function begin() {
  host.replyIn("production", "status", bare);
  open("#/production/go-live");
  await screen.findByRole("heading", { name: "Take real money" });
}

/** Production with a wallet, whose guide begins where there is something to do. */
function withWallet(over: Record<string, string> = {}) {
  host.replyIn("production", "status", { ...production, chainLookedAt: null });
  host.replyIn("production", "listSettings", settings(over));
  open("#/production/go-live");
}

const current = () =>
  document.querySelector("[aria-current='step']")?.textContent?.replace(/\s+/g, " ").trim();
const step = (name: string) => screen.getByRole("button", { name: new RegExp(name) });
const click = (name: string | RegExp) => fireEvent.click(screen.getByRole("button", { name }));
const type = (label: string | RegExp, value: string) =>
  fireEvent.input(screen.getByLabelText(label), { target: { value } });
const page = () => document.body.innerHTML;

describe("which step is next", () => {
  const rows = settings({ backendUrl: "http://127.0.0.1:8332" }).items;
  const seen = { ...production, chainLookedAt: "2026-01-12T12:06:20Z" };

  test("goes on and back by one order, in which the words belong to the wallet", () => {
    const steps = STEPS.map(({ step }) => step).filter((step) => step !== "words");
    for (const [index, step] of steps.entries()) {
      expect(nextOf(step)).toBe(steps[index + 1] ?? "done");
      expect(backOf(step)).toBe(steps[index - 1] ?? "wallet");
    }
    expect(nextOf("words")).toBe("chain");
    expect(backOf("words")).toBe("wallet");
  });

  test("is the first that the gateway does not know to be done", () => {
    expect(firstOpen(factsOf(bare, [], undefined, []))).toBe("wallet");
    expect(firstOpen(factsOf(production, settings().items, backups(), []))).toBe("chain");
    expect(firstOpen(factsOf({ ...seen, chainError: "down" }, rows, backups(), []))).toBe("chain");
    expect(firstOpen(factsOf(seen, rows, backups(), []))).toBe("rates");
    expect(firstOpen(factsOf({ ...seen, rates: [] }, rows, backups(), ["rates"]))).toBe("rates");
    expect(firstOpen(factsOf(seen, rows, backups(), ["rates"]))).toBe("limits");
    expect(firstOpen(factsOf(seen, rows, backups(), ["rates", "limits"]))).toBe("backup");
    expect(firstOpen(factsOf(seen, rows, backups({ last: backup }), ["rates", "limits"]))).toBe("done");
  });
});

describe("new words", () => {
  async function shown() {
    host.replyIn("production", "draftWallet", { draftId: "d1", words: WORDS, asked: [3, 9] });
    host.replyIn("production", "discardDraft", {});
    await begin();
    await click(/Create a new wallet/);
    await click("I have paper and am alone");
    await screen.findByText("The words are hidden.");
  }

  test("are hidden until they are asked for, and cannot be copied", async () => {
    await shown();
    expect(page()).not.toContain("abstract");
    expect(screen.getByRole("button", { name: "I wrote them down" })).toHaveProperty("disabled", true);
    await click("Show the words");
    const list = screen.getByRole("list", { name: "The wallet's words" });
    expect(list.querySelectorAll("li")[2]?.textContent).toBe("3able");
    expect(list.querySelectorAll("li")).toHaveLength(12);
    expect(screen.queryByRole("button", { name: /Copy/ })).toBeNull();
    const copy = new Event("copy", { cancelable: true, bubbles: true });
    list.dispatchEvent(copy);
    expect(copy.defaultPrevented).toBe(true);
    expect(localStorage.length === 0 || !JSON.stringify(localStorage).includes("abstract")).toBe(true);
    expect(location.href).not.toContain("abstract");
  });

  test("are asked back by their places; a wrong one is named, and none is made of it", async () => {
    await shown();
    await click("Show the words");
    await click("I wrote them down");
    expect(page()).not.toContain("abstract");
    host.replyIn("production", "confirmWallet", {
      errorType: "VALIDATION_FAILED",
      message: "word 9 is another one: look at what you wrote down",
      field: "told",
    });
    await type("Word 3", " Able ");
    await type("Word 9", "abuse");
    await click("Make the wallet");
    expect(await screen.findByText("Word 9 is another one. Look at what you wrote down.")).toBeTruthy();
    expect(screen.getByLabelText("Word 3").getAttribute("aria-invalid")).toBe("false");
    host.replyIn("production", "confirmWallet", () => {
      host.replyIn("production", "status", { ...production, chainLookedAt: null });
      host.emit("changed", "production");
      return { external: "x", internal: "y" };
    });
    await type("Word 9", "absurd");
    await click("Make the wallet");
    expect(
      await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" }),
    ).toBeTruthy();
    expect(host.askedOfProductionFor("confirmWallet").at(-1)).toMatchObject({
      draftId: "d1",
      told: ["able", "absurd"],
    });
    expect(host.askedOfProductionFor("discardDraft")).toHaveLength(0);
  });

  test("are forgotten here and by the gateway when their step is left", async () => {
    await shown();
    await click("Show the words");
    expect(page()).toContain("abstract");
    location.hash = "#/production/keys";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await waitFor(() => expect(host.askedOfProductionFor("discardDraft")).toHaveLength(1));
    expect(host.askedOfProductionFor("discardDraft")[0]).toMatchObject({ draftId: "d1" });
    expect(page()).not.toContain("abstract");
    location.hash = "#/production/go-live";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await screen.findByRole("heading", { name: "Take real money" });
    expect(page()).not.toContain("abstract");
  });

  test("that are kept no more begin again", async () => {
    await shown();
    await click("Show the words");
    await click("I wrote them down");
    host.replyIn("production", "confirmWallet", {
      errorType: "NOT_FOUND",
      message: "these words are no longer kept",
      field: null,
    });
    await type("Word 3", "able");
    await type("Word 9", "absurd");
    await click("Make the wallet");
    await screen.findByText(/no longer kept/);
    await click("Begin again with new words");
    expect(await screen.findByRole("heading", { name: "Your wallet's words" })).toBeTruthy();
  });

  test("may be 24", async () => {
    await begin();
    await click(/Create a new wallet/);
    await fireEvent.click(screen.getByLabelText(/24 words/));
    host.replyIn("production", "draftWallet", { draftId: "d", words: `${WORDS} ${WORDS}`, asked: [1, 24] });
    host.replyIn("production", "discardDraft", {});
    await click("I have paper and am alone");
    await screen.findByText("Write these 24 words down");
    expect(host.askedOfProductionFor("draftWallet")[0]).toMatchObject({ words: 24 });
  });
});

describe("restoring", () => {
  test("takes words as people paste them, and wipes them once they were told", async () => {
    expect(wordsIn("1. Abandon\n2) ability,  ABLE")).toEqual(["abandon", "ability", "able"]);
    expect(aboutWords("abandon ability")).toBe("2 words so far; a wallet has 12 or 24.");
    await begin();
    await click(/Restore a wallet from its words/);
    const field = screen.getByLabelText(/The words, in their order/) as HTMLTextAreaElement;
    expect(field.className).toContain("covered");
    await fireEvent.input(field, { target: { value: `  ${WORDS.toUpperCase()}\n` } });
    await type(/When it began/, "2024-05-31");
    host.replyIn("production", "restoreWallet", { made: true, restore: restoring() });
    await click("Restore the wallet");
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    expect(host.askedOfProductionFor("restoreWallet")[0]).toMatchObject({
      words: WORDS,
      birthday: "2024-05-31",
      gap: null,
    });
    expect(document.querySelector("textarea")).toBeNull();
  });

  test("by a date without a node leads to the network's step", async () => {
    await begin();
    await click(/Restore a wallet from its words/);
    await type(/The words, in their order/, WORDS);
    host.replyIn("production", "restoreWallet", {
      errorType: "CHAIN_NOT_READY",
      message: "which block a date has is asked of the Bitcoin backend",
      field: null,
    });
    await click("Restore the wallet");
    await fireEvent.click(await screen.findByRole("button", { name: "Set up the Bitcoin network first" }));
    expect(
      await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" }),
    ).toBeTruthy();
  });

  test("from a backup names the commands, with this installation's own folder", async () => {
    await begin();
    await click(/Restore from a backup file/);
    expect(document.querySelector("code")?.textContent?.trim()).toBe(
      "mv /home/ada/.local/share/tillgate/production /home/ada/.local/share/tillgate/production.before",
    );
    expect(restoreLines("/home/a b/till gate/production", "production")).toEqual([
      "mv '/home/a b/till gate/production' '/home/a b/till gate/production.before'",
      "tillgate restore /media/usb/till.backup --environment production --data-dir '/home/a b/till gate'",
    ]);
  });
});

describe("the network's step", () => {
  const good: BackendTestView = {
    ok: true,
    servers: [
      {
        url: "http://127.0.0.1:8332",
        ok: true,
        message: "the backend answers, its best block is 900000",
        network: "bitcoin",
        height: 900000,
        tipTime: "2026-01-12T12:01:00Z",
        prunedFrom: 880000,
        software: "/Satoshi:31.99.0/",
        fingerprint: null,
      },
    ],
  };

  test("shows what answered, and saves only what was tried", async () => {
    withWallet();
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    expect(current()).toContain("Bitcoin network");
    await type("Cookie file", "/home/ada/.bitcoin/.cookie");
    host.replyIn("production", "testBackend", good);
    expect(screen.queryByRole("button", { name: "Save and continue" })).toBeNull();
    await click("Test the connection");
    expect(await screen.findByText("from 880000 on")).toBeTruthy();
    // Below the fold of a low window: whoever asked is led there.
    const answers = screen.getByRole("group", { name: "What the servers answered" });
    await waitFor(() => expect(document.activeElement).toBe(answers));
    expect(screen.getByText("/Satoshi:31.99.0/")).toBeTruthy();
    expect(host.askedOfProductionFor("changeSettings")).toHaveLength(0);
    // What is typed afterwards was not tried.
    await type("Cookie file", "/home/ada/.bitcoin/cookie");
    expect(screen.queryByRole("button", { name: "Save and continue" })).toBeNull();
    await type("Cookie file", "/home/ada/.bitcoin/.cookie");
    host.replyIn("production", "changeSettings", { items: [], itemsCount: 0 });
    await click("Save and continue");
    await screen.findByRole("heading", { name: "Exchange rates" });
    expect(host.askedOfProductionFor("changeSettings").map(({ changes }) => changes)).toEqual([
      [
        { name: "backendUrl", value: "http://127.0.0.1:8332" },
        { name: "backendCookieFile", value: "/home/ada/.bitcoin/.cookie" },
      ],
    ]);
  });

  test("tells what is wrong with the remedy, and lets it be saved all the same", async () => {
    withWallet();
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    const bad = {
      ...good.servers[0]!,
      ok: false,
      message: "no connection: start the node, or set backendUrl right",
      height: null,
    };
    host.replyIn("production", "testBackend", { ok: false, servers: [bad] });
    await click("Test the connection");
    // The setting goes by the name that its field has here.
    const remedy = /No connection: start the node, or set “Address of the node” right/;
    expect(await screen.findByText(remedy)).toBeTruthy();
    expect(screen.getByRole("button", { name: "Save without an answer" })).toBeTruthy();
    host.replyIn("production", "testBackend", {
      errorType: "VALIDATION_FAILED",
      message: "backendUrl must be an address",
      field: "backendUrl",
    });
    await click("Test the connection");
    expect(await screen.findByText("Address of the node must be an address")).toBeTruthy();
  });

  test("pins the certificate that an Electrum server of one's own shows, and tries again", async () => {
    withWallet();
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    await fireEvent.click(screen.getByLabelText(/Electrum server/));
    expect(screen.queryByLabelText("Cookie file")).toBeNull();
    await type("Address of the server", "ssl://mine.example:50002");
    const fingerprint = "ab".repeat(32);
    const shown = {
      ...good.servers[0]!,
      url: "ssl://mine.example:50002",
      ok: false,
      message: "nobody vouches",
      height: null,
      fingerprint,
    };
    host.replyIn("production", "testBackend", { ok: false, servers: [shown] });
    await click("Test the connection");
    host.replyIn("production", "testBackend", {
      ok: true,
      servers: [{ ...good.servers[0]!, url: "ssl://mine.example:50002" }],
    });
    await fireEvent.click(await screen.findByRole("button", { name: "It is mine: pin this certificate" }));
    await screen.findByRole("button", { name: "Save and continue" });
    expect(host.askedOfProductionFor("testBackend").at(-1)).toMatchObject({
      backend: "electrum",
      backendCertificate: fingerprint,
      backendCookieFile: null,
    });
  });

  test("changes all that differs at once, and nothing else", () => {
    const before = settings({ backendUrl: "http://127.0.0.1:8332", backendUser: "ada" }).items;
    const form = { ...formOf(before), kind: "esplora" as const, url: "https://esplora.example/api" };
    expect(changesOf(form, before)).toEqual([
      { name: "backend", value: "esplora" },
      { name: "backendUrl", value: "https://esplora.example/api" },
      { name: "backendUser", value: null },
    ]);
    expect(changesOf(formOf(before), before)).toEqual([]);
  });

  test("asks for a node's notices where their address is given, and of no other kind of server", () => {
    const before = settings({ backendUrl: "http://127.0.0.1:8332", backendCookieFile: "/c" }).items;
    const form = { ...formOf(before), zmq: " tcp://127.0.0.1:28332 " };
    expect(testOf(form)).toMatchObject({ backendZmq: "tcp://127.0.0.1:28332" });
    expect(changesOf(form, before)).toEqual([{ name: "backendZmq", value: "tcp://127.0.0.1:28332" }]);
    expect(testOf({ ...form, kind: "electrum" })).toMatchObject({ backendZmq: null });
  });

  test("keeps the stored password where none is typed, and sends none that is of no use", () => {
    const form = { ...formOf(settings({ backendUser: "ada" }).items), url: "http://10.0.0.7:8332" };
    expect(testOf(form)).toMatchObject({
      backendUser: "ada",
      backendPassword: null,
      backendCookieFile: null,
    });
    expect(testOf({ ...form, password: "s3cret" })).toMatchObject({ backendPassword: "s3cret" });
    expect(testOf({ ...form, password: "s3cret", kind: "esplora" })).toMatchObject({
      backendUser: null,
      backendPassword: null,
    });
  });
});

describe("rates and limits", () => {
  const url = { backendUrl: "http://127.0.0.1:8332" };

  test("sources are ticked off at once, the last one stays, and a missing rate is told", async () => {
    host.replyIn("production", "listSettings", settings({ ...url, rateSources: "kraken,coinbase" }));
    host.replyIn("production", "status", {
      ...production,
      rateSources: [
        { name: "kraken", answeredAt: null, ageSeconds: null, error: "it answers 429", nextAt: null },
      ],
    });
    open("#/production/go-live");
    await screen.findByRole("heading", { name: "Exchange rates" });
    expect(screen.getByText("It answers 429")).toBeTruthy();
    expect(screen.getByText("64,210.55")).toBeTruthy();
    expect(screen.getByText(/Payments in JPY are refused until/)).toBeTruthy();
    host.replyIn("production", "setSetting", ({ value }: { value: string }) => {
      host.replyIn("production", "listSettings", settings({ ...url, rateSources: value }));
      return { name: "rateSources", value, default: "", about: "" };
    });
    await fireEvent.click(screen.getByLabelText("Coinbase"));
    await waitFor(() => expect(screen.getByLabelText("Kraken")).toHaveProperty("disabled", true));
    expect(host.askedOfProductionFor("setSetting")[0]).toMatchObject({
      name: "rateSources",
      value: "kraken",
    });
  });

  test("a limit is told with its worth, and one that is wrong keeps the step", async () => {
    host.replyIn("production", "listSettings", settings(url));
    host.replyIn("production", "showLimits", limits);
    host.replyIn("production", "estimatePayout", (({ btcAmount }: { btcAmount: string }) => ({
      worth: { minor: 1, text: "1", shown: btcAmount === "0.5" ? "32,105.27" : "64,210.55", currency: "USD" },
    })) as never);
    open("#/production/go-live");
    await screen.findByRole("heading", { name: "Exchange rates" });
    await click("Continue");
    await screen.findByRole("heading", { name: "Limits of payouts" });
    await type("At most a day, in BTC", "0.5");
    expect(await screen.findByText(/Worth 32,105.27 USD now/)).toBeTruthy();
    host.replyIn("production", "setLimits", {
      errorType: "VALIDATION_FAILED",
      message: "dailyLimitBtc must be a sum",
      field: "dailyBtc",
    });
    await click("Save and continue");
    expect(await screen.findByText(/At most a day, in BTC must be a sum/)).toBeTruthy();
    host.replyIn("production", "setLimits", limits);
    await click("Save and continue");
    expect(await screen.findByRole("heading", { name: "First backup" })).toBeTruthy();
    // Whoever comes back is asked for neither again.
    expect(JSON.parse(localStorage.getItem("tillgate.goLive.production") ?? "{}")).toEqual({
      seen: ["rates", "limits"],
      finished: false,
    });
    await fireEvent.click(step("Limits"));
    expect(await screen.findByRole("heading", { name: "Limits of payouts" })).toBeTruthy();
  });
});

describe("the first backup", () => {
  async function atBackup() {
    localStorage.setItem("tillgate.goLive.production", JSON.stringify({ seen: ["rates", "limits"] }));
    const { readGuides } = await import("../src/lib/state/golive.svelte");
    readGuides();
    host.replyIn("production", "listSettings", settings({ backendUrl: "http://127.0.0.1:8332" }));
    open("#/production/go-live");
    await screen.findByRole("heading", { name: "First backup" });
  }

  test("wants a passphrase that cannot be guessed, twice the same, and is made each night", async () => {
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

  test("is the one that the gateway makes by itself at that moment", async () => {
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

  test("may be a single one, under a name of its own", async () => {
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

  test("judges passphrases in words", () => {
    expect(strengthOf("", 12).sentence).toContain("At least 12 characters");
    expect(strengthOf("aaaaaaaaaaaaaaaa", 12)).toMatchObject({ enough: false });
    expect(strengthOf("x7#kPq92mZt!", 12)).toMatchObject({ enough: true });
    expect(strengthOf("tram lamp river stone oak", 12).sentence).toContain("Good");
  });

  test("can be left for later, which the end says", async () => {
    await atBackup();
    await click("Later");
    expect(await screen.findByRole("heading", { name: "Nearly there" })).toBeTruthy();
    await fireEvent.click(screen.getAllByRole("button", { name: /First backup/ }).at(-1)!);
    expect(await screen.findByRole("heading", { name: "First backup" })).toBeTruthy();
  });
});
