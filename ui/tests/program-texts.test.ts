// The gateway's sentences in another language than English.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inLanguage, learn } from "../src/lib/language/program";
import { inFormsWords, told } from "../src/lib/words";

beforeEach(() =>
  learn([
    ["{0} must be {1}", "{0} muss sein: {1}"],
    ["must be more than 0", "muss mehr als 0 sein"],
    [
      "must be worth at most {0} BTC: ask for less",
      "darf höchstens {0} BTC wert sein: verlangen Sie weniger",
    ],
    ["the sender is on hold: {0}", "das Senden ist angehalten: {0}"],
    ["no gateway is running", "kein Gateway läuft"],
    ["it is sent at about {0}", "sie wird etwa um {0} gesendet"],
    [
      "the disk is full ({0}): make room (`tillgate doctor` tells where)",
      "die Platte ist voll ({0}): schaffen Sie Platz (`tillgate doctor` sagt, wo)",
    ],
  ]),
);
afterEach(() => learn([]));

describe("a sentence of the gateway", () => {
  test("is found by its template, also within another sentence and at its beginning", () => {
    expect(told("the sender is on hold: no gateway is running")).toBe(
      "Das Senden ist angehalten: kein Gateway läuft",
    );
    expect(inLanguage("No gateway is running")).toBe("Kein Gateway läuft");
    expect(told("something that nobody translated")).toBe("Something that nobody translated");
  });

  test("loses its commands before it is shown", () => {
    expect(told("the disk is full (/b): make room (`tillgate doctor` tells where)")).toBe(
      "Die Platte ist voll (/b): schaffen Sie Platz",
    );
  });

  test("gets the form's label in place of a field's name", () => {
    const labels = { btcAmount: "Der Betrag" };
    expect(inFormsWords("btcAmount must be more than 0", labels)).toBe("Der Betrag muss mehr als 0 sein");
    expect(inFormsWords("btcAmount must be worth at most 1 BTC: ask for less", labels)).toBe(
      "Der Betrag darf höchstens 1 BTC wert sein: verlangen Sie weniger",
    );
  });

  test("shows a time as is usual here", () => {
    expect(told("it is sent at about 2026-01-12T12:06:20Z")).toMatch(/^Sie wird etwa um .*\d.* gesendet$/);
    expect(told("it is sent at about 2026-01-12T12:06:20Z")).not.toContain("T12");
  });
});
