import { fireEvent, render, screen, waitFor, within } from "@testing-library/svelte";
import { tick } from "svelte";
import { describe, expect, test } from "vitest";
import App from "../src/App.svelte";
import type { PaymentView } from "../src/lib/bindings";
import { payment, paymentsPage, production, status } from "./fixture";
import { host, open } from "./panel";

const frame = () => document.querySelector("[data-environment]")?.getAttribute("data-environment");

async function switchTo(name: "Test" | "Production") {
  const link = within(screen.getByRole("navigation", { name: "Environment" })).getByRole("link", {
    name: new RegExp(`^${name}`),
  });
  location.hash = (link as HTMLAnchorElement).hash;
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  await waitFor(() => expect(frame()).toBe(name.toLowerCase()));
}

/** A promise that the test resolves later. */
function later<T>() {
  let answer: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => (answer = resolve));
  return { promise, answer };
}

/** Number of ticks after which all effects of an answer have happened. The absence of an effect cannot be awaited. */
const TURNS = 100;

/** Waits until all effects of an answer have happened. */
async function settled() {
  for (let turn = 0; turn < TURNS; turn += 1) await Promise.resolve();
  await tick();
}

describe("the two environments", () => {
  test("the shown environment is named by text, colour and title", async () => {
    open("#/test/payments");
    expect(await screen.findByText("Test environment")).toBeTruthy();
    expect(frame()).toBe("test");
    await switchTo("Production");
    expect(await screen.findByText("Production environment")).toBeTruthy();
    expect(screen.getByText("Real money")).toBeTruthy();
    expect(screen.queryByText("Test environment")).toBeNull();
    expect(host.actsIn).toEqual(["shown test", "shown production"]);
  });

  test("a slow answer is shown only in its own environment", async () => {
    const slow = later<PaymentView>();
    host.reply("showPayment", () => slow.promise);
    open(`#/test/payment/${"p".repeat(40)}`);
    await waitFor(() => expect(host.askedFor("showPayment")).toHaveLength(1));
    await switchTo("Production");
    slow.answer(payment({ message: "Two coffees of the sandbox" }));
    await settled();
    expect(document.body.textContent).not.toContain("Two coffees of the sandbox");
    host.reply("showPayment", payment({ message: "Two coffees of the sandbox" }));
    await switchTo("Test");
    expect((await screen.findAllByText(/Two coffees of the sandbox/)).length).toBeGreaterThan(0);
    expect(host.askedOfProduction.map((one) => one.command)).not.toContain("showPayment");
  });

  test("a slow answer's screen and secret wait for their environment", async () => {
    const slow = later<{ name: string; secret: string; permissions: string[] }>();
    host.reply("createKey", () => slow.promise as never);
    open("#/test/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Create an API key" }));
    await fireEvent.input(screen.getByLabelText("Name"), { target: { value: "webshop" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create the key" }));
    await switchTo("Production");
    slow.answer({ name: "webshop", secret: "s3cret", permissions: [] });
    await settled();
    expect(document.body.textContent).not.toContain("s3cret");
    await switchTo("Test");
    expect(await screen.findByText("s3cret")).toBeTruthy();
  });

  test("a slow new payment opens no screen in the other environment", async () => {
    const slow = later<PaymentView>();
    host.reply("createPayment", () => slow.promise);
    open("#/test/new");
    await fireEvent.input(await screen.findByLabelText(/Price|Amount/), { target: { value: "10.00" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create payment" }));
    await waitFor(() => expect(host.askedFor("createPayment")).toHaveLength(1));
    await switchTo("Production");
    slow.answer(payment());
    await settled();
    expect(location.hash).toBe("#/production/home");
    expect(host.askedOfProduction.map((one) => one.command)).not.toContain("showPayment");
  });

  test("each keeps its screen and its search", async () => {
    open("#/test/payments");
    host.reply("listPayments", paymentsPage([payment()], 1));
    host.replyIn("production", "listPayments", paymentsPage([payment()], 1));
    host.emit("changed");
    await fireEvent.input(await screen.findByRole("searchbox"), { target: { value: "order-7" } });
    await waitFor(() => expect(JSON.stringify(host.asked)).toContain("order-7"));
    await switchTo("Production");
    location.hash = "#/production/payments";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    expect(((await screen.findByRole("searchbox")) as HTMLInputElement).value).toBe("");
    expect(JSON.stringify(host.askedOfProduction)).not.toContain("order-7");
    location.hash = "#/production/keys";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await switchTo("Test");
    expect(((await screen.findByRole("searchbox")) as HTMLInputElement).value).toBe("order-7");
    await switchTo("Production");
    expect(location.hash).toBe("#/production/keys");
  });

  test("a URL opens its environment, so that Back works", async () => {
    open("#/production/keys");
    await waitFor(() => expect(frame()).toBe("production"));
    location.hash = `#/test/payment/${"p".repeat(40)}`;
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await waitFor(() => expect(host.askedFor("showPayment")).toHaveLength(1));
    expect(frame()).toBe("test");
    expect(host.askedOfProduction.map((one) => one.command)).not.toContain("showPayment");
  });

  test("a failed environment can be retried while the other runs", async () => {
    const down = { errorType: "GATEWAY_DOWN", message: "The port 7420 is in use: stop it.", field: null };
    host.replyIn("production", "status", down);
    open("#/test/payments");
    expect(await screen.findByText("No payments yet")).toBeTruthy();
    expect(await screen.findByLabelText("not running")).toBeTruthy();
    expect(document.body.textContent).not.toContain("7420");
    await switchTo("Production");
    expect((await screen.findByRole("alert")).textContent).toContain("The port 7420 is in use");
    expect(screen.getByText("Production is not running")).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(host.actsIn).toContain("reopen production");
    expect(host.actsIn).not.toContain("reopen test");
    await switchTo("Test");
    expect(await screen.findByText("No payments yet")).toBeTruthy();
  });

  test("the other environment's waiting tasks are counted at its name", async () => {
    const calm = { ...production, openAnomalies: 0, currencies: ["USD"] };
    host.replyIn("production", "status", { ...calm, offersWaiting: 2 });
    open("#/test/payments");
    expect(await screen.findByLabelText("2 things to do")).toBeTruthy();
    host.replyIn("production", "status", { ...calm, offersWaiting: 2, openReversals: 1 });
    host.emit("changed", "production");
    expect(await screen.findByLabelText("1 alarm")).toBeTruthy();
  });

  test("a change leads to one request for the status of its environment", async () => {
    open("#/test/payments");
    await screen.findByText("Test environment");
    const before = host.askedFor("status").length;
    const beforeInProduction = host.askedOfProduction.length;
    host.emit("changed", "test");
    await waitFor(() => expect(host.askedFor("status").length).toBeGreaterThan(before));
    const between = host.askedOfProduction.length;
    expect(between).toBeLessThanOrEqual(beforeInProduction + 1);
    host.emit("changed", "production");
    await waitFor(() => expect(host.askedOfProduction).toHaveLength(between + 1));
    expect(host.askedFor("status")).toHaveLength(before + 1);
  });

  test("the shown environment is remembered", async () => {
    open("#/test/payments");
    await screen.findByText("Test environment");
    await switchTo("Production");
    expect(localStorage.getItem("tillgate.environment")).toBe("production");
  });

  test("a new window shows the environment that was shown last", async () => {
    localStorage.setItem("tillgate.environment", "production");
    open("");
    expect(await screen.findByText("Production environment")).toBeTruthy();
    expect(host.actsIn).toEqual(["shown production"]);
  });

  test("another installation's last environment is ignored", async () => {
    localStorage.setItem("tillgate.environment./srv/other", "production");
    const running = { environments: ["test" as const, "production" as const], first: "test" as const };
    location.hash = "";
    render(App, { running: { ...running, folder: "/srv/till" } });
    expect(await screen.findByText("Test environment")).toBeTruthy();
    expect(localStorage.getItem("tillgate.environment./srv/till")).toBe("test");
  });

  test("the keyboard switches, except under an open dialog", async () => {
    open("#/test/payments");
    await screen.findByText("Test environment");
    await fireEvent.keyDown(window, { key: "q", ctrlKey: true });
    await screen.findByRole("dialog", { name: "Quit Tillgate?" });
    await fireEvent.keyDown(window, { key: "2", ctrlKey: true });
    expect(location.hash).toBe("#/test/payments");
    await fireEvent.click(screen.getByRole("button", { name: "Keep running" }));
    await fireEvent.keyDown(window, { key: "2", ctrlKey: true });
    await waitFor(() => expect(location.hash).toMatch(/^#\/production\//));
  });

  test("a click on a notification leads to its screen, in its environment", async () => {
    open("#/test/keys");
    await screen.findByText("Test environment");
    host.emit("screen", "production/payouts");
    await waitFor(() => expect(location.hash).toBe("#/production/payouts"));
    expect(frame()).toBe("production");
    await waitFor(() => expect(JSON.stringify(host.askedOfProduction)).toContain('"states":["NEW"]'));
    host.emit("screen", `test/payment/${"p".repeat(40)}`);
    await waitFor(() => expect(location.hash).toBe(`#/test/payment/${"p".repeat(40)}`));
    expect(frame()).toBe("test");
  });

  test("production without a wallet says how to go live, and makes no payment", async () => {
    host.replyIn("production", "status", { ...production, hasWallet: false });
    open("#/production/payments");
    expect(await screen.findByRole("heading", { name: "Take real money" })).toBeTruthy();
    expect(screen.getByRole("link", { name: "Go live" })).toBeTruthy();
    expect(screen.queryByRole("link", { name: /Payouts/ })).toBeNull();
    await fireEvent.keyDown(window, { key: "n" });
    expect(location.hash).toBe("#/production/payments");
    host.replyIn("production", "status", production);
    host.emit("changed", "production");
    expect(await screen.findByText("No payments yet")).toBeTruthy();
  });

  test("a change in one environment does not reload the other's screen", async () => {
    open("#/test/payments");
    await screen.findByText("No payments yet");
    const before = host.askedFor("listPayments").length;
    host.emit("changed", "production");
    await settled();
    expect(host.askedFor("listPayments")).toHaveLength(before);
    host.reply("status", status);
    host.emit("changed", "test");
    await waitFor(() => expect(host.askedFor("listPayments").length).toBeGreaterThan(before));
  });
});
