import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { tick } from "svelte";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { keyOfTold, readTold } from "../src/lib/customer";
import * as sounds from "../src/lib/sound";
import { display } from "../src/lib/state/display.svelte";
import { keyOf, resetTill } from "../src/lib/state/till.svelte";
import type { NewProduct, PaymentView, ProductView } from "../src/lib/bindings";
import { payment, status, telling } from "./fixture";
import { host, open } from "./panel";

const ID = "p".repeat(40);

beforeEach(() => {
  resetTill();
  display.environment = undefined;
  host.reply("createSale", payment());
  host.reply("showPayment", payment());
  localStorage.setItem(keyOf(status.folder), JSON.stringify({ centsFirst: false }));
});

afterEach(() => vi.useRealTimers());

/** Presses keys while no control has the focus. */
async function types(...keys: string[]) {
  for (const key of keys) await fireEvent.keyDown(document.body, { key });
}

const total = () => screen.getByLabelText("Total").textContent;
const charged = () => host.askedFor("createSale");

async function opened() {
  open("#/test/till");
  await screen.findByLabelText("Total");
}

/** Sets the products. The gateway stores what the till saves, as it does in the program. */
function sells(...products: ProductView[]) {
  host.reply("listProducts", products);
  host.reply("saveProducts", ({ products: saved }: { products: NewProduct[] }) =>
    saved.map((one) => product(one.name, one.price, one.currency)),
  );
}

function product(name: string, price: string, currency = "USD"): ProductView {
  const text = price.replace(",", ".");
  const minor = Math.round(Number(text) * 100);
  const shown = (minor / 100).toFixed(2);
  return { name, price: { minor, text: shown, shown, currency }, taxPerMille: null, color: "" };
}

const saved = () =>
  host
    .askedFor("saveProducts")
    .at(-1)
    ?.products.map((one) => one.name);

/** The lines that the till charged last. */
const chargedLines = () =>
  charged()
    .at(-1)
    ?.lines.map(({ name, price, count }) => `${count} × ${name || "amount"} ${price}`);

describe("the keypad", () => {
  test("takes number keys, comma, Backspace and Enter", async () => {
    await opened();
    await types("1", "2", ",", "5", "7", "Backspace", "5", "9");
    expect(total()).toBe("12.55");
    expect(screen.getByRole("button", { name: "Charge $12.55" })).toBeTruthy();
    await types("Enter");
    await waitFor(() => expect(charged()).toMatchObject([{ currency: "USD", tip: "", message: "" }]));
    expect(chargedLines()).toEqual(["1 × amount 12.55"]);
  });

  test("fills the cents first, if the person chose so", async () => {
    await opened();
    await fireEvent.click(screen.getByLabelText("Cents first: 4 5 0 is 4.50"));
    await types("4", "5", "0");
    expect(total()).toBe("4.50");
    await types("Backspace");
    expect(total()).toBe("0.45");
    expect(localStorage.getItem(keyOf(status.folder))).toContain('"centsFirst":true');
  });

  test("takes taps, and adds several amounts", async () => {
    await opened();
    const keypad = screen.getByRole("group", { name: "Keypad" });
    const tap = (name: string) => fireEvent.click(within(keypad).getByRole("button", { name }));
    await tap("4");
    await tap("More: add another amount");
    await tap("3");
    await tap("00");
    await tap("Decimal point");
    await tap("5");
    expect(total()).toBe("304.50");
    await tap("Clear the sale");
    expect(total()).toBe("0.00");
  });

  test("charges nothing without an amount", async () => {
    await opened();
    await types("Enter", "0", ".", "0", "Enter");
    expect(charged()).toHaveLength(0);
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Type a price" }).disabled).toBe(true);
  });

  test("charges one sale once, even if another screen was shown meanwhile", async () => {
    let answer = () => {};
    host.reply("createSale", () => new Promise((made) => (answer = () => made(payment()))));
    await opened();
    await types("5", "Enter");
    location.hash = "#/test/payments";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await screen.findByRole("heading", { name: "Payments" });
    location.hash = "#/test/till";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await screen.findByLabelText("Total");
    await types("7", "Enter");
    expect(total()).toBe("5");
    expect(charged()).toHaveLength(1);
    answer();
    expect(await screen.findByRole("dialog", { name: /\$10.00/ })).toBeTruthy();
  });

  test("knows a currency without decimals", async () => {
    const rates = status.rates.map((rate) => ({ ...rate, fresh: true }));
    host.reply("status", { ...status, rates, currencies: ["JPY"] });
    await opened();
    await types("1", ".", "5", "0", "0", "Enter");
    await waitFor(() => expect(charged()).toMatchObject([{ lines: [{ price: "1500" }], currency: "JPY" }]));
  });

  test("charges by Enter, even if a button was clicked before", async () => {
    await opened();
    const clicked = screen.getByRole("button", { name: "Open the second display" });
    clicked.focus();
    await fireEvent.keyDown(clicked, { key: "5" });
    expect(document.activeElement).toBe(document.body);
    await types("Enter");
    await waitFor(() => expect(charged()).toMatchObject([{ lines: [{ price: "5.00" }] }]));
  });

  test("leaves the keys of the note alone", async () => {
    await opened();
    await types("5");
    const note = screen.getByLabelText("Message to the customer (optional)");
    await fireEvent.keyDown(note, { key: "7" });
    await fireEvent.input(note, { target: { value: "table 4" } });
    expect(total()).toBe("5");
    await types("Enter");
    await waitFor(() =>
      expect(charged()).toMatchObject([{ lines: [{ price: "5.00" }], message: "table 4" }]),
    );
  });

  test("remembers the currency of the last sale in this environment", async () => {
    await opened();
    await fireEvent.change(screen.getByLabelText("Currency"), { target: { value: "EUR" } });
    await types("2", "Enter");
    await waitFor(() => expect(charged()).toMatchObject([{ currency: "EUR" }]));
    expect(localStorage.getItem(keyOf(status.folder))).toContain('"currency":"EUR"');
    expect(localStorage.getItem(keyOf("/home/ada/.local/share/tillgate/production"))).toBeNull();
  });

  test("drops the prices of the former currency", async () => {
    sells(product("Espresso", "2.50"));
    const rates = status.rates.map((rate) => ({ ...rate, fresh: true }));
    host.reply("status", { ...status, rates });
    await opened();
    await fireEvent.click(await screen.findByRole("button", { name: /Espresso/ }));
    await types("1", ".", "5");
    await fireEvent.change(screen.getByLabelText("Currency"), { target: { value: "JPY" } });
    expect(total()).toBe("0");
  });

  test("takes no price before the decimals of the currency are known", async () => {
    host.reply("status", { ...status, currencies: ["USD"], rates: [] });
    open("#/till");
    await screen.findByRole("button", { name: "Type a price" });
    await fireEvent.keyDown(window, { key: "3" });
    expect(screen.getByLabelText("Total").textContent).toBe("0.00");
  });

  test("keeps its currency when another rate is fresher", async () => {
    await opened();
    host.reply("status", { ...status, currencies: ["USD", "EUR"], rates: status.rates.slice(1, 2) });
    host.emit("changed");
    expect(await screen.findByText(/There is no fresh rate for USD now/)).toBeTruthy();
  });

  test("keeps the sale while another screen is shown", async () => {
    await opened();
    await types("7");
    location.hash = "#/test/payments";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await screen.findByRole("heading", { name: "Payments" });
    await types("t");
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await screen.findByLabelText("Total");
    expect(total()).toBe("7");
  });

  test("asks before it charges without a connection", async () => {
    host.reply("status", { ...status, chainError: telling("no connection") });
    await opened();
    await types("5", "Enter");
    const dialog = await screen.findByRole("dialog", { name: "Charge without a connection?" });
    expect(charged()).toHaveLength(0);
    await fireEvent.click(within(dialog).getByRole("button", { name: "Charge all the same" }));
    await waitFor(() => expect(charged()).toHaveLength(1));
  });

  test("shows why a charge was refused, and keeps the amount", async () => {
    host.reply("createSale", {
      errorType: "VALIDATION_FAILED",
      message: "amount is too small",
      field: "amount",
    });
    await opened();
    await types(".", "0", "1", "Enter");
    expect((await screen.findByRole("alert")).textContent).toContain("The amount is too small");
    expect(total()).toBe("0.01");
  });
});

describe("products and tips", () => {
  test("products add up with the typed amount and the tip", async () => {
    sells(product("Espresso", "2.50"), product("Cake", "4.90"));
    await opened();
    await fireEvent.click(await screen.findByRole("button", { name: /Espresso/ }));
    await fireEvent.click(screen.getByRole("button", { name: /Espresso \$2.50/ }));
    await fireEvent.click(screen.getByRole("button", { name: /Cake/ }));
    await types("1");
    await fireEvent.click(screen.getByLabelText("10 %"));
    expect(total()).toBe("11.99");
    await types("Enter");
    await waitFor(() =>
      expect(charged()).toMatchObject([{ tip: "1.09", message: "2 × Espresso, Cake; tip 1.09" }]),
    );
    expect(chargedLines()).toEqual(["2 × Espresso 2.50", "1 × Cake 4.90", "1 × amount 1.00"]);
  });

  test("one item can be taken away again", async () => {
    sells(product("Espresso", "2.50"));
    await opened();
    await fireEvent.click(await screen.findByRole("button", { name: /Espresso/ }));
    await fireEvent.click(screen.getByRole("button", { name: "One Espresso less" }));
    expect(total()).toBe("0.00");
  });

  const names = () => screen.getAllByLabelText<HTMLInputElement>("Name").map((input) => input.value);

  test("are added and changed in place, and kept", async () => {
    sells();
    await opened();
    await fireEvent.click(await screen.findByRole("button", { name: "Add a product" }));
    await fireEvent.input(screen.getByLabelText("Name"), { target: { value: "Tea" } });
    await fireEvent.input(screen.getByLabelText("Price in USD"), { target: { value: "3" } });
    await fireEvent.input(screen.getByLabelText(/Tax in percent/), { target: { value: "x" } });
    expect(screen.getByText(/Write the tax in percent/)).toBeTruthy();
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Done" }).disabled).toBe(true);
    await fireEvent.input(screen.getByLabelText(/Tax in percent/), { target: { value: "7,7" } });
    await fireEvent.click(screen.getByRole("button", { name: "Done" }));
    await fireEvent.click(await screen.findByRole("button", { name: /Tea \$3.00/ }));
    expect(total()).toBe("3.00");
    expect(host.askedFor("saveProducts")).toMatchObject([
      { products: [{ name: "Tea", price: "3", currency: "USD", taxPerMille: 77, color: "" }] },
    ]);
  });

  test("with a wrong price are named, and stay in the form", async () => {
    sells(product("Cake", "4.90"), product("Tea", "3.00"), product("Saft", "2.00", "EUR"));
    host.reply("saveProducts", {
      errorType: "VALIDATION_FAILED",
      message: "products[1].price could mean two prices",
      field: "products[1].price",
      told: [{ code: "AMBIGUOUS", message: "could mean two prices", values: {}, field: "products[1].price" }],
    });
    await opened();
    await fireEvent.click(await screen.findByRole("button", { name: "Edit" }));
    await fireEvent.input(screen.getAllByLabelText("Price in USD")[1]!, { target: { value: "1.234" } });
    await fireEvent.click(screen.getByRole("button", { name: "Done" }));
    expect((await screen.findByRole("alert")).textContent).toContain(
      "The price of Tea could mean two prices",
    );
    expect(saved()).toEqual(["Cake", "Tea", "Saft"]);
    await fireEvent.click(screen.getByRole("button", { name: "Discard the changes" }));
    expect(screen.getByRole("button", { name: /Tea \$3.00/ })).toBeTruthy();
  });

  test("are ordered by the keyboard", async () => {
    sells(product("A", "1"), product("B", "2"), product("C", "3"));
    await opened();
    await fireEvent.click(await screen.findByRole("button", { name: "Edit" }));
    await fireEvent.keyDown(screen.getByRole("button", { name: "Move A" }), { key: "ArrowDown" });
    await tick();
    expect(names()).toEqual(["B", "A", "C"]);
    expect(screen.getByText("A is number 2 of 3.")).toBeTruthy();
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Move A");
    await fireEvent.keyDown(screen.getByRole("button", { name: "Move B" }), { key: "ArrowUp" });
    expect(names()).toEqual(["B", "A", "C"]);
    await fireEvent.click(screen.getByRole("button", { name: "Done" }));
    await waitFor(() => expect(saved()).toEqual(["B", "A", "C"]));
  });

  test("are ordered by dragging", async () => {
    sells(product("A", "1"), product("B", "2"));
    await opened();
    await fireEvent.click(await screen.findByRole("button", { name: "Edit" }));
    document.elementFromPoint = () => screen.getByRole("button", { name: "Move B" });
    await fireEvent.pointerMove(window);
    expect(names()).toEqual(["A", "B"]);
    await fireEvent.pointerDown(screen.getByRole("button", { name: "Move A" }));
    await fireEvent.pointerMove(window);
    await fireEvent.pointerUp(window);
    expect(names()).toEqual(["B", "A"]);
  });

  test("with one name and price at two tax rates are two lines", async () => {
    sells(
      { ...product("Coffee", "3.50"), taxPerMille: 190 },
      { ...product("Coffee", "3.50"), taxPerMille: 70 },
    );
    await opened();
    for (const tile of await screen.findAllByRole("button", { name: /Coffee/ })) await fireEvent.click(tile);
    expect(total()).toBe("7.00");
    const lines = within(screen.getByRole("region", { name: "This sale" })).getAllByRole("listitem");
    expect(lines.map((line) => line.textContent)).toEqual([
      expect.stringMatching(/Coffee\s+19 %/),
      expect.stringMatching(/Coffee\s+7 %/),
    ]);
  });

  test("of another currency are not shown", async () => {
    sells(product("Espresso", "2.50", "EUR"));
    await opened();
    expect(screen.queryByRole("button", { name: /Espresso/ })).toBeNull();
    expect(await screen.findByText(/Your products in EUR/)).toBeTruthy();
  });
});

describe("the customer's view", () => {
  async function charges() {
    await opened();
    await types("1", "0", "Enter");
    return screen.findByRole("dialog", { name: /\$10.00/ });
  }

  test("asks for the price in both moneys, and goes back by Esc", async () => {
    const dialog = await charges();
    expect(within(dialog).getByAltText("QR code to pay $10.00")).toBeTruthy();
    expect(dialog.textContent).toContain("15,574 sat");
    expect(dialog.textContent).toContain("webshop");
    expect(dialog.textContent).toContain("Test: these coins are worth nothing");
    expect(readTold("test").paymentId).toBe(ID);
    await fireEvent.keyDown(dialog, { key: "Escape" });
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(total()).toBe("0.00");
    expect(readTold("test").paymentId).toBeNull();
  });

  test("a sale is cancelled after the till has asked once", async () => {
    host.reply("cancelPayment", payment({ isCancelled: true }));
    const dialog = within(await charges());
    await fireEvent.click(await dialog.findByRole("button", { name: "Cancel sale…" }));
    const asks = await screen.findByRole("dialog", { name: "Cancel order-7 ($10.00)?" });
    expect(host.askedFor("cancelPayment")).toEqual([]);
    await fireEvent.click(within(asks).getByRole("button", { name: "Keep it" }));
    await waitFor(() => expect(screen.queryByRole("dialog", { name: /^Cancel/ })).toBeNull());
    expect(host.askedFor("cancelPayment")).toEqual([]);
    await fireEvent.click(dialog.getByRole("button", { name: "Cancel sale…" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Cancel payment" }));
    await waitFor(() => expect(host.askedFor("cancelPayment")).toMatchObject([{ paymentId: ID }]));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  test("the till no longer asks to cancel a sale that is paid meanwhile", async () => {
    const dialog = within(await charges());
    await fireEvent.click(await dialog.findByRole("button", { name: "Cancel sale…" }));
    expect(await screen.findByRole("dialog", { name: /^Cancel/ })).toBeTruthy();
    host.reply("showPayment", payment({ state: "UNCONFIRMED" }));
    host.emit("changed");
    await waitFor(() => expect(screen.queryByRole("dialog", { name: /^Cancel/ })).toBeNull());
  });

  test("a late answer to a cancellation does not end the next sale", async () => {
    let answer = () => {};
    host.reply("cancelPayment", () => new Promise((done) => (answer = () => done(payment()))));
    const dialog = within(await charges());
    await fireEvent.click(await dialog.findByRole("button", { name: "Cancel sale…" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Cancel payment" }));
    await fireEvent.click(dialog.getByRole("button", { name: "New sale" }));
    host.reply("createSale", payment({ paymentId: "n".repeat(40) }));
    await types("1", "0", "Enter");
    await waitFor(() => expect(readTold("test").paymentId).toBe("n".repeat(40)));
    vi.useFakeTimers({ shouldAdvanceTime: true });
    answer();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(readTold("test").paymentId).toBe("n".repeat(40));
  });

  test("a second Enter does not begin the next sale", async () => {
    await charges();
    expect(document.activeElement?.tagName).not.toBe("BUTTON");
    await types("Enter");
    expect(screen.getByRole("dialog")).toBeTruthy();
    expect(charged()).toHaveLength(1);
  });

  test("says how much is missing", async () => {
    const dialog = await charges();
    const missing = { minor: 400, text: "4.00", shown: "4.00", currency: "USD" };
    const came = { ...missing, minor: 600, text: "6.00", shown: "6.00" };
    host.reply("showPayment", payment({ state: "UNDERPAID", paidWorth: came, differenceWorth: missing }));
    host.emit("changed");
    await within(dialog).findByText("Still missing");
    expect(within(dialog).getByAltText("QR code to pay $4.00")).toBeTruthy();
    expect(dialog.textContent).toContain("$6.00 received.");
  });

  test("says that a payment without confirmations waits for the network", async () => {
    const dialog = await charges();
    host.reply("showPayment", payment({ state: "UNCONFIRMED" }));
    host.emit("changed");
    expect(await within(dialog).findByRole("heading", { name: "Received, please wait" })).toBeTruthy();
    expect(within(dialog).getAllByText(/The network confirms it in about 10 minutes/)).toBeTruthy();
  });

  test("says that it is paid, and goes back by itself after ten seconds", async () => {
    const dialog = await charges();
    vi.useFakeTimers();
    host.reply("showPayment", payment({ state: "CONFIRMED" }));
    host.emit("changed");
    await vi.advanceTimersByTimeAsync(9_900);
    expect(within(dialog).getByRole("heading", { name: "Paid" })).toBeTruthy();
    await vi.advanceTimersByTimeAsync(200);
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  test("goes back after ten seconds, even if other payments change meanwhile", async () => {
    const dialog = await charges();
    vi.useFakeTimers();
    host.reply("showPayment", () => payment({ state: "CONFIRMED" }));
    for (let second = 0; second < 9; second += 1) {
      host.emit("changed");
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(within(dialog).getByRole("heading", { name: "Paid" })).toBeTruthy();
    await vi.advanceTimersByTimeAsync(1_500);
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  test("stays and says stop in red while the customer takes the money back", async () => {
    const dialog = await charges();
    vi.useFakeTimers();
    host.reply("showPayment", payment({ state: "CONFIRMED", conflictSeen: true }));
    host.emit("changed");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(
      within(dialog).getByRole("heading", { name: "Stop: the customer is taking the money back" }),
    ).toBeTruthy();
    expect(dialog.querySelector("b.answer")?.classList).toContain("stop");
    expect(within(dialog).queryByText(/Paid|final/)).toBeNull();
    host.reply("showPayment", payment({ state: "CONFIRMED" }));
    host.emit("changed");
    await vi.advanceTimersByTimeAsync(100);
    expect(within(dialog).getByRole("heading", { name: "Paid" })).toBeTruthy();
  });

  test("stays while the network confirms, so that nobody hands over the goods too early", async () => {
    const dialog = await charges();
    vi.useFakeTimers();
    host.reply("showPayment", payment({ state: "UNCONFIRMED" }));
    host.emit("changed");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(within(dialog).getByRole("heading", { name: "Received, please wait" })).toBeTruthy();
    expect(within(dialog).getByText("Not final yet. Hand over nothing.")).toBeTruthy();
  });

  test("says that the connection is gone while the customer pays", async () => {
    const dialog = await charges();
    expect(within(dialog).queryByRole("alert")).toBeNull();
    host.reply("status", { ...status, chainError: telling("no answer") });
    host.emit("changed", "test");
    expect((await within(dialog).findByRole("alert")).textContent).toContain("Not connected");
  });

  test("says how long the confirmations that are left take", async () => {
    const dialog = await charges();
    host.reply("showPayment", payment({ state: "UNCONFIRMED", confirmations: 2, confirmationsWanted: 3 }));
    host.emit("changed");
    expect(await within(dialog).findAllByText(/confirms it in about 10 minutes/)).toBeTruthy();
  });

  test("stays while the receipt is open", async () => {
    const dialog = await charges();
    host.reply("showPayment", payment({ state: "CONFIRMED", paid: payment().amount }));
    host.emit("changed");
    await fireEvent.click(await within(dialog).findByRole("button", { name: "Receipt…" }));
    vi.useFakeTimers();
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    const receipt = screen.getByRole("dialog", { name: "Receipt" });
    expect(within(receipt).getByRole("button", { name: "Print or save as PDF…" })).toBeTruthy();
    await fireEvent.click(within(receipt).getByRole("button", { name: "Close" }));
    expect(screen.getByRole("dialog", { name: "Paid" })).toBeTruthy();
  });

  test("stays until a person decides about coins that do not fit", async () => {
    const dialog = await charges();
    vi.useFakeTimers();
    host.reply("showPayment", payment({ state: "INVALID", whyInvalid: "SHORT_PAID" }));
    host.emit("changed");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(within(dialog).getByRole("heading", { name: "Too little was paid" })).toBeTruthy();
  });

  test("leaves the panel free while the customer has a display", async () => {
    await opened();
    await fireEvent.click(screen.getByRole("button", { name: "Open the second display" }));
    expect(host.acts).toEqual(["customer-view"]);
    await screen.findByRole("button", { name: "Close the second display" });
    await types("1", "0", "Enter");
    await screen.findByRole("heading", { name: "The customer sees this sale" });
    expect(screen.queryByRole("dialog")).toBeNull();
    await types("Escape", "9", "Enter");
    await screen.findByRole("heading", { name: "The customer sees this sale" });
    expect(charged()).toHaveLength(2);
    host.emit("customer-closed");
    expect(await screen.findByRole("dialog")).toBeTruthy();
  });

  test("the second display can be closed from the till", async () => {
    await opened();
    await fireEvent.click(screen.getByRole("button", { name: "Open the second display" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Close the second display" }));
    await screen.findByRole("button", { name: "Open the second display" });
    expect(host.acts).toEqual(["customer-view", "customer-close"]);
  });

  test("takes the focus away from the note, where the next price would go", async () => {
    await opened();
    await types("1", "0");
    const note = screen.getByLabelText("Message to the customer (optional)");
    note.focus();
    await fireEvent.submit(note.closest("form")!);
    const dialog = await screen.findByRole("dialog");
    await fireEvent.click(within(dialog).getByRole("button", { name: "New sale" }));
    await waitFor(() => expect(document.activeElement?.textContent).toBe("Till"));
  });
});

describe("the sales that wait", () => {
  const waiting = (over: Partial<PaymentView>) =>
    payment({ expirationTime: "2099-01-01T00:00:00Z", saleNumber: 12, ...over });

  const chip = () => screen.getByRole("button", { name: /^No\. 12/ });

  test.each([
    [{ state: "UNDERPAID" }, /^\$10.00 missing, .* left$/, "bad"],
    [{ state: "UNCONFIRMED" }, "Received, block 0 of 1", "wait"],
    [{ state: "UNCONFIRMED", confirmationsWanted: 0 }, "Received, being checked", "wait"],
    [{ state: "CONFIRMED" }, "Paid", "good"],
    [{ state: "CONFIRMED", conflictSeen: true }, "Stop: the customer is taking the money back", "bad"],
    [{ state: "INVALID", whyInvalid: "REVERSED" }, "Reversed", "bad"],
    [{ state: "INVALID", whyInvalid: "WITHDRAWN" }, "Coins withdrawn", "bad"],
    [{ state: "EXPIRED", openAnomalies: 1 }, "Paid late", "bad"],
    [{ state: "CONFIRMED", openAnomalies: 1 }, "Paid, needs a decision", "wait"],
    [{ expirationTime: "2026-01-12T11:00:00Z" }, "Time over, not closed yet", "wait"],
  ] as const)("with %o show %s", async (over, words, tone) => {
    host.reply("listWaitingSales", [waiting(over)]);
    await opened();
    expect(await screen.findByText(words)).toBeTruthy();
    expect(chip().className).toContain(tone);
  });

  test("that went wrong stand first, and paid ones last", async () => {
    host.reply("listWaitingSales", [
      waiting({ paymentId: "1".repeat(40), saleNumber: 1, state: "CONFIRMED" }),
      waiting({ paymentId: "2".repeat(40), saleNumber: 2 }),
      waiting({ paymentId: "3".repeat(40), saleNumber: 3, state: "UNDERPAID" }),
    ]);
    await opened();
    const list = await screen.findByRole("list", { name: "Sales that wait" });
    const numbers = within(list)
      .getAllByText(/^No\. /)
      .map((number) => number.textContent);
    expect(numbers).toEqual(["No. 3", "No. 2", "No. 1"]);
  });

  test("that need a decision lead to it, and stay", async () => {
    host.reply("listWaitingSales", [waiting({ state: "CONFIRMED", openAnomalies: 1 })]);
    host.reply("showPayment", waiting({ state: "CONFIRMED", openAnomalies: 1 }));
    await opened();
    await fireEvent.click(await screen.findByRole("button", { name: /^No\. 12/ }));
    const dialog = await screen.findByRole("dialog", { name: "Paid" });
    const decide = within(dialog).getByRole("link", { name: "Decide…" });
    expect(decide.getAttribute("href")).toBe(`#/test/payment/${ID}`);
    vi.useFakeTimers();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(screen.getByRole("dialog", { name: "Paid" })).toBeTruthy();
  });

  test("open again with one tap, and stay after a new sale", async () => {
    host.reply("listWaitingSales", [waiting({ state: "UNCONFIRMED" })]);
    host.reply("showPayment", waiting({ state: "UNCONFIRMED" }));
    await opened();
    await fireEvent.click(await screen.findByRole("button", { name: /^No\. 12/ }));
    const dialog = await screen.findByRole("dialog", { name: "Received, please wait" });
    expect(dialog.textContent).toContain("No. 12");
    await fireEvent.click(within(dialog).getByRole("button", { name: "New sale" }));
    expect(chip()).toBeTruthy();
  });

  test("stay beside a sale that the customer sees on the second display", async () => {
    host.reply("listWaitingSales", [waiting({ state: "UNCONFIRMED" })]);
    await opened();
    await fireEvent.click(screen.getByRole("button", { name: "Open the second display" }));
    await screen.findByRole("button", { name: "Close the second display" });
    await types("1", "0", "Enter");
    await screen.findByRole("heading", { name: "The customer sees this sale" });
    expect(await screen.findByRole("button", { name: /^No\. 12/ })).toBeTruthy();
  });

  test.each([
    [["paid"], 1],
    [[], 0],
  ] as const)("sound when a block confirms one, if the sounds are %j", async (kinds, times) => {
    const sound = vi.spyOn(sounds, "playNews").mockReturnValue();
    host.reply("listNews", { items: [], notices: [], sounds: [...kinds] });
    host.reply("listWaitingSales", [waiting({ state: "UNCONFIRMED" })]);
    await opened();
    await screen.findByText("Received, block 0 of 1");
    host.reply("listWaitingSales", [waiting({ state: "CONFIRMED" })]);
    host.emit("changed");
    await screen.findByText("Paid", { selector: ".missing" });
    await waitFor(() => expect(sound).toHaveBeenCalledTimes(times));
    sound.mockRestore();
  });
});

describe("what the till tells the customer's window", () => {
  test("is read again without trust", () => {
    for (const broken of ["", "{", "null", "[]", '{"paymentId":7}']) {
      localStorage.setItem(keyOfTold("test"), broken);
      expect(readTold("test")).toEqual({ paymentId: null, shop: "", logo: "", clockAheadMs: 0 });
    }
  });
});
