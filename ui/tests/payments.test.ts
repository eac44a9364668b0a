import { fireEvent, screen, waitFor } from "@testing-library/svelte";
import { afterEach, describe, expect, test, vi } from "vitest";
import { payment, paymentsPage, status } from "./fixture";
import { host, open } from "./panel";

afterEach(() => vi.useRealTimers());

/** Scrolls a list with rows of 50 pixels until this row is the first visible one. */
async function scrollTo(row: number) {
  const body = document.querySelector("tbody");
  if (!body) throw new Error("there is no list");
  body.getBoundingClientRect = () => new DOMRect(0, -row * 50, 800, 50);
  await fireEvent.scroll(screen.getByRole("main"));
}

describe("the list of payments", () => {
  test("explains an empty list", async () => {
    open("#/payments");
    expect(await screen.findByText("No payments yet")).toBeTruthy();
    expect(screen.getByRole("link", { name: "Create payment" }).getAttribute("href")).toBe("#/test/new");
  });

  test("mentions the simulated customer only on the sandbox", async () => {
    open("#/test/payments");
    expect(await screen.findByText(/In this sandbox a simulated customer pays/)).toBeTruthy();
    host.reply("status", { ...status, sandbox: false });
    host.emit("changed");
    await waitFor(() => expect(screen.queryByText(/simulated customer/)).toBeNull());
    expect(screen.getByText("No payments yet")).toBeTruthy();
  });

  test("is read again at each change, and announces new states", async () => {
    host.reply("listPayments", paymentsPage([payment()], 1));
    open("#/payments");
    await screen.findByText("order-7");
    host.reply("listPayments", paymentsPage([payment({ state: "CONFIRMED" })], 1));
    host.emit("changed");
    expect(await screen.findByText("order-7 ($10.00) is now: Paid.")).toBeTruthy();
  });

  test("reads the rows around the visible ones, and leaves space for the others", async () => {
    host.reply("listPayments", paymentsPage([payment()], 100_000));
    open("#/payments");
    const row = (await screen.findByText("order-7")).closest("tr");
    expect(row?.getAttribute("aria-rowindex")).toBe("2");
    expect(row?.nextElementSibling?.getAttribute("style")).toContain(`${99_999 * 50}px`);
    await scrollTo(50_000);
    await waitFor(() =>
      expect(host.askedFor("listPayments").at(-1)).toMatchObject({ offset: 49_992, limit: 32 }),
    );
    await waitFor(() => expect(screen.getByText("order-7").closest("tr")?.ariaRowIndex).toBe("49994"));
    expect(screen.getByText("100000 payments")).toBeTruthy();
  });

  test("is saved for a spreadsheet with its filter", async () => {
    host.reply("listPayments", paymentsPage([payment()], 1));
    open("#/payments");
    await fireEvent.input(await screen.findByRole("searchbox"), { target: { value: "order" } });
    await fireEvent.click(await screen.findByRole("button", { name: "Save for a spreadsheet" }));
    expect(await screen.findByText("Saved as /home/ann/Downloads/tillgate-test-payments.csv.")).toBeTruthy();
    expect(host.fields).toEqual([{ states: [], search: "order", from: null, to: null, label: null }]);
  });

  test("sends a search to the gateway, from the first row", async () => {
    host.reply("listPayments", paymentsPage([payment()], 1200));
    open("#/payments");
    await screen.findByText("order-7");
    await scrollTo(500);
    await waitFor(() => expect(host.askedFor("listPayments").at(-1)).toMatchObject({ offset: 488 }));
    await fireEvent.input(screen.getByRole("searchbox"), { target: { value: " order-7 " } });
    await waitFor(() =>
      expect(host.askedFor("listPayments").at(-1)).toMatchObject({
        offset: 0,
        search: "order-7",
        states: [],
      }),
    );
  });

  test("is narrowed to days and an API key, shows the sums, and is shown whole again", async () => {
    const usd = { minor: 2000, text: "20.00", shown: "20.00", currency: "USD" };
    const paid = { sats: 31148, text: "0.00031148", shown: "0.00031148" };
    host.reply("listKeys", { items: [{ name: "web" }], itemsCount: 1 } as never);
    host.reply("listPayments", (asked: { from: number | null }) =>
      asked.from === null
        ? paymentsPage([payment()], 1)
        : { ...paymentsPage([payment()], 1), sums: { confirmed: [usd], paid } },
    );
    open("#/payments");
    await fireEvent.change(await screen.findByLabelText("Period"), { target: { value: "days" } });
    await fireEvent.input(await screen.findByLabelText("From"), { target: { value: "2026-01-12" } });
    await fireEvent.input(screen.getByLabelText("to"), { target: { value: "2026-01-12" } });
    await fireEvent.change(await screen.findByLabelText("API key"), {
      target: { value: "web" },
    });
    const day = new Date(2026, 0, 12).getTime();
    await waitFor(() =>
      expect(host.askedFor("listPayments").at(-1)).toMatchObject({
        from: day,
        to: new Date(2026, 0, 13).getTime(),
        label: "web",
      }),
    );
    const sums = (await screen.findByText(/1 payment\s+·/)).textContent?.replace(/\s+/g, " ").trim();
    expect(sums).toBe("1 payment · $20.00 paid");
    await fireEvent.click(screen.getByRole("button", { name: "Show all payments" }));
    await waitFor(() =>
      expect(host.askedFor("listPayments").at(-1)).toMatchObject({ from: null, to: null, label: null }),
    );
  });

  test("moves on to the new day at midnight", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true, now: new Date(2026, 0, 12, 23, 59, 30) });
    const startOf = (day: number) => new Date(2026, 0, day).getTime();
    const clock = new Date(2026, 0, 12, 23, 59, 30).toISOString();
    host.reply("status", { ...status, clock });
    open("#/payments");
    await fireEvent.change(await screen.findByLabelText("Period"), { target: { value: "today" } });
    await waitFor(() => expect(host.askedFor("listPayments").at(-1)).toMatchObject({ from: startOf(12) }));
    await vi.advanceTimersByTimeAsync(60_000);
    await waitFor(() =>
      expect(host.askedFor("listPayments").at(-1)).toMatchObject({ from: startOf(13), to: startOf(14) }),
    );
  });

  test("shows late and overpaid payments in a colour of their own", async () => {
    const late = payment({ paymentId: "1".repeat(40), state: "EXPIRED", openAnomalies: 1 });
    const paid = { sats: 20000, text: "0.00020000", shown: "0.00020000" };
    const overpaidBy = { sats: 4426, text: "0.00004426", shown: "0.00004426" };
    const overpaid = payment({ paymentId: "2".repeat(40), state: "CONFIRMED", paid, overpaidBy });
    host.reply("listPayments", paymentsPage([late, overpaid], 2));
    open("#/payments");
    expect((await screen.findByText("Paid late")).classList).toContain("late");
    expect(screen.getByText("Paid, too much", { selector: ".badge" }).classList).toContain("more");
  });

  test("shows a surplus that could not be sent back as paid", async () => {
    const paid = { sats: 15867, text: "0.00015867", shown: "0.00015867" };
    host.reply("listPayments", paymentsPage([payment({ state: "CONFIRMED", paid })], 1));
    open("#/payments");
    expect((await screen.findByText("Paid", { selector: ".badge" })).classList).toContain("good");
  });

  test("keeps its rows and shows the error if a read fails", async () => {
    host.reply("listPayments", paymentsPage([payment()], 1));
    open("#/payments");
    await screen.findByText("order-7");
    host.reply("listPayments", {
      errorType: "STORAGE_UNAVAILABLE",
      message: "The disk is full.",
      field: null,
      details: "SQLITE_FULL",
    });
    host.emit("changed");
    expect(await screen.findByText("The disk is full.")).toBeTruthy();
    expect(screen.getByText("SQLITE_FULL").closest("details")?.open).toBe(false);
    expect(screen.getByText("order-7")).toBeTruthy();
  });
});

describe("the texts of the list of payments", () => {
  test("show a cut reference in full in its title", async () => {
    host.reply(
      "listPayments",
      paymentsPage(
        [payment(), payment({ paymentId: "q".repeat(40), merchantTransactionId: "", message: "" })],
        2,
      ),
    );
    open("#/payments");
    expect((await screen.findByText("order-7")).closest("td")?.title).toBe("order-7");
    expect(screen.getByText("No reference").closest("td")?.title).toBe("q".repeat(40));
  });

  test("name the states alike in filter and rows", async () => {
    open("#/payments");
    const filter = await screen.findByLabelText<HTMLSelectElement>("State");
    expect([...filter.options].map((option) => [option.value, option.text])).toEqual([
      ["", "All states"],
      ["NEW", "Waiting for payment"],
      ["UNDERPAID", "Underpaid"],
      ["UNCONFIRMED", "Received, not final"],
      ["CONFIRMED", "Paid"],
      ["EXPIRED", "Expired"],
      ["INVALID", "Short paid, overpaid, reversed or withdrawn"],
    ]);
  });
});

describe("the way back to a list", () => {
  test("keeps the search, the rows and the scroll position", async () => {
    host.reply("listPayments", paymentsPage([payment()], 120));
    host.reply("showPayment", payment());
    open("#/payments");
    await fireEvent.input(await screen.findByRole("searchbox"), { target: { value: "order-7" } });
    await screen.findByText("order-7");
    await scrollTo(60);
    await waitFor(() => expect(host.askedFor("listPayments").at(-1)).toMatchObject({ offset: 48 }));
    const main = screen.getByRole("main");
    main.scrollTop = 333;
    await fireEvent.scroll(main);
    await fireEvent.click(await screen.findByText("order-7"));
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    const back = await screen.findByRole("link", { name: "← All payments" });
    expect(main.scrollTop).toBe(0);
    await fireEvent.click(back);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await waitFor(() => expect(main.scrollTop).toBe(333));
    expect(screen.getByRole<HTMLInputElement>("searchbox").value).toBe("order-7");
    expect(host.askedFor("listPayments").at(-1)).toMatchObject({ offset: 48, search: "order-7" });
  });
});

describe("a new payment", () => {
  test("sends the typed text unchanged, and shows the payment", async () => {
    host.reply("createPayment", payment());
    host.reply("showPayment", payment());
    open("#/new");
    await fireEvent.input(await screen.findByLabelText("Amount"), { target: { value: "10.10" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create payment" }));
    await waitFor(() => expect(location.hash).toBe(`#/test/payment/${"p".repeat(40)}`));
    expect(host.askedFor("createPayment")).toMatchObject([{ amount: "10.10", currency: "USD" }]);
  });

  test("offers only the merchant's currencies, in their order", async () => {
    open("#/new");
    const choice = await screen.findByLabelText<HTMLSelectElement>("Currency");
    const offered = [...choice.options].map((option) => [option.value, option.disabled]);
    expect(offered).toEqual([
      ["USD", false],
      ["JPY", true],
      ["EUR", false],
    ]);
  });

  test("is not made without a fresh rate, and the form says why", async () => {
    const rates = status.rates.map((rate) => ({ ...rate, fresh: false }));
    host.reply("status", { ...status, rates });
    open("#/new");
    const choice = await screen.findByLabelText<HTMLSelectElement>("Currency");
    expect(choice.value).toBe("");
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Create payment" }).disabled).toBe(true);
    expect(screen.getByText(/No currency has a fresh rate now/)).toBeTruthy();

    host.reply("status", status);
    host.emit("changed");
    await waitFor(() => expect(choice.value).toBe("USD"));
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Create payment" }).disabled).toBe(false);
  });

  test("is not made in a currency whose rate went stale after it was chosen", async () => {
    open("#/new");
    const choice = await screen.findByLabelText<HTMLSelectElement>("Currency");
    await fireEvent.change(choice, { target: { value: "EUR" } });
    const rates = status.rates.map((rate) => ({ ...rate, fresh: rate.currency !== "EUR" && rate.fresh }));
    host.reply("status", { ...status, rates });
    host.emit("changed");
    expect(await screen.findByText(/There is no fresh rate for EUR now/)).toBeTruthy();
    expect(choice.value).toBe("EUR");
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Create payment" }).disabled).toBe(true);
  });

  test("shows an error beside its field, under the form's label", async () => {
    host.reply("createPayment", {
      errorType: "VALIDATION_FAILED",
      message: "amount must be more than 0",
      field: "amount",
    });
    open("#/new");
    const amount = await screen.findByLabelText("Amount");
    await fireEvent.input(amount, { target: { value: "0" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create payment" }));
    expect(await screen.findByText("Amount must be more than 0")).toBeTruthy();
    expect(amount.getAttribute("aria-invalid")).toBe("true");
  });

  test("asks for a number if the amount is none", async () => {
    const message =
      "amount must be a decimal number with a point and no comma, like 10.00, or 0.001 in Bitcoin";
    host.reply("createPayment", { errorType: "VALIDATION_FAILED", message, field: "amount" });
    open("#/new");
    const amount = await screen.findByLabelText("Amount");
    await fireEvent.input(amount, { target: { value: "1,5" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create payment" }));
    expect(await screen.findByText("Amount: write a number, like 10.00 or 10,00")).toBeTruthy();
  });

  test("keeps the gateway's message for an ambiguous amount", async () => {
    const message = "amount could mean two prices: write it without marks between thousands, like 1234.50";
    host.reply("createPayment", { errorType: "VALIDATION_FAILED", message, field: "amount" });
    open("#/new");
    await fireEvent.input(await screen.findByLabelText("Amount"), { target: { value: "1,000" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create payment" }));
    expect(await screen.findByText(/^Amount could mean two prices: write it without marks/)).toBeTruthy();
    expect(screen.queryByText(/not a comma/)).toBeNull();
  });
});
