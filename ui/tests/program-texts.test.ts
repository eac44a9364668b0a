// The gateway's sentences, as the window shows them.
import { describe, expect, test } from "vitest";
import { inFormsWords, told } from "../src/lib/words";

describe("a sentence of the gateway", () => {
  test("begins with a capital letter", () => {
    expect(told("the sender is on hold: no gateway is running")).toBe(
      "The sender is on hold: no gateway is running",
    );
  });

  test("loses its commands before it is shown", () => {
    expect(told("the disk is full (/b): make room (`tillgate doctor` tells where)")).toBe(
      "The disk is full (/b): make room",
    );
  });

  test("gets the form's label in place of a field's name", () => {
    expect(inFormsWords("btcAmount must be more than 0", { btcAmount: "The amount" })).toBe(
      "The amount must be more than 0",
    );
  });

  test("shows a time as is usual here", () => {
    expect(told("it is sent at about 2026-01-12T12:06:20Z")).toMatch(/^It is sent at about .*\d/);
    expect(told("it is sent at about 2026-01-12T12:06:20Z")).not.toContain("T12");
  });
});
