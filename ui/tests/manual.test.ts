// The merchant's manual: its languages are alike, and each of its links leads somewhere.
import { marked, type Token, type Tokens } from "marked";
import PO from "pofile";
import { describe, expect, test } from "vitest";
import { anchorsOf, MANUAL, manualIn, PAGES, placeOf, placeOfScreen } from "../src/lib/manual";
import type { Route } from "../src/lib/state/route.svelte";

const DOCUMENTS = import.meta.glob<Token[]>("../../docs/**/*.md", { import: "default" });
const PICTURES = Object.keys(import.meta.glob("../../docs/pictures/*"));
const TEXTS = import.meta.glob<string>("../../languages/*.po", { query: "?raw", import: "default" });

/** The languages of the manual besides English: each has a folder. */
const LANGUAGES = [
  ...new Set(Object.keys(DOCUMENTS).flatMap((path) => /\/merchant\/([^/]+)\//.exec(path)?.[1] ?? [])),
];

const fileOf = (page: string, language: string) =>
  `../../docs/merchant/${language === "en" ? "" : `${language}/`}${page}`;

async function read(file: string): Promise<Token[]> {
  return (await DOCUMENTS[file]?.()) ?? [];
}

/** All tokens of a kind, those within others too. */
function tokensOf<T extends Token>(page: Token[], type: T["type"]): T[] {
  const found: T[] = [];
  marked.walkTokens(page, (token) => {
    if (token.type === type) found.push(token as T);
  });
  return found;
}

const headingsOf = (page: Token[]) => tokensOf<Tokens.Heading>(page, "heading");
const hrefsOf = (page: Token[]) => tokensOf<Tokens.Link>(page, "link").map(({ href }) => href);
const picturesOf = (page: Token[]) => tokensOf<Tokens.Image>(page, "image").map(({ href }) => href);
const commandsOf = (page: Token[]) => tokensOf<Tokens.Code>(page, "code").map(({ text }) => text);

/** The file to which an address in another file leads, and the heading in it. */
function target(href: string, from: string) {
  const { pathname, hash } = new URL(href, `file:///${from.replaceAll("../", "")}`);
  return { file: `../..${pathname}`, anchor: decodeURIComponent(hash.slice(1)) };
}

/** The links and pictures of a page that lead to nothing. */
async function brokenIn(file: string): Promise<string[]> {
  const page = await read(file);
  const broken = picturesOf(page).filter((href) => !PICTURES.includes(target(href, file).file));
  for (const href of hrefsOf(page).filter((address) => !address.startsWith("https:"))) {
    const to = target(href, file);
    const anchors = anchorsOf(await read(to.file));
    if (anchors.length === 0 || (to.anchor !== "" && !anchors.includes(to.anchor))) broken.push(href);
  }
  return broken;
}

/** The texts of the window in a language, with `…` for each value. */
async function textsIn(language: string): Promise<string[]> {
  const { items } = PO.parse((await TEXTS[`../../languages/${language}.po`]?.()) ?? "");
  return items
    .flatMap((item) => item.msgstr)
    .map((text) => text.replace(/<\/?\d+\/?>/g, "").replace(/\{\d+\}|#/g, "…"));
}

/** The names in bold of a page, which are those of buttons, fields and screens. */
const namesIn = (page: Token[]) =>
  tokensOf<Tokens.Strong>(page, "strong").flatMap(({ text }) =>
    text.replaceAll(/\s+/g, " ").replace("… BTC", "…").split(" → "),
  );

/** The headings to which a page links. Each is named by its number, which is the same in all languages. */
async function targetsOf(name: string, language: string): Promise<string[]> {
  const file = fileOf(name, language);
  const targets = hrefsOf(await read(file)).map(async (href) => {
    if (href.startsWith("https:")) return href;
    const to = target(href, file);
    const number = anchorsOf(await read(to.file)).indexOf(to.anchor);
    return `${to.file.replace(`/merchant/${language}/`, "/merchant/")} ${number}`;
  });
  return (await Promise.all(targets)).sort();
}

describe.each(["en", ...LANGUAGES])("the manual in %s", (language) => {
  test.each(PAGES)("leads somewhere with each link of %s", async (page) => {
    const file = fileOf(page, language);
    expect(await brokenIn(file)).toEqual([]);
    const anchors = anchorsOf(await read(file));
    expect(new Set(anchors).size).toBe(anchors.length);
  });

  test.each(PAGES)("calls buttons and screens in %s as the window does", async (page) => {
    const texts = await textsIn(language);
    const isKnown = (name: string) => texts.some((text) => text.includes(name));
    const names = namesIn(await read(fileOf(page, language)));
    expect(names.filter((name) => !isKnown(name) && !isKnown(name.replace(/\d+/, "…")))).toEqual([]);
  });
});

describe.each(LANGUAGES)("the manual in %s", (language) => {
  test("belongs to a language of the window", () => {
    expect(Object.keys(TEXTS)).toContain(`../../languages/${language}.po`);
  });

  test.each(PAGES)("has the headings, pictures, links and commands of %s", async (name) => {
    const [english, page] = [await read(fileOf(name, "en")), await read(fileOf(name, language))];
    expect(headingsOf(page).map(({ depth }) => depth)).toEqual(headingsOf(english).map(({ depth }) => depth));
    expect(picturesOf(page).map((href) => href.replace("../", ""))).toEqual(picturesOf(english));
    expect(commandsOf(page)).toEqual(commandsOf(english));
    expect(await targetsOf(name, language)).toEqual(await targetsOf(name, "en"));
  });

  test.each(Object.keys(MANUAL) as Route["screen"][])("has a page for the screen %s", async (screen) => {
    const manual = await manualIn(language);
    const { page, anchor } = await placeOfScreen(screen, manual);
    if (MANUAL[screen].anchor !== "") expect(anchorsOf(manual[page] ?? [])).toContain(anchor);
    expect(manual[page]).toEqual(await read(fileOf(page, language)));
  });
});

test.each(Object.entries(MANUAL))("the English manual has a page for the screen %s", async (_, place) => {
  const anchors = anchorsOf(await read(fileOf(place.page, "en")));
  expect(anchors.length).toBeGreaterThan(0);
  if (place.anchor !== "") expect(anchors).toContain(place.anchor);
});

test("a language without a manual has the English one", async () => {
  expect(await manualIn("tlh")).toEqual(await manualIn("en"));
});

test("a link leads to a page of the manual, or out of it", () => {
  expect(placeOf("paying-out.md#cancel-it", "README.md")).toEqual({
    page: "paying-out.md",
    anchor: "cancel-it",
  });
  expect(placeOf("#words", "real-money.md")).toEqual({ page: "real-money.md", anchor: "words" });
  expect(placeOf("../reference/ports.md", "README.md")).toBeUndefined();
  expect(placeOf("https://example.com", "README.md")).toBeUndefined();
});
