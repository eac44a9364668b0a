// The files of the languages: each text of the window is in them, and translated.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import PO from "pofile";
import { expect, describe, test } from "vitest";
import { languageOf } from "../src/lib/language/choose";
import { inLocale, sumsInLocale } from "../src/lib/language/sums";

const FOLDER = "../languages";
const languages = readdirSync(FOLDER).filter((name) => name.endsWith(".po"));

/** The places of a text that are filled at run time, in any order. */
const places = (text: string) => (text.match(/\{\d+\}|<\/?\d+\/?>/g) ?? []).sort();

test("each text of the window is in the files, and each text in them is used", () => {
  // It ends with an error if `npm run texts` would change a file.
  execFileSync("npx", ["wuchale", "check", "--full"], { stdio: "pipe" });
}, 60_000);

describe.each(languages)("%s", (name) => {
  const content = readFileSync(`${FOLDER}/${name}`, "utf8");
  const { items } = PO.parse(content);

  test("has no references to the sources, which would change with each moved line", () => {
    expect(content).not.toMatch(/^#/m);
  });

  test("translates each text", () => {
    const missing = items.filter(
      (item) => item.msgstr.length === 0 || item.msgstr.some((text) => text === ""),
    );
    expect(missing.map((item) => item.msgid)).toEqual([]);
  });

  test("fills the same places as English", () => {
    const differing = items.filter((item) => {
      const wanted = item.msgid_plural ? ["#"] : places(item.msgid);
      const found = item.msgid_plural
        ? (item.msgstr.at(-1)?.match(/#/g) ?? [])
        : places(item.msgstr[0] ?? "");
      return String(wanted) !== String(found);
    });
    expect(differing.map((item) => item.msgid)).toEqual([]);
  });
});

test("a locale has the language that it names, or English", () => {
  const existing = ["de", "en", "pt-BR"];
  expect(["de", "de-AT", "pt-BR", "pt", "fr-CH"].map((locale) => languageOf(locale, existing))).toEqual([
    "de",
    "de",
    "pt-BR",
    "en",
    "en",
  ]);
});

test("a sum within a sentence is written as any other sum", () => {
  const said = "1,204.90 USD received, 0.00050000 BTC to bc1q.5 at 12.30";
  expect(sumsInLocale(said)).toBe("$1,204.90 received, 0.00050000 BTC to bc1q.5 at 12.30");
});

test("a sum has the marks of the locale", () => {
  expect(inLocale("1,204.90", [".", ","])).toBe("1.204,90");
  expect(inLocale("65,000", ["\u00a0", ","])).toBe("65\u00a0000");
});
