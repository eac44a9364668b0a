// The language that a person chose for this computer.
import { afterEach, beforeEach, expect, test } from "vitest";
import { keepLanguage, localeIn } from "../src/lib/language/locale";
import { openedIn } from "./opened";

beforeEach(() => localStorage.clear());

afterEach(() => {
  localStorage.clear();
  globalThis.tillgateLocale = undefined;
  document.documentElement.lang = "";
});

/** The name of a paid payment in a window that is opened on a system with this locale. */
async function paidIn(system: string): Promise<string> {
  openedIn(system);
  return (await import("../src/lib/words")).STATE_WORDS.CONFIRMED;
}

test("the window speaks the chosen language, whatever the system speaks", async () => {
  keepLanguage("de");
  expect(await paidIn("en-GB")).toBe("Bezahlt");
  expect(document.documentElement.lang).toBe("de");
  keepLanguage("en");
  expect(await paidIn("de-AT")).toBe("Paid");
  keepLanguage("");
  expect(await paidIn("de-AT")).toBe("Bezahlt");
});

test("a chosen language changes no region, by which the shop's currency is found", async () => {
  keepLanguage("en");
  openedIn("de-AT");
  const { locale, region } = await import("../src/lib/language/locale");
  expect([locale, region]).toEqual(["en-AT", "AT"]);
});

test.each([
  ["", "de-AT", "de-AT"],
  ["de", "de-AT", "de-AT"],
  ["en", "de-AT", "en-AT"],
  ["pt-BR", "de-AT", "pt-BR"],
  ["en", "de", "en"],
])("the language “%s” on the system %s is the locale %s", (language, system, locale) => {
  expect(localeIn(language, system)).toBe(locale);
});
