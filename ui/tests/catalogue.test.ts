// The window's words for each sentence of the gateway, in each language.
import { afterEach, describe, expect, test } from "vitest";
import { VALUES } from "../src/lib/bindings";
import { openedIn } from "./opened";

const CODES = Object.keys(VALUES) as (keyof typeof VALUES)[];

/** Values that the window leaves out on purpose. */
const UNUSED: Record<string, readonly string[]> = {
  // The remedy of a program that repeats its request.
  APPROVE_NOT_PENDING: ["_0_2"],
  // English nouns. The window has its own, in the form for the number.
  GIVEN_UP: ["count_2"],
  HELD_AFTER_SCAN_AFTER_BACKUP: ["count_2"],
  HELD_AFTER_SCAN_FOUND: ["count_2"],
  HELD_AFTER_SCAN_MISSING: ["count_2"],
  HELD_AFTER_SCAN_PAYMENTS: ["count_2"],
  HELD_AFTER_SCAN_REFUNDABLE: ["count_2"],
  STAFF_WARNING_TOO_LONG: ["isChange"],
  STUCK_SENTENCE_UNCONFIRMED: ["hours_2"],
  // The window calls each a server.
  DOWN_LATE: ["who"],
  DOWN_LESS_WORK: ["who"],
  DOWN_NO_WAY: ["who"],
  DOWN_OTHER_NETWORK: ["who", "kind"],
};

/** Values that are numbers, which choose the form of a noun. */
const NUMBERS: ReadonlySet<string> = new Set(["count", "hours"]);

type Words = Partial<Record<string, (values: Record<string, string>) => string>>;

const LANGUAGES = Object.keys(import.meta.glob("../../languages/*.po")).map((path) =>
  path.replace(/^.*\/|\.po$/g, ""),
);

/** The words of all codes in a language, as a window shows them that was opened in it. */
async function catalogueIn(language: string): Promise<Words> {
  openedIn(language);
  return (await import("../src/lib/sentences")).CATALOGUE as unknown as Words;
}

const marked = (code: keyof typeof VALUES) =>
  Object.fromEntries(VALUES[code].map((name: string) => [name, NUMBERS.has(name) ? "7" : `<${name}>`]));

afterEach(() => {
  globalThis.tillgateLocale = undefined;
  document.documentElement.lang = "";
});

describe.each(LANGUAGES)("the words of the gateway's sentences in %s", (language) => {
  test("exist for each code, and show each value", async () => {
    const words = await catalogueIn(language);
    const faults = CODES.flatMap((code) => {
      const shown = words[code]?.(marked(code));
      if (shown === undefined) return [`${code} has no words`];
      const lost = VALUES[code].filter((name: string) => {
        return !shown.includes(NUMBERS.has(name) ? "7" : `<${name}>`) && !UNUSED[code]?.includes(name);
      });
      const raw = /[{}]|undefined/.test(shown) ? [`${code} shows a raw value: ${shown}`] : [];
      return [...raw, ...lost.map((name) => `${code} does not show ${name}`)];
    });
    expect(faults).toEqual([]);
  });
});

describe.each(LANGUAGES.filter((language) => language !== "en"))("in %s", (language) => {
  test("no code has the English words", async () => {
    const [english, other] = [await catalogueIn("en"), await catalogueIn(language)];
    const same = CODES.filter((code) => {
      const shown = english[code]?.(marked(code));
      // A sentence that only joins values and units has no words of its own.
      const own = shown?.replace(/<\w+>|\bBTC\b/g, "") ?? "";
      return shown === other[code]?.(marked(code)) && /\p{L}/u.test(own);
    });
    expect(same).toEqual([]);
  });

  test("a long reference is told at once, and a name stays as it is", async () => {
    await catalogueIn(language);
    const { said } = await import("../src/lib/refusal");
    const reference = `user 12 ${"1".repeat(86)}`;
    const began = performance.now();
    const told = said({
      code: "REFUSAL_PASSWORD_NOT_STORED",
      values: { _0: reference },
      message: `the password could not be stored: ${reference}`,
    });
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(told).toContain(reference);
    expect(told).not.toContain("the password could not be stored");
  });
});
