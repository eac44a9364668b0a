// The gateway's refusals, as the window words them.
import { afterEach, expect, test } from "vitest";
import type { CommandError } from "../src/lib/bindings/CommandError";
import type { Telling } from "../src/lib/bindings/Telling";
import { refused, worded } from "../src/lib/refusal";

afterEach(() => (document.documentElement.lang = ""));

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
