import { describe, expect, test, vi } from "vitest";
import { plain, plural, shortId, showTime, svgSource, timeLeft, wholeTime, zoneAt } from "../src/lib/format";
import { inFormsWords, stateWords, toneOf } from "../src/lib/words";
import { hrefOf, parseAddress } from "../src/lib/state/route.svelte";

// A zone with summer time. It is set before any code reads the zone.
vi.hoisted(() => vi.stubEnv("TZ", "Europe/Vienna"));

const NOW = Date.parse("2026-01-12T12:00:00Z");

describe("a time", () => {
  test("is named by its day if it is of today or yesterday", () => {
    expect(showTime("2026-01-12T12:00:00Z", NOW)).toMatch(/^today, /);
    expect(showTime("2026-01-11T12:00:00Z", NOW)).toMatch(/^yesterday, /);
    expect(showTime("2026-01-10T12:00:00Z", NOW)).toMatch(/^Jan 10, /);
  });

  test("has a year only if it is not this year", () => {
    expect(showTime("2026-01-10T12:00:00Z", NOW)).not.toContain("2026");
    expect(showTime("2025-12-10T12:00:00Z", NOW)).toContain("2025");
  });

  test("names its zone only if its offset differs from the present one", () => {
    const winter = zoneAt(new Date(NOW));
    const summer = zoneAt(new Date("2026-07-12T12:00:00Z"));
    expect([winter, summer]).toEqual(["GMT+1", "GMT+2"]);
    expect(showTime("2026-01-10T12:00:00Z", NOW)).not.toContain(winter);
    expect(showTime("2025-07-10T12:00:00Z", NOW)).toContain(summer);
  });

  test("in full has its day, its zone and its ISO 8601 form", () => {
    const told = wholeTime("2026-01-12T11:04:05Z");
    for (const part of ["January 12", "2026", "12:04:05", "GMT+1", "2026-01-12T11:04:05Z"]) {
      expect(told).toContain(part);
    }
    expect(wholeTime("never")).toBe("never");
  });
});

test("characters that could reorder a line are escaped, others stay", () => {
  expect(plain("pay \u202e09.9\u202c to \u2066me\u2069\n")).toBe(
    "pay \\u{202e}09.9\\u{202c} to \\u{2066}me\\u{2069}\\u{a}",
  );
  for (const ordinary of ["Café Genève", "שלום", "👩‍🚀", "日本"]) expect(plain(ordinary)).toBe(ordinary);
});

describe("time left", () => {
  test.each([
    ["2026-01-12T12:00:00Z", undefined],
    ["2026-01-12T11:59:59Z", undefined],
    ["2026-01-12T12:00:00.400Z", "1 s"],
    ["2026-01-12T12:29:03Z", "29 min 3 s"],
    ["2026-01-12T14:05:00Z", "2 h 5 min"],
    ["2026-01-15T13:00:00Z", "3 d 1 h"],
    ["never", undefined],
  ])("until %s is %s", (iso, expected) => {
    expect(timeLeft(iso, NOW)).toBe(expected);
  });
});

describe("a payment's state in words", () => {
  const none = { whyInvalid: null, confirmations: 0, confirmationsWanted: 1 };
  test.each<[Parameters<typeof stateWords>[0], string]>([
    [{ ...none, state: "NEW" }, "Waiting for payment"],
    [{ ...none, state: "UNCONFIRMED" }, "Received, 0 of 1 confirmation"],
    [{ ...none, state: "UNCONFIRMED", confirmationsWanted: 0 }, "Received, being checked"],
    [{ ...none, state: "UNCONFIRMED", confirmations: 14 }, "Received, 14 confirmations"],
    [{ ...none, state: "INVALID", whyInvalid: "SHORT_PAID" }, "Short paid"],
    [{ ...none, state: "INVALID", whyInvalid: "REVERSED" }, "Reversed"],
    [{ ...none, state: "INVALID", whyInvalid: "WITHDRAWN" }, "Coins withdrawn"],
  ])("%o", (payment, said) => {
    expect(stateWords(payment)).toBe(said);
  });

  test("only a reversal is red", () => {
    expect(toneOf("INVALID", "REVERSED")).toBe("bad");
    expect(toneOf("INVALID", "SHORT_PAID")).not.toBe("bad");
  });
});

test("one is singular", () => {
  expect([0, 1, 2].map((number) => plural(number, ["# block", "# blocks"]))).toEqual([
    "0 blocks",
    "1 block",
    "2 blocks",
  ]);
});

test("long ids show both ends, short ones all", () => {
  expect(shortId("0123456789abcdef0123456789abcdef")).toBe("01234567…abcdef");
  expect(shortId("order-7")).toBe("order-7");
});

test("an SVG stays inside the image's source", () => {
  expect(svgSource('<svg a="#">')).toBe("data:image/svg+xml,%3Csvg%20a%3D%22%23%22%3E");
});

describe("addresses of screens", () => {
  test.each([
    "#/test/payments",
    "#/test/payment/abc",
    "#/production/new",
    "#/production/anomalies",
    "#/production/keys",
    "#/test/sandbox",
  ])("%s survives parsing", (href) => {
    const { environment, route } = parseAddress(href);
    expect(hrefOf(route, environment)).toBe(href);
  });

  test("an unknown screen is Home", () => {
    expect(parseAddress("#/test/payment/").route).toEqual({ screen: "payments" });
    expect(parseAddress("#/elsewhere").route).toEqual({ screen: "home" });
    expect(parseAddress("").route).toEqual({ screen: "home" });
  });

  test("an address without an environment belongs to the shown one", () => {
    expect(parseAddress("#/keys")).toEqual({ environment: undefined, route: { screen: "keys" } });
    expect(hrefOf({ screen: "keys" })).toBe("#/test/keys");
  });
});

describe("an error in a form", () => {
  const labels = { amount: "Amount", merchantTransactionId: "Your reference" };
  test.each([
    ["amount must be more than 0", "Amount must be more than 0"],
    [
      "amount is too large; merchantTransactionId may have at most 255 characters",
      "Amount is too large; Your reference may have at most 255 characters",
    ],
    ["no live key is named amount", "No live key is named amount"],
  ])("names a field by the form's label: %s", (message, said) => {
    expect(inFormsWords(message, labels)).toBe(said);
  });
});
