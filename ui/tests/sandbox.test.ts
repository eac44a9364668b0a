import { fireEvent, screen, waitFor } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { host, open } from "./panel";

const HONEST = {
  height: 112,
  tipHash: "0".repeat(64),
  mempool: [],
  customerAddress: "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",
  clock: "2026-01-12T12:06:20Z",
  faults: { chainDown: false, broadcast: "ok", keysLocked: false, feeRate: null, latencyMs: 0 },
};

describe("the sandbox", () => {
  test.each([
    ["The chain cannot be reached", "The chain cannot be reached now.", "The chain can be reached again."],
    [
      "The wallet's words cannot be read",
      "The wallet's words cannot be read now.",
      "The wallet's words can be read again.",
    ],
  ])("says which fault is on and which is off: %s", async (name, on, off) => {
    host.reply("sandbox", HONEST);
    open("#/sandbox");
    const fault = await screen.findByLabelText<HTMLInputElement>(name);
    await fireEvent.click(fault);
    expect(await screen.findByText(on)).toBeTruthy();
    await waitFor(() => expect(fault.checked).toBe(true));
    await fireEvent.click(fault);
    expect(await screen.findByText(off)).toBeTruthy();
  });

  test("sets and resets the faults of broadcasts and fee estimate", async () => {
    host.reply("sandbox", HONEST);
    open("#/sandbox");
    const broadcasts = await screen.findByLabelText<HTMLSelectElement>("Broadcasts of the gateway are");
    expect(broadcasts.value).toBe("ok");
    await fireEvent.change(broadcasts, { target: { value: "forget" } });
    expect(await screen.findByText("Broadcasts are answered as taken, but lost now.")).toBeTruthy();
    const estimate = screen.getByLabelText("Estimated fee rate (sat/vB)");
    await fireEvent.change(estimate, { target: { value: "250" } });
    expect(await screen.findByText("The estimate is 250 sat/vB now.")).toBeTruthy();
    await fireEvent.change(estimate, { target: { value: "" } });
    expect(await screen.findByText("The sandbox's own estimate is back.")).toBeTruthy();
    const put = host.askedFor("sandbox").filter((one) => "method" in one && one.method === "PUT");
    expect(put.map((one) => "body" in one && one.body)).toEqual([
      { broadcast: "forget" },
      { feeRate: 250 },
      { feeRate: null },
    ]);
  });

  test("mines only above the fee rate in the field", async () => {
    host.reply("sandbox", HONEST);
    open("#/sandbox");
    await fireEvent.click(await screen.findByText("Mine 1 block"));
    await fireEvent.input(screen.getByLabelText("Leave out fee rates below (sat/vB)"), {
      target: { value: "2.5" },
    });
    await waitFor(() => expect(screen.getByText<HTMLButtonElement>("Mine 1 block").disabled).toBe(false));
    await fireEvent.click(screen.getByText("Mine 1 block"));
    const post = host.askedFor("sandbox").filter((one) => "method" in one && one.method === "POST");
    expect(post.map((one) => "body" in one && one.body)).toEqual([
      { count: 1, empty: false },
      { count: 1, empty: false, minFeeRate: 2.5 },
    ]);
  });
});
