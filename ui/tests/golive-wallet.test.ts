import { fireEvent, screen, waitFor } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { aboutWords, restoreLines, wordsIn } from "../src/lib/golive";
import { production, restoring, status, telling } from "./fixture";
import { begin, click, page, type } from "./guide";
import { host, open } from "./panel";

const WORDS = "abandon ability able about above absent absorb abstract absurd abuse access accident";

const sheet = { addressType: "bip86", birthday: "2026-01-12" };

describe("new words", () => {
  async function shown() {
    host.replyIn("production", "draftWallet", { draftId: "d1", words: WORDS, asked: [3, 9], sheet });
    host.replyIn("production", "discardDraft", {});
    await begin();
    await click(/Create a new wallet/);
    await click("I have paper and am alone");
    await screen.findByText("The words are hidden.");
  }

  test("are hidden until requested, and cannot be copied", async () => {
    await shown();
    expect(page()).not.toContain("abstract");
    expect(screen.getByRole("button", { name: "I wrote them down" })).toHaveProperty("disabled", true);
    await click("Show the words");
    const list = screen.getByRole("list", { name: "The wallet's words" });
    expect(list.querySelectorAll("li")[2]?.textContent).toBe("3able");
    expect(list.querySelectorAll("li")).toHaveLength(12);
    expect(page()).toContain("Taproot (BIP86)");
    expect(page()).toContain("2026-01-12");
    expect(screen.queryByRole("button", { name: /Copy/ })).toBeNull();
    const copy = new Event("copy", { cancelable: true, bubbles: true });
    list.dispatchEvent(copy);
    expect(copy.defaultPrevented).toBe(true);
    expect(localStorage.length === 0 || !JSON.stringify(localStorage).includes("abstract")).toBe(true);
    expect(location.href).not.toContain("abstract");
  });

  test("are asked for by position, and a wrong word makes no wallet", async () => {
    await shown();
    await click("Show the words");
    await click("I wrote them down");
    expect(page()).not.toContain("abstract");
    host.replyIn("production", "confirmWallet", {
      errorType: "VALIDATION_FAILED",
      message: "word 9 does not match: look at what you wrote down",
      field: "told",
      told: [telling("word 9 does not match: look at what you wrote down", "DRAFT_WRONG", { _0: "9" })],
    });
    await type("Word 3", " Able ");
    await type("Word 9", "abuse");
    await click("Make the wallet");
    expect(await screen.findByText("Word 9 does not match. Look at what you wrote down.")).toBeTruthy();
    expect(screen.getByLabelText("Word 3").getAttribute("aria-invalid")).toBe("false");
    host.replyIn("production", "confirmWallet", () => {
      host.replyIn("production", "status", { ...production, chainLookedAt: null });
      host.emit("changed", "production");
      return { descriptor: "z", external: "x", internal: "y", qrSvg: "" };
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

  test("are discarded here and in the gateway when the step closes", async () => {
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

  test("are replaced by new ones if the gateway discarded them", async () => {
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
    host.replyIn("production", "draftWallet", {
      draftId: "d",
      words: `${WORDS} ${WORDS}`,
      asked: [1, 24],
      sheet,
    });
    host.replyIn("production", "discardDraft", {});
    await click("I have paper and am alone");
    await screen.findByText("Write these 24 words down");
    expect(host.askedOfProductionFor("draftWallet")[0]).toMatchObject({ words: 24 });
  });
});

describe("restoring", () => {
  test("accepts pasted words and wipes them after use", async () => {
    expect(wordsIn("1. Abandon\n2) ability,  ABLE")).toEqual(["abandon", "ability", "able"]);
    const numbered = WORDS.split(" ").map((word, index) => `${index + 1}  ${word}\n`);
    const sheet = `These 12 words are the wallet.\n\n${numbered.join("")}\nbirthday 2026-11-28\n`;
    expect(aboutWords(sheet)).toBe("12 words.");
    expect(aboutWords("abandon ability")).toBe("2 words so far; a wallet has 12 or 24.");
    await begin();
    await click(/Restore a wallet from its words/);
    const field = screen.getByLabelText(/The words, in their order/) as HTMLTextAreaElement;
    expect(field.className).toContain("covered");
    await fireEvent.input(field, { target: { value: `  ${WORDS.toUpperCase()}\n` } });
    await type(/When the wallet began/, "2024-05-31");
    host.replyIn("production", "restoreWallet", { made: true, restore: restoring(), likeElectrum: false });
    await click("Restore the wallet");
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    expect(host.askedOfProductionFor("restoreWallet")[0]).toMatchObject({
      words: `  ${WORDS.toUpperCase()}\n`,
      birthday: "2024-05-31",
      gap: null,
    });
    expect(document.querySelector("textarea")).toBeNull();
  });

  test("stays until a note about Electrum is read", async () => {
    await begin();
    await click(/Restore a wallet from its words/);
    await type(/The words, in their order/, WORDS);
    host.replyIn("production", "restoreWallet", { made: true, restore: restoring(), likeElectrum: true });
    await click("Restore the wallet");
    await screen.findByText(/also a valid Electrum seed/);
    await click("Continue");
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
  });

  test("by a date without a node links to the network's step", async () => {
    await begin();
    await click(/Restore a wallet from its words/);
    await type(/The words, in their order/, WORDS);
    host.replyIn("production", "restoreWallet", {
      errorType: "CHAIN_NOT_READY",
      message: "the block of a date is looked up by the Bitcoin backend",
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

describe("the wallet of a test environment", () => {
  const onNode = { ...status, sandbox: false };

  test("is not said to be on paper if nobody was shown its words", async () => {
    host.reply("status", onNode);
    open("#/test/go-live");
    await fireEvent.click(await screen.findByRole("button", { name: /^\S*\s*Wallet/ }));
    const told = (await screen.findByText(/An environment has one wallet/)).textContent?.replace(/\s+/g, " ");
    expect(told).toContain(
      "first start made it, its words were shown to nobody: a backup is all that saves it",
    );
    expect(told).not.toContain("on your paper");
    expect(screen.queryByRole("button", { name: /Words/ })).toBeNull();
  });

  test("has its words on paper if it was restored from them", async () => {
    host.reply("status", onNode);
    host.reply("showRestore", { restore: restoring({ state: "LOOKED" }) });
    open("#/test/go-live");
    await fireEvent.click(await screen.findByRole("button", { name: /^\S*\s*Wallet/ }));
    expect((await screen.findByText(/on\s+your paper/)).textContent).not.toContain("shown to nobody");
  });
});
