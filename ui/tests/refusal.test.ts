// The gateway's refusals, as the window words them.
import { afterEach, describe, expect, test } from "vitest";
import type { CommandError, Telling } from "../src/lib/bindings";
import { refused, worded } from "../src/lib/refusal";
import { openedIn } from "./opened";

afterEach(() => {
  globalThis.tillgateLocale = undefined;
  document.documentElement.lang = "";
});

const telling = (code: string, values: Telling["values"], field?: string): Telling => ({
  code,
  values,
  message: "the gateway's own sentence",
  ...(field === undefined ? {} : { field }),
});

const refusal = (...told: Telling[]): CommandError => ({
  errorType: "VALIDATION_FAILED",
  message: "the gateway's own sentence",
  field: null,
  told,
});

test("a refusal is worded by its code and values, with the form's label", () => {
  const wrong = refusal(telling("FAULT_TOO_MANY_CHARACTERS", { most: "512" }, "message"));
  expect(refused(wrong, { message: "The note" })).toEqual({
    text: "The note may have at most 512 characters",
  });
});

test("several faults are worded one after the other", () => {
  const wrong = refusal(telling("FAULT_REQUIRED", {}, "amount"), telling("FAULT_REQUIRED", {}, "currency"));
  expect(refused(wrong).text).toBe("Amount is required; currency is required");
});

test("the words of others stay as they are", () => {
  const order = "user 12 ".repeat(12);
  expect(worded(telling("FAULT_OTHER_HOST", { _0: order }))).toContain(order);
});

test("an unknown refusal is shown in English under its details", () => {
  document.documentElement.lang = "de";
  expect(refused(refusal(telling("OF_A_LATER_VERSION", {})))).toEqual({
    text: "This was refused",
    details: "The gateway's own sentence",
  });
});

describe("in German", () => {
  /** The words for a sentence of the gateway, in a window that was opened in German. */
  async function inGerman(code: string, values: Telling["values"]): Promise<string | undefined> {
    openedIn("de");
    return (await import("../src/lib/refusal")).worded(telling(code, values));
  }

  test.each(["29.4", "1.50", "1,204.90", "2026-01-01T00:00:00Z"])(
    "the reference %s stays as it is, though it looks like a sum or a time",
    async (reference) => {
      expect(await inGerman("WAITS_NO_WORDS", { place: reference })).toContain(reference);
      const within = telling("WAITS_NO_WORDS", { place: reference });
      expect(await inGerman("WAITS_HELD", { _0: within })).toContain(reference);
    },
  );

  test("a sum has the marks of the locale", async () => {
    const waits = { spendable: { sum: "0.00100000" }, needed: { sum: "1,204.90000000" } };
    const shown = await inGerman("WAITS_THIS_NEEDS", waits);
    expect(shown).toContain("0,00100000 BTC");
    expect(shown).toContain("1.204,90000000 BTC");
  });

  test("each sum that another copy of the wallet paid has the marks of the locale", async () => {
    const one = (sum: string, payee: string) => telling("PAID_TO_ONE", { amount: { sum }, payee });
    const paid = telling("PAID_TO_AND", { before: one("0.50", "bc1q.5"), next: one("1,204.90", "bc1p") });
    const values = { txid: "f".repeat(64), at: { time: "2026-01-12T12:06:20Z" }, paid };
    const shown = await inGerman("COPY_IN_USE_PAID", values);
    expect(shown).toContain("0,50 BTC (bc1q.5), 1.204,90 BTC (bc1p)");
  });

  test("a time is shown as other times are", async () => {
    const at = "2026-01-12T12:06:20Z";
    const shown = await inGerman("WAITS_TURN", { at: { time: at } });
    const { showTime } = await import("../src/lib/format");
    const { nowMs } = await import("../src/lib/state/clock.svelte");
    expect(shown).toContain(showTime(at, nowMs()));
    expect(shown).not.toContain(at);
  });
});
