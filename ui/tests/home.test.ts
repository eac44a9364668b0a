import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test, vi } from "vitest";
import type { CurrencyTakings, ShowTakings, StatusView, TakingsView, WarningKind } from "../src/lib/bindings";
import { daysOf, type Period, localDays } from "../src/lib/days";
import { tasksOf } from "../src/lib/tasks";
import {
  delivery,
  payment,
  paymentsPage,
  payout,
  production,
  status,
  takings,
  takingsSum,
  withoutServer,
  telling,
} from "./fixture";
import { lists } from "../src/lib/state/lists.svelte";
import { host, open } from "./panel";

// A zone with summer time. It is set before any code reads the zone.
vi.hoisted(() => vi.stubEnv("TZ", "Europe/Vienna"));

/** A test environment in which nothing waits for a person. */
const calm: StatusView = { ...status, currencies: ["USD"], openAnomalies: 0 };

/** The same takings in euro. */
const inEuro = (takings: CurrencyTakings) =>
  JSON.parse(JSON.stringify(takings).replaceAll("USD", "EUR")) as CurrencyTakings;

describe("home", () => {
  test("is the first screen and the first in the menu", async () => {
    host.reply("showTakings", takings());
    open("");
    expect(await screen.findByRole("heading", { level: 1, name: "Today" })).toBeTruthy();
    const menu = within(screen.getByRole("navigation", { name: "Screens" }));
    const [first] = menu.getAllByRole("link");
    expect(first?.textContent).toContain("Home");
    expect(first?.getAttribute("aria-current")).toBe("page");
  });

  test("shows today's takings beside those of longer periods", async () => {
    host.reply("showTakings", takings());
    open("#/home");
    const figures = within(await screen.findByRole("region", { name: "Takings" }));
    expect(figures.getByText("Takings today").parentElement?.textContent).toMatch(/\$20\.00.*1 payment/);
    expect(figures.getByText("Yesterday").parentElement?.textContent).toContain("$40.00");
    expect(figures.getByText("This week").parentElement?.textContent).toContain("$60.00");
    expect(figures.getByText("This week").parentElement?.textContent).toMatch(/since \w+, \w+ \d+/);
    expect(figures.getByText("Last week").parentElement?.textContent).toMatch(/\w+ \d+\s–\s(\w+ )?\d+/);
    expect(figures.getByText("Last 30 days").parentElement?.textContent).toMatch(/since \w+, \w+ \d+/);
    expect(figures.getByText("Last week").parentElement?.textContent).toContain("$0.00");
    expect(figures.queryByRole("table")).toBeNull();
  });

  test("asks for the local days of the gateway's clock", async () => {
    open("#/home");
    await waitFor(() => expect(host.askedFor("showTakings").length).toBeGreaterThan(0));
    const now = Date.parse(status.clock);
    expect(host.askedFor("showTakings").at(-1)).toMatchObject({ bounds: localDays(now).bounds });
  });

  test("shows sums in other currencies beside the one in the main currency", async () => {
    host.reply("showTakings", takings({ others: [inEuro(takings().main)] }));
    open("#/home");
    const figures = within(await screen.findByRole("region", { name: "Takings" }));
    const told = (name: string) => figures.getByText(name).parentElement?.textContent;
    expect(told("Takings today")).toMatch(/\$20\.00.*\+ €20\.00.*2 payments/);
    expect(told("Yesterday")).toMatch(/\$40\.00.*\+ €40\.00/);
    // Nothing was taken in the last week, so no euro stands beside it.
    expect(told("Last week")).not.toContain("€");
  });

  test("shows Bitcoin only to a person who points at a sum", async () => {
    host.reply("showTakings", takings());
    open("#/home");
    const figures = await screen.findByRole("region", { name: "Takings" });
    expect(figures.textContent).not.toMatch(/BTC|sat/);
    expect(within(figures).getByText("$40.00").title).toBe("80,000 sat");
  });

  test("leads a shop without payments to its first one", async () => {
    open("#/home");
    expect(await screen.findByRole("heading", { name: "No payments yet" })).toBeTruthy();
    const href = (name: string) => screen.getByRole("link", { name }).getAttribute("href");
    expect(href("Charge at the till")).toBe("#/test/till");
    expect(href("Create an API key")).toBe("#/test/keys");
    expect(screen.queryByText("Takings today")).toBeNull();
  });

  test("compares the week with the same days of the week before", async () => {
    const weekChange = { minor: -3500, text: "-35.00", shown: "-35.00", currency: "USD" };
    host.reply("showTakings", takings({ main: { ...takings().main, weekChange } }));
    open("#/home");
    expect(await screen.findByText("$35.00 less than last week until Monday")).toBeTruthy();
    const more = { ...weekChange, minor: 3500, text: "35.00", shown: "35.00" };
    host.reply("showTakings", takings({ main: { ...takings().main, weekChange: more } }));
    host.emit("changed");
    expect(await screen.findByText("$35.00 more than last week until Monday")).toBeTruthy();
  });

  test("compares each period with the one before, in percent", async () => {
    const { main } = takings();
    const days = main.days.map((day, index) => (index === 21 ? { ...day, sum: takingsSum(50) } : day));
    const before = main.days.map((day, index) =>
      index === 0 ? { ...day, sum: takingsSum(48) } : index === 2 ? { ...day, sum: takingsSum(10) } : day,
    );
    host.reply("showTakings", ({ bounds }: ShowTakings) =>
      takings({ main: { ...main, days: bounds.length === 4 ? before : days } }),
    );
    open("#/home");
    const figures = within(await screen.findByRole("region", { name: "Takings" }));
    expect(figures.getByText("▼ 20%")).toBeTruthy();
    expect(figures.getByText("20% less than a week before")).toBeTruthy();
    expect(figures.getByText("100% less than the week before")).toBeTruthy();
    expect(figures.getByText("▲ 25%")).toBeTruthy();
    expect(figures.getByText("25% more than in the 30 days before")).toBeTruthy();
    expect(figures.queryByText(/than last week/)).toBeNull();
  });

  test("lists the latest sales, each with its payment", async () => {
    host.reply("showTakings", takings());
    host.reply("listPayments", paymentsPage([payment({ merchantTransactionId: "1007" })], 1));
    open("#/home");
    const sales = within(await screen.findByRole("region", { name: "Latest sales" }));
    expect(sales.getByRole("link", { name: /1007/ }).getAttribute("href")).toBe(
      `#/test/payment/${"p".repeat(40)}`,
    );
    expect(host.askedFor("listPayments").at(-1)).toMatchObject({ states: ["UNCONFIRMED", "CONFIRMED"] });
  });

  test("shows no chart while nothing was taken for 30 days", async () => {
    const main = { ...takings().main, all: takingsSum(0, 0) };
    host.reply("showTakings", takings({ main }));
    open("#/home");
    expect(await screen.findByText("No takings in the last 30 days")).toBeTruthy();
    expect(screen.queryByRole("slider")).toBeNull();
  });
});

describe("the chart", () => {
  async function slider(over: Partial<TakingsView> = {}) {
    host.reply("showTakings", takings(over));
    open("#/home");
    return screen.findByRole<HTMLInputElement>("slider", { name: "Takings of a day" });
  }

  test("shows and reads out the day that the keyboard chooses", async () => {
    const days = await slider();
    expect(screen.getByTestId("day").textContent).toMatch(/Today: \$20\.00/);
    await fireEvent.input(days, { target: { value: "28" } });
    expect(screen.getByTestId("day").textContent).toMatch(/Jan 11: \$40\.00 · 2 payments/);
    expect(days.getAttribute("aria-valuetext")).toBe("Sunday, January 11: $40.00, 2 payments");
    await fireEvent.blur(days);
    expect(screen.getByTestId("day").textContent).toMatch(/Today/);
  });

  test("shows what was taken in other currencies on the chosen day", async () => {
    const days = await slider({ others: [inEuro(takings().main)] });
    expect(screen.getByTestId("day").textContent).toMatch(/Today: \$20\.00\s*\+ €20\.00\s*· 2 payments/);
    expect(days.getAttribute("aria-valuetext")).toMatch(/\$20\.00 \+ €20\.00, 2 payments/);
    await fireEvent.click(screen.getByText("Show as a table"));
    const [, today] = screen.getAllByRole("row");
    expect(today?.textContent).toMatch(/Jan 12\s*\$20\.00\s*€20\.00\s*2/);
  });

  test("shows the day under the pointer", async () => {
    const plot = (await slider()).parentElement!;
    plot.getBoundingClientRect = () => ({ left: 100, width: 300 }) as DOMRect;
    // jsdom has no pointer events with coordinates.
    await fireEvent(plot, new MouseEvent("pointermove", { clientX: 345, bubbles: true }));
    expect(screen.getByTestId("day").textContent).toMatch(/Jan 11/);
    await fireEvent(plot, new MouseEvent("pointermove", { clientX: 999, bubbles: true }));
    expect(screen.getByTestId("day").textContent).toMatch(/Today/);
  });

  test("opens the payments of the chosen day", async () => {
    const days = await slider();
    await fireEvent.input(days, { target: { value: "28" } });
    await fireEvent.keyDown(days, { key: "Enter" });
    expect(location.hash).toBe("#/test/payments");
    expect(lists.payments).toMatchObject({
      period: "days",
      fromDay: "2026-01-11",
      toDay: "2026-01-11",
      search: "",
    });
  });

  test("draws the heights that the gateway computed", async () => {
    await slider();
    const bars = [...document.querySelectorAll<HTMLElement>(".bar")].map((bar) => bar.style.height);
    expect(bars.slice(-3)).toEqual(["0%", "100%", "50%"]);
  });

  test("begins at the first sale, but a week ago at the latest", async () => {
    expect((await slider()).min).toBe("23");
    const { days } = takings().main;
    const early = days.map((day, index) => (index === 10 ? { ...day, sum: takingsSum(5) } : day));
    host.reply("showTakings", takings({ main: { ...takings().main, days: early } }));
    host.emit("changed");
    await waitFor(() => expect(document.querySelectorAll(".bar")).toHaveLength(20));
  });

  test("has a table, the newest day first", async () => {
    await slider();
    await fireEvent.click(screen.getByText("Show as a table"));
    const rows = within(screen.getByRole("table")).getAllByRole("row");
    expect(rows).toHaveLength(8);
    expect(rows[1]?.textContent).toMatch(/Jan 12.*20\.00.*1/s);
  });
});

describe("periods", () => {
  test.each<[Exclude<Period, "days">, string, string]>([
    ["", "", ""],
    ["today", "2026-03-03", "2026-03-03"],
    ["yesterday", "2026-03-02", "2026-03-02"],
    ["week", "2026-03-02", "2026-03-03"],
    ["month", "2026-03-01", "2026-03-03"],
  ])("%s begins and ends on a local day", (period, first, last) => {
    expect(daysOf(period, Date.parse("2026-03-03T12:00:00Z"), 1)).toEqual([first, last]);
  });
});

describe("local days", () => {
  const hours = (from: number, to: number) => (to - from) / 3_600_000;

  test("are 30, and end with today", () => {
    const { bounds } = localDays(Date.parse("2026-01-12T12:06:20Z"), 1);
    expect(bounds).toHaveLength(31);
    expect(new Date(bounds.at(-2)!).toISOString()).toBe("2026-01-11T23:00:00.000Z");
    expect(new Date(bounds.at(-1)!).toISOString()).toBe("2026-01-12T23:00:00.000Z");
  });

  test("follow summer time", () => {
    const { bounds } = localDays(Date.parse("2026-03-30T12:00:00Z"), 1);
    expect(hours(bounds.at(-3)!, bounds.at(-2)!)).toBe(23);
    expect(hours(bounds.at(-2)!, bounds.at(-1)!)).toBe(24);
  });

  test.each([
    ["2026-01-12T12:00:00Z", 1, 1],
    ["2026-01-11T12:00:00Z", 1, 7],
    ["2026-01-11T12:00:00Z", 0, 1],
    ["2026-01-12T12:00:00Z", 6, 3],
  ])("on %s, a week from weekday %i has %i days", (now, firstWeekday, weekDays) => {
    expect(localDays(Date.parse(now), firstWeekday).weekDays).toBe(weekDays);
  });
});

describe("the tasks", () => {
  const names = (over: Partial<StatusView>) => tasksOf({ ...calm, ...over }).map((task) => task.name);

  test("are none on a calm day, which is said", async () => {
    host.reply("status", calm);
    host.reply("showTakings", takings());
    open("#/home");
    expect(await screen.findByText(/Nothing\. All good/)).toBeTruthy();
  });

  test("do not claim that all is good below a notice", async () => {
    host.reply("status", {
      ...calm,
      warnings: [telling("A double-spend was seen")],
      warningKinds: ["OTHER"],
    });
    open("#/home");
    expect(await screen.findByText("A double-spend was seen.")).toBeTruthy();
    expect(screen.getByText("Only the notice at the top of the window.")).toBeTruthy();
    expect(screen.queryByText(/All good/)).toBeNull();
  });

  test("have one button each", async () => {
    const failing = { failingNotifications: 2, failingServers: ["shop.example"] };
    host.reply("status", { ...status, ...failing, offersWaiting: 2, chainError: telling("no answer") });
    host.reply("listDeliveries", { items: [delivery()], itemsCount: 1 });
    open("#/home");
    await screen.findByRole("link", { name: "See why" });
    const rows = within(screen.getByRole("region", { name: "To do" })).getAllByRole("listitem");
    const links = rows.map((row) => within(row).getByRole<HTMLAnchorElement>("link").hash);
    expect(links).toEqual([
      "#/test/sandbox",
      `#/test/payment/${"p".repeat(40)}`,
      "#/test/sandbox",
      "#/test/anomalies",
      "#/test/payouts",
    ]);
    // The strip above the screen does not repeat what the tasks say.
    expect(screen.queryByText(/The chain is not being watched/)).toBeNull();
    expect(screen.queryByText(/No fresh rate/)).toBeNull();
  });

  test("lead to the one payout that waits for approval", async () => {
    host.reply("status", { ...calm, offersWaiting: 0, ownOffersWaiting: 1 });
    host.reply("listPayouts", { items: [payout()], itemsCount: 1 });
    open("#/home");
    const review = await screen.findByRole<HTMLAnchorElement>("link", { name: "Review" });
    await waitFor(() => expect(review.hash).toBe(`#/test/payout/${"b".repeat(40)}`));
    expect(host.askedFor("listPayouts").at(-1)).toMatchObject({ states: ["NEW"], limit: 1 });
  });

  test("lead to the offers alone, whatever the list showed before", async () => {
    host.reply("status", { ...calm, offersWaiting: 1, ownOffersWaiting: 1 });
    open("#/home");
    await fireEvent.click(await screen.findByRole("link", { name: "Review" }));
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await waitFor(() => expect(host.askedFor("listPayouts").at(-1)).toMatchObject({ states: ["NEW"] }));
  });

  test("ask for a server, and wait for a node that catches up", () => {
    const [choose] = tasksOf(withoutServer);
    expect(choose?.button).toEqual({ text: "Choose a server", to: { screen: "go-live", step: "chain" } });
    const chainError = telling("the Bitcoin backend cannot be asked", "CHAIN_DOWN", {
      _0: telling("the node is downloading the chain", "DOWN_DOWNLOADING", {
        blocks: "12",
        headers: "900000",
      }),
    });
    const [waits] = tasksOf({ ...production, currencies: ["USD"], chainError });
    expect(waits?.button).toBeUndefined();
    expect(waits?.text).toMatch(/^The node is downloading the chain, it has block 12 of 900000\./);
  });

  test("name a backup that was never made, but not in the sandbox", () => {
    const never = { sandbox: false, isBackedUp: false };
    expect(names(never)).toEqual(["backup"]);
    expect(names({ ...never, isBackedUp: true })).toEqual([]);
    expect(names({ ...never, sandbox: true })).toEqual([]);
    expect(names({ ...never, hasWallet: false })).toEqual([]);
  });

  test.each<[WarningKind, RegExp]>([
    ["BACKUP_PASSPHRASE", /No backup is made by night/],
    ["BACKUP_FAILED", /The last nightly backup failed/],
    ["BACKUP_FOLDER", /Is its disk connected\?/],
    ["BACKUP_LATE", /The nightly backup is late/],
  ])("say a fault of the backup in one sentence: %s", (kind, words) => {
    const warning = "a fault: `tillgate backup`";
    const [task] = tasksOf({ ...calm, warnings: [telling(warning)], warningKinds: [kind] });
    expect(task?.text).toMatch(words);
    expect(task?.button).toEqual({ text: "Back up", to: { screen: "wallet" } });
  });

  test("tell reversed payments from money that does not fit", () => {
    const sentences = (over: Partial<StatusView>) => tasksOf({ ...calm, ...over })[0]?.text;
    const gone = "1 payment was reversed: its coins are gone.";
    expect(sentences({ openAnomalies: 1, openReversals: 1 })).toBe(gone);
    expect(sentences({ openAnomalies: 3, openReversals: 1 })).toBe(
      `${gone} 2 payments came too late, too high or too low.`,
    );
  });

  test("put the urgent ones first", () => {
    expect(names({ openAnomalies: 1, offersWaiting: 1, chainError: telling("down") })).toEqual([
      "chain",
      "anomalies",
      "offers",
    ]);
    const stale = status.rates.map((rate) => ({ ...rate, fresh: false }));
    expect(names({ openAnomalies: 1, rates: stale })).toEqual(["rates", "anomalies"]);
    expect(names({ openAnomalies: 2, openReversals: 1, offersWaiting: 1 })).toEqual(["anomalies", "offers"]);
  });
});
