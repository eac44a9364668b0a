import { fireEvent, screen, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import type { NewsEvent, NewsItem, NewsOrder } from "../src/lib/bindings";
import { notesOf, wordsOf } from "../src/lib/news";
import { host, open } from "./panel";

const eur = (shown: string) => ({ minor: 0, text: shown, shown, currency: "EUR" });
const btc = { sats: 100_000, text: "0.00100000", shown: "0.00100000" };
const order = (price: string, reference = "1003"): NewsOrder => ({
  price: eur(price),
  reference,
  saleNumber: null,
});
const server: NewsEvent = { event: "server", host: "shop.example", notifications: 2 };
const asks = (): NewsEvent => ({
  event: "requested",
  by: "webshop",
  amount: btc,
  worth: eur("60.00"),
  address: "bc1q",
  open: true,
});
const approved: NewsEvent = {
  event: "approved",
  by: "webshop",
  amount: btc,
  worth: eur("60.00"),
  address: "bc1q",
};

function event(over: Partial<NewsItem> = {}): NewsItem {
  return {
    id: "paid:1",
    kind: "paid",
    time: "2026-01-12T12:04:00.000Z",
    event: { event: "paid", state: "CONFIRMED", stop: false, order: order("22.50") },
    paymentId: "p".repeat(40),
    payoutId: null,
    ...over,
  };
}

function reply(...items: NewsItem[]) {
  host.reply("listNews", { items, notices: ["paid", "shop"], sounds: ["paid"] });
}

describe("the news", () => {
  test.each<[boolean, "CONFIRMED" | "INVALID", string, string, string]>([
    [
      true,
      "CONFIRMED",
      "bad",
      "Stop: the customer is taking the money back",
      "Another transaction spends the €22.50 for order “1003”. Hand over nothing.",
    ],
    [
      false,
      "CONFIRMED",
      "good",
      "€22.50 is paid again",
      "No other transaction spends the coins for order “1003” any more.",
    ],
    [
      false,
      "INVALID",
      "bad",
      "The customer took €22.50 back",
      "Another transaction spent the coins for order “1003”.",
    ],
  ])("tell of an attack until it is over: %s %s", async (stop, state, tone, title, body) => {
    const attacked: NewsEvent = { event: "attacked", stop, state, order: order("22.50") };
    expect(wordsOf(attacked)).toEqual({ title, body });
    reply(event({ kind: "reversed", event: attacked }));
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: /News/ }));
    const dialog = await screen.findByRole("dialog", { name: "News" });
    expect(dialog.querySelector(".dot")?.classList).toContain(tone);
    await fireEvent.click(within(dialog).getByRole("button", { name: new RegExp(title) }));
    expect(location.hash).toBe(`#/test/payment/${"p".repeat(40)}`);
  });

  test("teach what they are before anything happened", async () => {
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: "News" }));
    expect(await screen.findByText(/Nothing has happened yet/)).toBeTruthy();
  });

  test("are counted until somebody looks, and lead to their record", async () => {
    reply(
      event({
        id: "b",
        time: "2026-01-12T12:05:00.000Z",
        event: { event: "paid", state: "CONFIRMED", stop: false, order: order("10.00") },
      }),
      event(),
    );
    open("#/home");
    await fireEvent.click(await screen.findByRole("button", { name: /News.*2.*not seen/ }));
    const dialog = await screen.findByRole("dialog", { name: "News" });
    expect(within(dialog).getAllByRole("listitem")).toHaveLength(2);
    await fireEvent.click(within(dialog).getByRole("button", { name: /€22.50 received/ }));
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
    reply(event({ kind: "shop", event: server, paymentId: null }));
    open("#/payments");
    await fireEvent.click(await screen.findByRole("button", { name: /News/ }));
    await fireEvent.click(await screen.findByRole("button", { name: /shop.example/ }));
    expect(location.hash).toBe("#/test/home");
  });
});

describe("an event in words", () => {
  test("names the order in quotes that a shop cannot end", () => {
    const reference = `1” is paid.\n\u202e${"x".repeat(200)}`;
    const { body } = wordsOf({ event: "reversed", order: order("10.00", reference) });
    expect(body).toContain('The coins for order “1" is paid.');
    expect(body).not.toMatch(/[\n\u202e]/);
    expect(body.match(/”/g)).toHaveLength(1);
    expect(body.length).toBeLessThan(130);
  });

  test("names the price of an order without a reference", () => {
    const { body } = wordsOf({ event: "withdrawn", order: order("10.00", "") });
    expect(body).toBe("The coins for the payment of €10.00 were withdrawn before a block held them.");
  });

  test("calls a payment paid once it is confirmed", () => {
    const title = (state: "UNCONFIRMED" | "CONFIRMED", stop = false) =>
      wordsOf({ event: "paid", state, stop, order: order("10.00") }).title;
    expect(title("UNCONFIRMED")).toBe("€10.00 sent, not confirmed yet");
    expect(title("CONFIRMED")).toBe("€10.00 received");
    expect(title("CONFIRMED", true), "while its coins are being taken back").toBe(title("UNCONFIRMED"));
  });
});

describe("the notifications of the desktop", () => {
  const notes = (...news: NewsItem[]) => notesOf({ environment: "production", news, noBackup: false });
  const requested = (id: string) =>
    event({ id, kind: "payout", event: asks(), paymentId: null, payoutId: id });

  test("begin with the environment, and lead to the record", () => {
    expect(notes(requested("cd34"), event({ kind: "shop", event: server, paymentId: null }))).toEqual([
      {
        title: "Production: webshop asks for a payout of €60.00",
        body: "It is 0.00100000 BTC to bc1q. Open Tillgate to approve or reject it.",
        screen: "payout/cd34",
      },
      {
        title: "Production: shop.example takes no notifications",
        body: "2 notifications wait. Tillgate tries again by itself.",
        screen: "home",
      },
    ]);
  });

  test("count many events of one kind, and an approval apart", () => {
    const four = ["a", "b", "c", "d"].map(requested);
    const approval = event({ id: "e", kind: "payout", event: approved, paymentId: null, payoutId: "e" });
    expect(notes(...four, approval).map((note) => [note.title, note.screen])).toEqual([
      ["Production: API keys approved 1 payout", "payouts"],
      ["Production: API keys asked for 4 payouts", "payouts"],
    ]);
  });

  test("tell when nightly backups begin to fail", () => {
    const [note] = notesOf({ environment: "test", news: [], noBackup: true });
    expect(note).toMatchObject({ title: "Test: No nightly backup is made", screen: "wallet" });
  });

  test("are shown when the desktop program tells of events", async () => {
    open("#/home");
    await screen.findByRole("button", { name: "News" });
    const told = JSON.stringify({ environment: "test", news: [requested("cd34")], noBackup: false });
    host.emit("news", told);
    expect(host.actsIn).toContain("notify test");
    expect(host.fields.at(-1)).toMatchObject({ title: "Test: webshop asks for a payout of €60.00" });
  });
});
