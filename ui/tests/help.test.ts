// The help: the manual's page for a screen, and the keys.
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { afterEach, describe, expect, test, vi } from "vitest";
import { payment } from "./fixture";
import { host, open } from "./panel";

afterEach(() => {
  vi.restoreAllMocks();
  document.documentElement.lang = "";
});

describe("the help", () => {
  test.each(["F1", "?"])("opens at %s with the page of the screen, and lists the keys", async (key) => {
    open("#/payouts");
    await screen.findByRole("heading", { name: "Payouts" });
    await fireEvent.keyDown(window, { key });
    const help = within(await screen.findByRole("dialog", { name: "Help" }));
    expect(await help.findByRole("heading", { name: "Paying out" })).toBeTruthy();
    expect(help.getByText("New payment, or new payout among the payouts")).toBeTruthy();
  });

  test("follows a link to another page", async () => {
    open("#/payments");
    await fireEvent.click(await screen.findByRole("button", { name: "Help" }));
    const help = within(await screen.findByRole("dialog", { name: "Help" }));
    await fireEvent.click(await help.findByRole("button", { name: "gets the coins back" }));
    expect(await help.findByRole("heading", { name: "Refund a customer" })).toBeTruthy();
  });

  test("shows the manual in the window's language, at the heading for the screen", async () => {
    const shown = vi.spyOn(Element.prototype, "scrollIntoView");
    open("#/test/till");
    const button = await screen.findByRole("button", { name: "Help" });
    document.documentElement.lang = "de";
    await fireEvent.click(button);
    const help = within(await screen.findByRole("dialog", { name: "Help" }));
    const heading = await help.findByRole("heading", { name: "An der Kasse verkaufen" });
    await waitFor(() => expect(shown.mock.contexts).toContain(heading));
    await fireEvent.click(help.getByRole("button", { name: "bekommt die Coins zurück" }));
    await waitFor(() =>
      expect(shown.mock.contexts.at(-1)).toHaveProperty("id", "manual-einem-kunden-geld-erstatten"),
    );
    expect(help.getByRole("option", { name: "Auszahlen" })).toHaveProperty("selected", true);
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
