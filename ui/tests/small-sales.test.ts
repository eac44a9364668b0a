import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import type { FiatView } from "../src/lib/bindings";
import { status, telling } from "./fixture";
import { host, open } from "./panel";

const twenty: FiatView = { minor: 2_000, text: "20.00", shown: "20.00", currency: "EUR" };

async function question() {
  host.reply("status", { ...status, currencies: ["EUR", "USD"] });
  open("#/home");
  return within(await screen.findByRole("group", { name: "When is a small sale final?" }));
}

describe("small sales", () => {
  test("wait for a block until the merchant sets a price in the shop's currency", async () => {
    const choice = await question();
    const atOnce = choice.getByRole("radio", { name: /As soon as the network/ });
    expect(choice.getByRole("radio", { name: /After the next block/ })).toHaveProperty("checked", true);
    await fireEvent.click(atOnce);
    const price = choice.getByRole("textbox", { name: "Sales up to (EUR)" });
    expect(document.activeElement).toBe(price);
    expect(host.askedFor("setSmallSales")).toEqual([]);
    host.reply("setSmallSales", { upTo: twenty, obstacle: null, isServerForeign: false });
    await fireEvent.change(price, { target: { value: "20,00" } });
    await waitFor(() =>
      expect(host.askedFor("setSmallSales")).toEqual([
        { command: "setSmallSales", currency: "EUR", upTo: "20,00" },
      ]),
    );
  });

  test("wait for a block again once the merchant says so", async () => {
    host.reply("showSmallSales", { upTo: twenty, obstacle: null, isServerForeign: false });
    host.reply("setSmallSales", { upTo: null, obstacle: null, isServerForeign: false });
    const choice = await question();
    expect(choice.getByRole("textbox", { name: "Sales up to (EUR)" })).toHaveProperty("value", "20.00");
    await fireEvent.click(choice.getByRole("radio", { name: /After the next block/ }));
    await waitFor(() => expect(host.askedFor("setSmallSales")[0]).toMatchObject({ upTo: "" }));
  });

  test("are no choice while the server knows no usual fees", async () => {
    const obstacle = telling("needs fees", "SMALL_SALES_OBSTACLE_NO_ESTIMATE", {});
    host.reply("showSmallSales", { upTo: null, obstacle, isServerForeign: false });
    const choice = await question();
    expect(choice.getByRole("radio", { name: /As soon as the network/ })).toHaveProperty("disabled", true);
    expect(choice.getByRole("status").textContent).toMatch(
      /No sale is final at once now.*try again in some hours/,
    );
  });

  test("tell a wrong price at its field", async () => {
    host.reply("setSmallSales", {
      errorType: "VALIDATION_FAILED",
      message: "upTo must be more than 0",
      field: "upTo",
    });
    const choice = await question();
    await fireEvent.change(choice.getByRole("textbox"), { target: { value: "0" } });
    expect(await choice.findByText(/must be more than 0/)).toBeTruthy();
  });

  test("say whose word they rest on if the server is not the merchant's own", async () => {
    host.reply("showSmallSales", { upTo: null, obstacle: null, isServerForeign: true });
    const choice = await question();
    expect(choice.getByText(/belongs to somebody else, who could make up such a payment/)).toBeTruthy();
  });

  test("in a former currency of the shop tell it, and are set anew in the shop's", async () => {
    const dollars = { ...twenty, currency: "USD" };
    host.reply("showSmallSales", { upTo: dollars, obstacle: null, isServerForeign: false });
    host.reply("setSmallSales", { upTo: twenty, obstacle: null, isServerForeign: false });
    const choice = await question();
    expect(choice.getByText("Now up to $20.00.")).toBeTruthy();
    await fireEvent.change(choice.getByRole("textbox"), { target: { value: "20" } });
    await waitFor(() =>
      expect(host.askedFor("setSmallSales")[0]).toMatchObject({ currency: "EUR", upTo: "20" }),
    );
  });

  test("stay what they are if the gateway refuses the change", async () => {
    host.reply("showSmallSales", { upTo: twenty, obstacle: null, isServerForeign: false });
    host.reply("setSmallSales", { errorType: "INTERNAL_ERROR", message: "the disk is full", field: null });
    const choice = await question();
    await fireEvent.click(choice.getByRole("radio", { name: /After the next block/ }));
    await choice.findByText(/disk is full/);
    expect(choice.getByRole("radio", { name: /As soon as the network/ })).toHaveProperty("checked", true);
    expect(choice.getByRole("radio", { name: /After the next block/ })).toHaveProperty("checked", false);
  });

  test("without a price say that each sale still waits for a block", async () => {
    const choice = await question();
    await fireEvent.click(choice.getByRole("radio", { name: /As soon as the network/ }));
    expect(choice.getByText("Type the highest price. Until then each sale waits for a block.")).toBeTruthy();
  });
});
