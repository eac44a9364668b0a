// The help: the manual's page for a screen, and the keys.
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { anchorOf, MANUAL, PAGES, placeOf } from "../src/lib/manual";
import { payment } from "./fixture";
import { host, open } from "./panel";

const headings = (page: string) =>
  (PAGES[page] ?? []).flatMap((token) =>
    token.type === "heading" && "text" in token ? [String(token.text)] : [],
  );

describe("the manual", () => {
  test.each(Object.entries(MANUAL))("has a page for the screen %s", (_, { page, anchor }) => {
    expect(headings(page).length).toBeGreaterThan(0);
    if (anchor !== "") expect(headings(page).map(anchorOf)).toContain(anchor);
  });

  test("leads only to its own pages", () => {
    expect(placeOf("paying-out.md#cancel-it", "README.md")).toEqual({
      page: "paying-out.md",
      anchor: "cancel-it",
    });
    expect(placeOf("#words", "real-money.md")).toEqual({ page: "real-money.md", anchor: "words" });
    expect(placeOf("../reference/ports.md", "README.md")).toBeUndefined();
    expect(placeOf("https://example.com", "README.md")).toBeUndefined();
  });
});

describe("the help", () => {
  test.each(["F1", "?"])("opens at %s with the page of the screen, and lists the keys", async (key) => {
    open("#/payouts");
    await screen.findByRole("heading", { name: "Payouts" });
    await fireEvent.keyDown(window, { key });
    const help = within(await screen.findByRole("dialog", { name: "Help" }));
    expect(help.getByRole("heading", { name: "Paying out" })).toBeTruthy();
    expect(help.getByText("New payment, or new payout among the payouts")).toBeTruthy();
  });

  test("follows a link to another page", async () => {
    open("#/payments");
    await fireEvent.click(await screen.findByRole("button", { name: "Help" }));
    const help = within(await screen.findByRole("dialog", { name: "Help" }));
    await fireEvent.click(help.getByRole("button", { name: "gets the coins back" }));
    expect(await help.findByRole("heading", { name: "Refund a customer" })).toBeTruthy();
  });

  test("does not open while a person types", async () => {
    open("#/payments");
    await fireEvent.keyDown(await screen.findByRole("searchbox"), { key: "?" });
    expect(screen.queryByRole("dialog", { name: "Help" })).toBeNull();
  });
});

describe("the keyboard", () => {
  test("goes back from a record to its list with Esc", async () => {
    host.reply("showPayment", payment());
    open(`#/payment/${"a".repeat(40)}`);
    await screen.findByText("Where to pay");
    await fireEvent.keyDown(window, { key: "Escape" });
    await waitFor(() => expect(location.hash).toBe("#/test/payments"));
  });

  test("skips the menu", async () => {
    open("#/payments");
    await fireEvent.click(await screen.findByRole("button", { name: "Skip to the content" }));
    await waitFor(() => expect(document.activeElement?.textContent).toBe("Payments"));
  });
});
