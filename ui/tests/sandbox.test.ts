import { fireEvent, screen, waitFor } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { host, open } from "./panel";

describe("the sandbox", () => {
  test.each([
    ["The chain cannot be reached", "The chain cannot be reached now.", "The chain can be reached again."],
    ["Broadcasts are refused", "Broadcasts are refused now.", "Broadcasts are taken again."],
  ])("says which fault is on and which is off: %s", async (name, on, off) => {
    host.reply("sandbox", {
      height: 112,
      tipHash: "0".repeat(64),
      mempool: [],
      clock: "2026-01-12T12:06:20Z",
      faults: { chainDown: false, broadcastRejects: false, latencyMs: 0 },
    });
    open("#/sandbox");
    const fault = await screen.findByLabelText<HTMLInputElement>(name);
    await fireEvent.click(fault);
    expect(await screen.findByText(on)).toBeTruthy();
    await waitFor(() => expect(fault.checked).toBe(true));
    await fireEvent.click(fault);
    expect(await screen.findByText(off)).toBeTruthy();
  });
});
