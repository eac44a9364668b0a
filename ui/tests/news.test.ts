import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import type { NewsItem } from "../src/lib/bindings/NewsItem";
import { host, open } from "./panel";

function event(over: Partial<NewsItem> = {}): NewsItem {
  return {
    id: "paid:1",
    kind: "paid",
    time: "2026-01-12T12:04:00.000Z",
    title: "22.50 EUR received",
    body: "Order “1003” is paid.",
    paymentId: "p".repeat(40),
    payoutId: null,
    ...over,
  };
}

function reply(...items: NewsItem[]) {
  host.reply("listNews", { items, notices: ["paid", "shop"], sounds: ["paid"] });
}

describe("the news", () => {
  test("teach what they are before anything happened", async () => {
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: "News" }));
    expect(await screen.findByText(/Nothing has happened yet/)).toBeTruthy();
  });

  test("are counted until somebody looks, and lead to their record", async () => {
    reply(event({ id: "b", time: "2026-01-12T12:05:00.000Z", title: "10.00 EUR received" }), event());
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: /News.*2.*not seen/ }));
    const dialog = await screen.findByRole("dialog", { name: "News" });
    expect(within(dialog).getAllByRole("listitem")).toHaveLength(2);
    await fireEvent.click(within(dialog).getByRole("button", { name: /22.50 EUR received/ }));
    expect(location.hash).toBe(`#/test/payment/${"p".repeat(40)}`);
    expect(screen.getByRole("button", { name: "News" })).toBeTruthy();
  });

  test("are counted too if they are listed after a later one that was seen", async () => {
    const later = event({ id: "b", time: "2026-01-12T12:05:00.000Z" });
    reply(later);
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: /News.*1.*not seen/ }));
    await fireEvent.click(screen.getByRole("button", { name: "Close" }));
    reply(later, event());
    host.emit("changed", "test");
    expect(await screen.findByRole("button", { name: /News.*1.*not seen/ })).toBeTruthy();
  });

  test("lead from a failing server to the first screen", async () => {
    reply(event({ kind: "shop", title: "shop.example takes no notifications", paymentId: null }));
    open("#/payments");
    await fireEvent.click(await screen.findByRole("button", { name: /News/ }));
    await fireEvent.click(await screen.findByRole("button", { name: /shop.example/ }));
    expect(location.hash).toBe("#/test/home");
  });
});

describe("the preferences", () => {
  test("keep a choice that was refused as it was", async () => {
    host.reply("setSetting", { errorType: "STORAGE_UNAVAILABLE", message: "the disk is full", field: null });
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: "Preferences" }));
    const box = await screen.findByRole<HTMLInputElement>("checkbox", { name: /^Notice: .*paid/i });
    const before = box.checked;
    await fireEvent.click(box);
    expect(await screen.findByText(/disk is full/i)).toBeTruthy();
    expect(box.checked).toBe(before);
  });

  test("change the shop's name, and remove its logo", async () => {
    const shop: Record<string, string> = {
      merchantName: "Merchant",
      merchantLogo: "data:image/png;base64,AAAA",
    };
    host.reply("getSetting", ({ name }) => ({ name, value: shop[name] ?? "", default: "", about: "" }));
    host.reply("setSetting", {} as never);
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: "Preferences" }));
    await fireEvent.change(await screen.findByLabelText("Name"), { target: { value: " Corner Café " } });
    await waitFor(() =>
      expect(host.askedFor("setSetting")).toMatchObject([{ name: "merchantName", value: "Corner Café" }]),
    );
    expect(screen.getByRole<HTMLImageElement>("img", { name: "Your logo" }).src).toBe(shop["merchantLogo"]);
    await fireEvent.click(screen.getByRole("button", { name: "Remove the logo" }));
    await waitFor(() =>
      expect(host.askedFor("setSetting").at(-1)).toMatchObject({ name: "merchantLogo", value: "" }),
    );
  });

  test("show at the field why a name is refused", async () => {
    host.reply("getSetting", ({ name }) => ({ name, value: "", default: "", about: "" }));
    host.reply("setSetting", {
      errorType: "INVALID",
      message: "merchantName must be shorter",
      field: "merchantName",
    } as never);
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: "Preferences" }));
    const name = await screen.findByLabelText("Name");
    await fireEvent.change(name, { target: { value: "x" } });
    expect(await screen.findByText("The name must be shorter")).toBeTruthy();
  });

  test("turn a notice and a sound on or off", async () => {
    reply();
    host.reply("setSetting", {} as never);
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: "Preferences" }));
    const notice = await screen.findByLabelText<HTMLInputElement>("Notice: A payment is paid");
    expect(notice.checked).toBe(true);
    await fireEvent.click(notice);
    await waitFor(() =>
      expect(host.askedFor("setSetting")).toMatchObject([{ name: "notices", value: "shop" }]),
    );
    await fireEvent.click(screen.getByLabelText("Sound: A payment is reversed"));
    await waitFor(() =>
      expect(host.askedFor("setSetting").at(-1)).toMatchObject({
        name: "noticeSounds",
        value: "paid,reversed",
      }),
    );
  });
});
