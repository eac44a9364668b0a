import type { AnomalyKind } from "../src/lib/bindings/AnomalyKind";
import { fireEvent, screen, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { acceptance, anomaly, payment, status } from "./fixture";
import { host, open } from "./panel";

describe("anomalies", () => {
  test("in production are explained without the sandbox", async () => {
    open("#/production/anomalies");
    expect(await screen.findByText("Nothing waits for a decision")).toBeTruthy();
    expect(document.querySelector("main")?.textContent).not.toContain("sandbox");
  });

  test.each<[AnomalyKind, string]>([
    ["LATE_PAYMENT", "that came too late stay in your wallet"],
    ["EXTRA_PAYMENT", "that came on top stay in your wallet"],
    ["OVERPAYMENT", "that were too much stay in your wallet"],
    ["UNDERPAYMENT", "although they were too few"],
    ["REVERSED_PAYMENT", "are not in your wallet"],
  ])("dismissing %s says where its coins are", async (anomalyType, said) => {
    host.reply("listAnomalies", { items: [anomaly({ anomalyType, notified: false })], itemsCount: 1 });
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: /Dismiss/ }));
    const dialog = await screen.findByRole("dialog", {
      name: "Dismiss this anomaly of order-7 (10.00 USD)?",
    });
    expect(dialog.textContent).toContain(said);
    expect(dialog.textContent).toContain("Nobody is notified");
    expect(dialog.textContent).not.toContain("The shop is notified");
  });

  test.each([
    [
      true,
      "It is sent to the shop with the anomaly, and any API key that may read this anomaly can read it.",
    ],
    [false, "Any API key that may read this anomaly can read it."],
  ])("dismissing says who can read the reason; shop notified: %s", async (notified, said) => {
    host.reply("listAnomalies", { items: [anomaly({ notified })], itemsCount: 1 });
    open("#/anomalies");
    await fireEvent.click(await screen.findByRole("button", { name: /Dismiss/ }));
    expect(await screen.findByText(said)).toBeTruthy();
  });

  test("name their order in the list, and can be accepted there", async () => {
    const late = anomaly({ anomalyType: "LATE_PAYMENT", acceptance: acceptance({ notified: false }) });
    host.reply("listAnomalies", { items: [late], itemsCount: 1 });
    host.reply("acceptPayment", payment({ state: "CONFIRMED" }));
    open("#/anomalies");
    expect((await screen.findByRole("link", { name: "order-7" })).getAttribute("href")).toBe(
      `#/test/payment/${"p".repeat(40)}`,
    );
    await fireEvent.click(screen.getByRole("button", { name: /Accept the coins/ }));
    const dialog = await screen.findByRole("dialog");
    expect(dialog.textContent).toContain("Nobody is notified");
    await fireEvent.click(within(dialog).getByRole("button", { name: "Accept the coins" }));
    expect(
      await screen.findByText("Accepted the coins that came for order-7. It is now: Confirmed."),
    ).toBeTruthy();
    expect(host.askedFor("acceptPayment")).toMatchObject([{ agreedSats: 7787 }]);
  });

  test("a reversal is shown on every screen", async () => {
    host.reply("status", { ...status, openReversals: 1 });
    open("#/keys");
    expect((await screen.findByRole("alert")).textContent).toContain("1 confirmed payment was reversed");
    expect(screen.getByLabelText("1 reversed")).toBeTruthy();
  });
});
