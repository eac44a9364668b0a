// The books: takings and statement of a period, on the screen, in a file and on paper.
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  boundsOfParts,
  daysOfQuick,
  fileName,
  periodTitle,
  stepsOf,
  usualStep,
  type Days,
  type Quick,
} from "../src/lib/books";
import { lists } from "../src/lib/state/lists.svelte";
import { balances, monthlyBooks, movement, statementPage } from "./books-fixture";
import { host, open } from "./panel";

// A zone with summer time. It is set before any code reads the zone.
vi.hoisted(() => vi.stubEnv("TZ", "Europe/Vienna"));

const NOW = Date.parse("2026-01-12T12:06:20Z");
const days = (from: string, to: string): Days => ({ from, to });
const button = (name: string | RegExp) => screen.findByRole("button", { name });
const press = async (name: string | RegExp) => fireEvent.click(await button(name));

const SETTINGS: Record<string, string> = {
  merchantName: "Café Blau",
  merchantAddress: "Sonnenweg 1\n12345 Berlin",
  merchantTaxId: "DE123456789",
};

beforeEach(() => {
  host.reply("showBooks", { currencies: [monthlyBooks()] });
  host.reply("statement", statementPage([movement()]));
  host.reply("statementSums", balances());
  host.reply("getSetting", ({ name }: { name: string }) => ({
    name,
    value: SETTINGS[name] ?? "",
    default: "",
    about: "",
  }));
});

/** The times of the last question for the books, as dates of the zone. */
function asked(): string[] {
  const bounds = host.askedFor("showBooks").at(-1)?.bounds ?? [];
  return bounds.map((ms) => new Date(ms + 3_600_000).toISOString().slice(0, 10));
}

describe("the books", () => {
  test("show last month in one tap, whatever a list was searched for", async () => {
    lists.payments = { ...lists.payments, search: "order", wanted: "NEW", label: "webshop" };
    open("#/books");
    await press("Last month");
    await waitFor(() => expect(asked().at(0)).toBe("2025-12-01"));
    expect(asked().at(-1)).toBe("2026-01-01");
    expect(asked()).toHaveLength(32);
    expect(Object.keys(host.askedFor("showBooks").at(-1)!).sort()).toEqual(["bounds", "command"]);
    expect(screen.getByText("December 2025")).toBeTruthy();
    await press("Statement");
    await waitFor(() =>
      expect(host.askedFor("statement").at(-1)).toEqual({
        command: "statement",
        currency: "USD",
        from: "2025-11-30T23:00:00.000Z",
        to: "2025-12-31T23:00:00.000Z",
        kind: null,
        after: null,
        limit: 200,
      }),
    );
    expect(lists.payments.search).toBe("order");
  });

  test("keep their period while another screen is shown", async () => {
    open("#/books");
    await press("Last year");
    await waitFor(() => expect(asked()).toHaveLength(13));
    location.hash = "#/test/wallet";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await screen.findByRole("heading", { name: "Wallet" });
    location.hash = "#/test/books";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    expect((await button("Last year")).getAttribute("aria-pressed")).toBe("true");
  });

  test("show two days of one's own, and only parts that the gateway can sum", async () => {
    open("#/books");
    await fireEvent.change(await screen.findByLabelText("From"), { target: { value: "2024-01-15" } });
    await waitFor(() => expect(asked().at(0)).toBe("2024-01-15"));
    const step = screen.getByRole<HTMLSelectElement>("combobox", { name: "Takings by" });
    expect([...step.options].map(({ text }) => text)).toEqual(["By month", "By quarter", "By year"]);
    await fireEvent.change(step, { target: { value: "year" } });
    await waitFor(() => expect(asked()).toEqual(["2024-01-15", "2025-01-01", "2026-01-01", "2026-01-13"]));
  });

  test("show takings by period, tax rate and maker", async () => {
    open("#/books");
    const row = async (table: string, name: RegExp) =>
      within(await screen.findByRole("table", { name: table })).getByRole("row", { name });
    expect(await row("Takings in USD", /^In all 4 \$70\.00 0\.00140000$/)).toBeTruthy();
    expect(await row("Taxes in USD", /^19 % \$42\.02 \$7\.98 \$50\.00$/)).toBeTruthy();
    expect(await row("Taxes in USD", /^Without tax lines \$10\.00$/)).toBeTruthy();
    expect(await row("Makers of the payments in USD", /^Till 3 \$60\.00/)).toBeTruthy();
    expect(await row("Makers of the payments in USD", /^webshop 1 \$10\.00/)).toBeTruthy();
  });

  test("teach an empty period", async () => {
    host.reply("showBooks", { currencies: [] });
    host.reply("statement", statementPage([]));
    open("#/books");
    expect(await screen.findByText("No takings in this period")).toBeTruthy();
    await press("Statement");
    expect(await screen.findByText("No movements in this period")).toBeTruthy();
  });
});

describe("the chart of the books", () => {
  test("draws the gateway's heights and opens the payments of a month", async () => {
    open("#/books");
    await press("Last year");
    const slider = await screen.findByRole<HTMLInputElement>("slider", {
      name: "Takings of a part of the period",
    });
    await waitFor(() => expect(screen.getByTestId("part").textContent).toMatch(/In all: \$70\.00/));
    const bars = [...document.querySelectorAll<HTMLElement>(".bar")].map((bar) => bar.style.height);
    expect(bars).toEqual(["100%", "75%"]);
    await fireEvent.input(slider, { target: { value: "0" } });
    expect(slider.getAttribute("aria-valuetext")).toBe("January 2025: $40.00, 80,000 sat, 2 payments");
    await fireEvent.keyDown(slider, { key: "Enter" });
    expect(location.hash).toBe("#/test/payments");
    expect(lists.payments).toMatchObject({ fromDay: "2025-01-01", toDay: "2025-01-31", search: "" });
  });
});

describe("the statement", () => {
  async function openStatement() {
    open("#/books");
    await press("Statement");
    return within(await screen.findByRole("table", { name: "Balances" }));
  }

  test("has the balances, the fees apart, and the rate of each row", async () => {
    const sums = await openStatement();
    expect(sums.getByRole("row", { name: "Opening balance 0.00100000" })).toBeTruthy();
    expect(sums.getByRole("row", { name: "Network fee 1 -0.00000282 Rate unknown" })).toBeTruthy();
    expect(sums.getByRole("row", { name: "Closing balance 0.00065292" })).toBeTruthy();
    expect(screen.getByText(/Network fees paid in this period: 282 sat/)).toBeTruthy();
    const rows = within(await screen.findByRole("table", { name: "Movements" }));
    expect(rows.getByRole("row", { name: /Payment 0\.00015574 \$10\.00 64,210\.55/ })).toBeTruthy();
    expect(rows.getByRole("link", { name: "Payment" }).getAttribute("href")).toBe(
      `#/test/payment/${"p".repeat(40)}`,
    );
  });

  test("is narrowed to a kind of movement", async () => {
    await openStatement();
    const kind = screen.getByRole("combobox", { name: "Kind of movement" });
    await fireEvent.change(kind, { target: { value: "FEE" } });
    await waitFor(() => expect(host.askedFor("statement").at(-1)).toMatchObject({ kind: "FEE" }));
  });

  test("is read page by page", async () => {
    const place = { atMs: 5, row: 200, lastRow: 398 };
    host.reply("statementSums", balances(396));
    host.reply("statement", ({ after }: { after: unknown }) =>
      statementPage(
        Array.from({ length: after ? 198 : 200 }, () => movement()),
        after ? null : place,
      ),
    );
    await openStatement();
    expect(await screen.findByText("1–200 of 398")).toBeTruthy();
    await press("Later");
    expect(await screen.findByText("201–398 of 398")).toBeTruthy();
    expect(host.askedFor("statement").at(-1)).toMatchObject({ after: place });
    expect((await button("Later")).hasAttribute("disabled")).toBe(true);
    await press("Earlier");
    expect(await screen.findByText("1–200 of 398")).toBeTruthy();
  });
});

describe("the file of the takings", () => {
  test("is named by shop and period, and has the first day of each part", async () => {
    open("#/books");
    await press("Last quarter");
    await waitFor(async () =>
      expect((await button("Save for a spreadsheet")).hasAttribute("disabled")).toBe(false),
    );
    await press("Save for a spreadsheet");
    expect(await screen.findByText(/^Saved as /)).toBeTruthy();
    expect(host.acts).toContain("save-takings");
    expect(host.fields).toMatchObject([
      { days: ["2025-10-01", "2025-11-01", "2025-12-01"], name: "test-Cafe-Blau-2025-Q4-takings" },
    ]);
  });
});

describe("the file of a statement", () => {
  async function saves(form: RegExp) {
    open("#/books");
    await press("Statement");
    await press("Last month");
    await waitFor(async () => expect((await button(form)).hasAttribute("disabled")).toBe(false));
    await press(form);
  }

  test("is named by shop and period, and has the chosen kind", async () => {
    await saves(/Save for a spreadsheet/);
    expect(await screen.findByText(/^Saved as /)).toBeTruthy();
    expect(host.fields).toEqual([
      {
        currency: "USD",
        from: "2025-11-30T23:00:00.000Z",
        to: "2025-12-31T23:00:00.000Z",
        kind: null,
        name: "test-Cafe-Blau-2025-12-statement",
        form: "csv",
      },
    ]);
  });

  test("says that it holds only one kind of movement", async () => {
    open("#/books");
    await press("Statement");
    const kind = await screen.findByRole("combobox", { name: "Kind of movement" });
    await fireEvent.change(kind, { target: { value: "FEE_DIFFERENCE" } });
    await press(/Save as JSON/);
    expect(host.fields).toMatchObject([
      { kind: "FEE_DIFFERENCE", form: "json", name: "test-Cafe-Blau-2026-01-statement-fee-difference" },
    ]);
    expect(await screen.findByText(/^Saved as /)).toBeTruthy();
  });

  test("shows its progress, and can be broken off", async () => {
    let answer: (saved: { file: null }) => void = () => undefined;
    await saves(/Save as JSON/);
    expect(await screen.findByText(/^Saved as /)).toBeTruthy();
    host.saved = new Promise((resolve) => (answer = resolve));
    await press(/Save as JSON/);
    host.emit("saving", "42000");
    expect(await screen.findByText("Saving… 42,000 rows")).toBeTruthy();
    await press("Stop");
    expect(host.acts).toContain("stop-saving");
    answer({ file: null });
    expect(await screen.findByText("Stopped. No file was saved.")).toBeTruthy();
    expect(await button(/Save as JSON/)).toBeTruthy();
  });
});

describe("the books on paper", () => {
  test("name shop, address, tax number, period and balances, and are printed alone", async () => {
    open("#/books");
    await press("Last month");
    await press("Print or save as PDF…");
    const dialog = await screen.findByRole("dialog", { name: "Books on paper" });
    const text = () => (dialog.querySelector("article")?.textContent ?? "").replace(/\s+/g, " ");
    await waitFor(() => expect(text()).toContain("Café Blau"));
    for (const part of [
      "Sonnenweg 1",
      "12345 Berlin",
      "Tax number DE123456789",
      "December 2025",
      "Opening balance",
      "0.00100000",
      "Closing balance",
      "0.00065292",
      "70.00",
      "64,210.55",
      "Test: these coins are worth nothing",
    ]) {
      expect(text()).toContain(part);
    }
    const printed: string[] = [];
    vi.stubGlobal("print", () => printed.push(document.querySelector("body > .printed")?.textContent ?? ""));
    await fireEvent.click(within(dialog).getByRole("button", { name: "Print or save as PDF…" }));
    expect(printed[0]).toContain("Opening balance");
    window.dispatchEvent(new Event("afterprint"));
    vi.unstubAllGlobals();
  });

  test("list no movements if there are too many for paper", async () => {
    host.reply("statement", statementPage([movement()], { atMs: 5, row: 5000, lastRow: 9000 }));
    open("#/books");
    await press("Print or save as PDF…");
    expect(await screen.findByText(/There are more than 5000 movements/)).toBeTruthy();
    expect(screen.queryByText("64,210.55")).toBeNull();
  });
});

describe("a period", () => {
  test.each<[Quick, string, string]>([
    ["this-month", "2026-01-01", "2026-01-31"],
    ["last-month", "2025-12-01", "2025-12-31"],
    ["this-quarter", "2026-01-01", "2026-03-31"],
    ["last-quarter", "2025-10-01", "2025-12-31"],
    ["this-year", "2026-01-01", "2026-12-31"],
    ["last-year", "2025-01-01", "2025-12-31"],
  ])("%s has whole days", (quick, from, to) => {
    expect(daysOfQuick(quick, NOW)).toEqual({ from, to });
  });

  test("leaves out the days to come, and follows summer time", () => {
    const parts = boundsOfParts(days("2026-01-01", "2026-01-31"), "day", NOW);
    expect(parts).toHaveLength(13);
    const march = boundsOfParts(days("2025-03-29", "2025-03-31"), "day", NOW);
    expect(march.slice(1).map((end, index) => (end - march[index]!) / 3_600_000)).toEqual([24, 23, 24]);
  });

  test("of a leap year can be shown by day, a longer one cannot", () => {
    expect(stepsOf(days("2024-01-01", "2024-12-31"), NOW)).toContain("day");
    expect(stepsOf(days("2024-01-01", "2025-12-31"), NOW)).not.toContain("day");
    expect(usualStep(days("2025-12-01", "2025-12-31"))).toBe("day");
    expect(usualStep(days("2026-01-01", "2026-12-31"))).toBe("month");
  });

  test("is titled by its month, quarter or year", () => {
    expect(periodTitle(days("2025-10-01", "2025-10-31"))).toBe("October 2025");
    expect(periodTitle(days("2025-10-01", "2025-12-31"))).toBe("Quarter 4 of 2025");
    expect(periodTitle(days("2025-01-01", "2025-12-31"))).toBe("2025");
    expect(periodTitle(days("2025-10-01", "2025-10-15"))).toMatch(/Oct 1\s–\s15, 2025/);
  });
});

describe("a file's name", () => {
  test.each([
    ["Café Blau", days("2026-10-01", "2026-10-31"), "Cafe-Blau-2026-10-statement"],
    ["Café Blau", days("2026-10-01", "2026-12-31"), "Cafe-Blau-2026-Q4-statement"],
    ["../../etc/passwd", days("2026-01-01", "2026-12-31"), "etc-passwd-2026-statement"],
    ["Кафе: «Синее»", days("2026-10-01", "2026-10-15"), "Кафе-Синее-2026-10-01-2026-10-15-statement"],
    ["", days("2026-10-01", "2026-10-01"), "2026-10-01-statement"],
  ])("of %s has only letters, digits and hyphens", (shop, period, name) => {
    expect(fileName(shop, period, "statement", false)).toBe(name);
  });

  test("says that the coins of a test are worth nothing", () => {
    expect(fileName("Shop", days("2026-10-01", "2026-10-31"), "statement", true)).toBe(
      "test-Shop-2026-10-statement",
    );
  });
});
