// Addresses that a person types, pastes or reads from a picture of a QR code.
import { fireEvent, screen, waitFor } from "@testing-library/svelte";
import encodeQR from "qr";
import { decodeQR } from "qr/decode.js";
import { describe, expect, test } from "vitest";
import { requestedBy } from "../src/lib/address";
import { ADDRESS, estimate } from "./fixture";
import { host, open } from "./panel";

/** The pixels of a QR code, eight for each module. */
function picture(text: string) {
  const modules = encodeQR(text, "raw", { border: 4 });
  const scale = 8;
  const side = modules.length * scale;
  const data = new Uint8ClampedArray(side * side * 4).fill(255);
  for (let y = 0; y < side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      if (modules[Math.floor(y / scale)]?.[Math.floor(x / scale)]) data.set([0, 0, 0], (y * side + x) * 4);
    }
  }
  return { width: side, height: side, data };
}

describe("an address", () => {
  test.each([
    [ADDRESS, { address: ADDRESS }],
    [`  ${ADDRESS} `, { address: ADDRESS }],
    [`bitcoin:${ADDRESS}`, { address: ADDRESS }],
    [`BITCOIN:${ADDRESS}?amount=0.5&label=Ada`, { address: ADDRESS, btcAmount: "0.5" }],
    [`bitcoin:${ADDRESS}?amount=much`, { address: ADDRESS }],
    ["", { address: "" }],
  ])("is read from %s", (text, requested) => expect(requestedBy(text)).toEqual(requested));

  test("is read from the picture of a QR code", () => {
    expect(requestedBy(decodeQR(picture(`bitcoin:${ADDRESS}?amount=0.01`)))).toEqual({
      address: ADDRESS,
      btcAmount: "0.01",
    });
  });

  test("takes over the sum of a pasted URI only when a person agrees", async () => {
    host.reply("estimatePayout", estimate());
    open("#/new-payout");
    const field = await screen.findByLabelText<HTMLInputElement>("Address");
    const clipboardData = { files: [], getData: () => `bitcoin:${ADDRESS}?amount=0.02` };
    await fireEvent.paste(field, { clipboardData });
    expect(field.value).toBe(ADDRESS);
    expect(screen.getByLabelText<HTMLInputElement>("Amount").value).toBe("");
    await fireEvent.click(await screen.findByRole("button", { name: "Use this amount" }));
    await waitFor(() => expect(screen.getByLabelText<HTMLInputElement>("Amount").value).toBe("0.02"));
  });

  test("of the simulated customer is offered in the sandbox", async () => {
    host.reply("estimatePayout", estimate());
    host.reply("sandbox", { customerAddress: ADDRESS });
    open("#/new-payout");
    await fireEvent.click(await screen.findByRole("button", { name: /simulated customer's address/ }));
    expect(screen.getByLabelText<HTMLInputElement>("Address").value).toBe(ADDRESS);
  });

  test("in a picture without a code is asked for again", async () => {
    host.reply("estimatePayout", estimate());
    open("#/new-payout");
    const field = await screen.findByLabelText("Address");
    const files = [new File(["no picture"], "a.png", { type: "image/png" })];
    await fireEvent.drop(field, { dataTransfer: { files } });
    expect(await screen.findByText(/shows no QR code that can be read/)).toBeTruthy();
  });
});
