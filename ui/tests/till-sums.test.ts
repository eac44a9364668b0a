import { describe, expect, test } from "vitest";
import {
  afterBackspace,
  afterCentsKey,
  afterKey,
  emptySale,
  MESSAGE_MAX,
  messageOf,
  minorOf,
  moved,
  perMilleOf,
  plainText,
  putAside,
  shownTax,
  shownText,
  shownTyped,
  sums,
  withoutOne,
  withProduct,
} from "../src/lib/till";

const typed = (keys: string, decimals = 2) =>
  [...keys].reduce((text, key) => afterKey(text, key, decimals), "");

describe("typing a price", () => {
  test.each([
    ["125", 2, "125"],
    ["12,5", 2, "12.5"],
    [".5", 2, "0.5"],
    ["007", 2, "7"],
    ["1.2.3", 2, "1.23"],
    ["1.239", 2, "1.23"],
    ["1.2345", 3, "1.234"],
    ["15.00", 0, "1500"],
    ["1234567890", 2, "123456789"],
  ])("%s with %i decimals is %s", (keys, decimals, text) => {
    expect(typed(keys, decimals)).toBe(text);
  });

  test.each([
    ["", "0"],
    ["0.", "0."],
    ["1234.5", "1,234.5"],
    ["1234567", "1,234,567"],
  ])("%s is shown as %s", (text, shown) => expect(shownTyped(text)).toBe(shown));
});

describe("typing the cents first", () => {
  const typedCents = (keys: string, decimals = 2) =>
    [...keys].reduce((text, key) => afterCentsKey(text, key, decimals), "");

  test.each([
    ["450", 2, "4.50"],
    ["5", 2, "0.05"],
    ["1.25", 2, "1.25"],
    ["000", 2, ""],
    ["1500", 0, "1500"],
    ["1234", 3, "1.234"],
    ["12345678901234", 2, "123456789.01"],
  ])("%s with %i decimals is %s", (keys, decimals, text) => {
    expect(typedCents(keys, decimals)).toBe(text);
  });

  test("Backspace takes the last cent away", () => {
    const after = (typed: string) => afterBackspace({ ...emptySale(), typed }, 2, true).typed;
    expect([after("4.50"), after("0.05"), after("12.34")]).toEqual(["0.45", "", "1.23"]);
  });
});

describe("a tax rate", () => {
  test.each([
    ["19", 190, "19"],
    ["7,7 %", 77, "7.7"],
    ["0", 0, "0"],
    ["100", 1000, "100"],
  ])("%s is %i per mille", (text, perMille, shown) => {
    expect(perMilleOf(text)).toBe(perMille);
    expect(shownTax(perMille)).toBe(shown);
  });

  test.each(["", "x", "-1", "101", "7.75", "1e1"])("%s is none", (text) => {
    expect(perMilleOf(text)).toBeUndefined();
  });
});

describe("a price", () => {
  test.each([
    ["2.50", 2, 250n],
    ["2,5", 2, 250n],
    ["3", 2, 300n],
    ["3.", 2, 300n],
    [".5", 2, 50n],
    ["1500", 0, 1500n],
    ["1.234", 3, 1234n],
  ])("%s with %i decimals is %s minor units", (text, decimals, minor) => {
    expect(minorOf(text, decimals)).toBe(minor);
  });

  test.each([
    ["", 2],
    [".", 2],
    ["x", 2],
    ["-1", 2],
    ["1.234", 2],
    ["1.5", 0],
    ["1e3", 2],
    ["1,234.50", 2],
    ["1234567890", 2],
  ])("%s with %i decimals is none", (text, decimals) => expect(minorOf(text, decimals)).toBeUndefined());

  test.each([
    [5n, 2, "0.05", "0.05"],
    [123450n, 2, "1234.50", "1,234.50"],
    [1500n, 0, "1500", "1,500"],
    [1n, 3, "0.001", "0.001"],
    [0n, 2, "0.00", "0.00"],
  ])("%s minor units are written exactly", (minor, decimals, plain, shown) => {
    expect(plainText(minor, decimals)).toBe(plain);
    expect(shownText(minor, decimals)).toBe(shown);
  });
});

describe("a sale", () => {
  test("adds sums that floating point would miss", () => {
    const lines = [
      { name: "", minor: 10n, count: 1, taxPerMille: null },
      { name: "", minor: 20n, count: 1, taxPerMille: null },
    ];
    expect(sums({ ...emptySale(), lines }, 2).total).toBe(30n);
    const large = [{ name: "", minor: 90_071_992_547_409_93n, count: 3, taxPerMille: null }];
    expect(sums({ ...emptySale(), lines: large }, 2).total).toBe(27_021_597_764_222_979n);
  });

  test.each([
    ["10", 10, 100n],
    ["0.05", 10, 1n],
    ["0.04", 10, 0n],
    ["9.99", 15, 150n],
    ["10", 0, 0n],
  ])("a tip on %s of %i percent is %s, half rounded up", (text, tipPercent, tip) => {
    expect(sums({ ...emptySale(), typed: text, tipPercent }, 2).tip).toBe(tip);
  });

  test("counts the same product in one line", () => {
    const two = withProduct(withProduct([], "Tea", 300n), "Tea", 300n);
    expect(two).toEqual([{ name: "Tea", minor: 300n, count: 2, taxPerMille: null }]);
    expect(withProduct(two, "Tea", 350n)).toHaveLength(2);
    expect(withoutOne(withoutOne(two, 0), 0)).toEqual([]);
  });

  test("Backspace removes the digits first, and then the products", () => {
    const draft = { ...emptySale(), lines: withProduct([], "Tea", 300n), typed: "1" };
    const bare = afterBackspace(draft, 2, false);
    expect([bare.typed, bare.lines.length]).toEqual(["", 1]);
    expect(afterBackspace(bare, 2, false).lines).toEqual([]);
    expect(afterBackspace(emptySale(), 2, false)).toEqual(emptySale());
  });

  test("puts a typed amount aside once", () => {
    const aside = putAside({ ...emptySale(), typed: "4.5" }, 2);
    expect(aside).toMatchObject({
      typed: "",
      lines: [{ name: "", minor: 450n, count: 1, taxPerMille: null }],
    });
    expect(putAside(aside, 2)).toBe(aside);
  });

  test("writes a message that the gateway takes", () => {
    const lines = withProduct(
      [{ name: "", minor: 100n, count: 1, taxPerMille: null }],
      "é".repeat(600),
      100n,
    );
    const message = messageOf({ ...emptySale(), lines, note: " for Ada " }, 2);
    expect(message.startsWith("for Ada; é")).toBe(true);
    expect([...message]).toHaveLength(MESSAGE_MAX);
  });

  test("moves an item within the list only", () => {
    expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
    expect(moved(["a", "b"], 1, 0)).toEqual(["b", "a"]);
    expect(moved(["a", "b"], 0, 2)).toEqual(["a", "b"]);
    expect(moved(["a", "b"], 0, -1)).toEqual(["a", "b"]);
  });
});
