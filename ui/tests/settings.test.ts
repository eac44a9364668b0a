// The screen "Settings": each setting has its place, and a change is sent as soon as its field is left.
import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test, vi } from "vitest";
import type { CommandError } from "../src/lib/bindings";
import { DEFAULT_CURRENCIES, KNOWN_CURRENCIES } from "../src/lib/language/currencies";
import { settingsFound } from "../src/lib/settings/find";
import { percentOf, perMilleOf } from "../src/lib/settings/forms";
import * as language from "../src/lib/settings/language";
import { SETTINGS } from "../src/lib/settings/table";
import { keyOf } from "../src/lib/state/till.svelte";
// Read here, so that the first test does not wait for it.
import "../src/lib/views/Settings.svelte";
import currencies from "../../src-tauri/domain/src/money/currency.rs?raw";
import { allSettings, documented } from "./documented";
import { estimate, payment, paymentsPage, production, status, telling } from "./fixture";
import { host, open } from "./panel";

/** Opens a group of the settings. The gateway stores each change, as it does in the program. */
async function opened(group: string, over: Record<string, string> = {}) {
  const values = { ...over };
  host.reply("listSettings", () => allSettings(values));
  host.reply("changeSettings", ({ changes }: { changes: { name: string; value: string | null }[] }) => {
    for (const { name, value } of changes) {
      if (value === null) delete values[name];
      else values[name] = value;
    }
    const items = allSettings(values).items.filter((item) => changes.some(({ name }) => name === item.name));
    return { items, itemsCount: items.length };
  });
  host.reply("estimatePayout", estimate());
  open(`#/test/settings/${group}`);
  await screen.findByRole("heading", { name: "Settings" });
  await waitFor(() => expect(document.querySelector("[data-setting]")).toBeTruthy());
}

const refusal = (code: string, name: string, values: Record<string, string>): CommandError => ({
  errorType: "VALIDATION_FAILED",
  message: `${name} is wrong`,
  field: name,
  told: [telling(`${name} is wrong`, code, { name, ...values })],
});

const change = (label: string | RegExp, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });

/** The last change that was sent. */
const sent = () => host.askedFor("changeSettings").at(-1)?.changes;
const row = (name: string) =>
  document.querySelector<HTMLElement>(`[data-setting="${name}"]`) ?? document.body;

describe("the table of the settings", () => {
  const real = SETTINGS.filter(({ group }) => group !== "look");

  test("has a place for each setting of the gateway, and no other", () => {
    expect(real.map(({ name }) => name).sort()).toEqual(
      documented()
        .map(({ name }) => name)
        .sort(),
    );
  });

  test("has the bounds of each whole number", () => {
    for (const { name, meaning } of documented()) {
      const [, from, to] = /a whole number from (\d+) to (\d+)/.exec(meaning) ?? [];
      const control = SETTINGS.find((setting) => setting.name === name)?.control;
      if (from === undefined) expect(["whole", "percent"], name).not.toContain(control?.kind);
      else if (control?.kind === "percent") expect([from, to], name).toEqual(["0", String(control.to)]);
      else expect(control, name).toMatchObject({ kind: "whole", from: Number(from), to: Number(to) });
    }
  });

  test("says of each setting that payments keep that a change concerns later payments", () => {
    const kept = documented().filter(({ section }) => section === "Payments");
    expect(kept.length).toBeGreaterThan(0);
    const frozen = real.filter(({ isFrozen }) => isFrozen).map(({ name }) => name);
    expect(frozen.sort()).toEqual(kept.map(({ name }) => name).sort());
  });

  test("knows the currencies of the gateway and their default", () => {
    const all = currencies.split("];", 1)[0] ?? "";
    expect(KNOWN_CURRENCIES).toEqual(Array.from(all.matchAll(/currency\("(\w{3})"/g), ([, code]) => code));
    expect(documented().find(({ name }) => name === "currencies")?.default).toBe(DEFAULT_CURRENCIES);
  });
});

describe("the search", () => {
  test.each([
    ["zeroConfUpTo", "zeroConfUpTo"],
    ["logo", "merchantLogo"],
    ["fee rate", "feeFloorSatVb"],
    ["tor", "proxy"],
    ["Kind of server", "backendUrl"],
  ])("finds by %s", (words, name) => {
    expect(settingsFound(words).map((setting) => setting.name)).toContain(name);
  });

  test("shows only the settings that are found, with their group and technical name", async () => {
    await opened("shop");
    await fireEvent.input(screen.getByRole("searchbox"), { target: { value: "tolerancePer" } });
    expect(await screen.findByLabelText("Accepted shortfall")).toBeTruthy();
    expect(screen.getByRole("heading", { name: "Money" })).toBeTruthy();
    expect(screen.getByText("tolerancePerMille")).toBeTruthy();
    expect(screen.queryByLabelText("Name")).toBeNull();
    expect(screen.getByText("1 setting")).toBeTruthy();
    await fireEvent.input(screen.getByRole("searchbox"), { target: { value: "no such thing" } });
    expect(await screen.findByRole("heading", { name: "No setting is found" })).toBeTruthy();
  });

  test("ends with a click on a group", async () => {
    await opened("shop");
    await fireEvent.input(screen.getByRole("searchbox"), { target: { value: "zmq" } });
    const groups = within(screen.getByRole("navigation", { name: "Groups of settings" }));
    await fireEvent.click(groups.getByRole("link", { name: "Payouts" }));
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    expect(await screen.findByLabelText("Daily limit in BTC")).toBeTruthy();
    expect(screen.getByRole<HTMLInputElement>("searchbox").value).toBe("");
  });

  test("has the focus after the key /", async () => {
    await opened("payouts");
    await fireEvent.keyDown(document.body, { key: "/" });
    await waitFor(() => expect(document.activeElement).toBe(screen.getByRole("searchbox")));
    expect(location.hash).toBe("#/test/settings/payouts");
  });
});

describe("a change", () => {
  test("is sent when the field is left, and shows the value that the gateway stored", async () => {
    await opened("payouts");
    await change("Give up after", " 48 ");
    await waitFor(() => expect(sent()).toEqual([{ name: "queueTimeoutHours", value: "48" }]));
    await waitFor(() => expect(screen.getByLabelText<HTMLInputElement>("Give up after").value).toBe("48"));
  });

  test("that is refused says its form at its field, and keeps the typed text", async () => {
    await opened("payouts");
    host.reply("changeSettings", refusal("SETTING_VALUE", "queueTimeoutHours", { form: "a whole number" }));
    await change("Give up after", "999");
    const field = screen.getByLabelText<HTMLInputElement>("Give up after");
    expect(
      await within(row("queueTimeoutHours")).findByText("Write a whole number from 1 to 168."),
    ).toBeTruthy();
    expect(field.getAttribute("aria-invalid")).toBe("true");
    expect(field.value).toBe("999");
  });

  test("that conflicts with another setting names both plainly", async () => {
    await opened("payouts");
    host.reply(
      "changeSettings",
      refusal("SETTING_FLOOR_ABOVE_CAP", "feeFloorSatVb", { floor: "300", cap: "200" }),
    );
    await change("Lowest fee rate", "300");
    expect(
      await within(row("feeFloorSatVb")).findByText(/“Highest fee rate”.*change the other one first/),
    ).toBeTruthy();
  });

  test("can be taken back to the default, which the button tells", async () => {
    await opened("payouts", { batchSeconds: "600" });
    expect(screen.queryByRole("button", { name: "Back to default: 24" })).toBeNull();
    await fireEvent.click(screen.getByRole("button", { name: "Back to default: 30" }));
    await waitFor(() => expect(sent()).toEqual([{ name: "batchSeconds", value: null }]));
    await waitFor(() => expect(screen.queryByRole("button", { name: /Back to default/ })).toBeNull());
    expect(screen.getByLabelText<HTMLInputElement>("Wait to share a transaction").value).toBe("30");
  });
});

describe("the shop's settings", () => {
  test("change name and colour, remove the logo, and show the page's head beside", async () => {
    const logo = "data:image/png;base64,AAAA";
    await opened("shop", { merchantName: "Bakery", merchantLogo: logo, merchantColor: "#1d6f42" });
    const preview = screen.getByRole("region", { name: "The customer's page" });
    expect(within(preview).getByText("Bakery")).toBeTruthy();
    expect(preview.querySelector("img")?.src).toBe(logo);
    await change("Name", " Corner Café ");
    await waitFor(() => expect(sent()).toEqual([{ name: "merchantName", value: "Corner Café" }]));
    expect(await within(preview).findByText("Corner Café")).toBeTruthy();
    expect(screen.getByRole<HTMLImageElement>("img", { name: "Your logo" }).src).toBe(logo);
    await fireEvent.click(screen.getByRole("button", { name: "Remove the logo" }));
    await waitFor(() => expect(sent()).toEqual([{ name: "merchantLogo", value: "" }]));
    await change("Pick the colour", "#aa0000");
    await waitFor(() => expect(sent()).toEqual([{ name: "merchantColor", value: "#aa0000" }]));
  });
});

describe("the settings of money", () => {
  test("write and read thousandths as percent, without a computed sum", () => {
    expect(["0", "5", "10", "25", "100"].map(percentOf)).toEqual(["0", "0.5", "1", "2.5", "10"]);
    expect(["0", "0.5", "1", "2.5", "10", "1.25", "x"].map(perMilleOf)).toEqual([
      "0",
      "5",
      "10",
      "25",
      "100",
      "1.25",
      "x",
    ]);
  });

  test("take a percentage with a comma", async () => {
    await opened("money");
    await change("Accepted shortfall", "0,5");
    await waitFor(() => expect(sent()).toEqual([{ name: "tolerancePerMille", value: "5" }]));
  });

  test("write the confirmations by price as rows", async () => {
    await opened("money");
    const tiers = within(row("confirmationTiers"));
    await fireEvent.change(tiers.getByLabelText("Confirmations, row 1"), { target: { value: "2" } });
    await waitFor(() => expect(sent()).toEqual([{ name: "confirmationTiers", value: "1000:2,10000:3,*:6" }]));
    const before = host.askedFor("changeSettings").length;
    await fireEvent.click(tiers.getByRole("button", { name: "Add a price" }));
    await fireEvent.change(tiers.getByLabelText("Price up to, row 3"), { target: { value: "50000" } });
    expect(host.askedFor("changeSettings")).toHaveLength(before);
    await fireEvent.change(tiers.getByLabelText("Confirmations, row 3"), { target: { value: "4" } });
    await waitFor(() =>
      expect(sent()).toEqual([{ name: "confirmationTiers", value: "1000:2,10000:3,50000:4,*:6" }]),
    );
    await waitFor(() => expect(tiers.getByRole("button", { name: "Remove row 3" })).toBeTruthy());
    await fireEvent.click(tiers.getByRole("button", { name: "Remove row 1" }));
    await waitFor(() =>
      expect(sent()).toEqual([{ name: "confirmationTiers", value: "10000:3,50000:4,*:6" }]),
    );
    host.reply("changeSettings", refusal("SETTING_VALUE", "confirmationTiers", { form: "a list" }));
    await fireEvent.change(tiers.getByLabelText("Confirmations, row 1"), { target: { value: "900" } });
    expect(await tiers.findByText(/with 1 to 144 confirmations each/)).toBeTruthy();
    expect(tiers.getByLabelText<HTMLInputElement>("Confirmations, row 1").value).toBe("900");
  });

  test("return to the usual confirmations, also while an unfinished row stands there", async () => {
    await opened("money", { confirmationTiers: "*:6" });
    const tiers = within(row("confirmationTiers"));
    await fireEvent.click(tiers.getByRole("button", { name: "Add a price" }));
    expect(tiers.getAllByRole("row")).toHaveLength(3);
    await fireEvent.click(
      tiers.getByRole("button", { name: "Back to default: 1 up to 1000 USD, 3 up to 10000 USD, 6 above" }),
    );
    await waitFor(() =>
      expect(tiers.getByLabelText<HTMLInputElement>("Price up to, row 1").value).toBe("1000"),
    );
    expect(tiers.queryByRole("button", { name: /Back to default/ })).toBeNull();
  });

  test("refuse a sum that could be two, and send nothing", async () => {
    await opened("payouts");
    await change("Daily limit in BTC", "1.000");
    expect(await within(row("dailyLimitBtc")).findByText(/could mean two prices/)).toBeTruthy();
    expect(sent()).toBeUndefined();
    await change("Daily limit in BTC", "0,25");
    await waitFor(() => expect(sent()).toEqual([{ name: "dailyLimitBtc", value: "0.25" }]));
    expect(within(row("dailyLimitBtc")).queryByText(/could mean two prices/)).toBeNull();
  });

  test("ask when a small sale is final, and say that the answer concerns later payments", async () => {
    await opened("money");
    const small = within(row("zeroConfUpTo"));
    expect(await small.findByRole("group", { name: "When is a small sale final?" })).toBeTruthy();
    expect(small.getByText("A change concerns later payments only.")).toBeTruthy();
  });

  test("put the shop's currency first, and the till begins with it", async () => {
    localStorage.setItem(keyOf(status.folder), JSON.stringify({ currency: "USD", centsFirst: true }));
    await opened("money", { currencies: "USD,CHF,EUR" });
    await change("Your shop's currency", "EUR");
    await waitFor(() => expect(sent()).toEqual([{ name: "currencies", value: "EUR,USD,CHF" }]));
    await waitFor(() =>
      expect(localStorage.getItem(keyOf(status.folder))).toBe('{"currency":"","centsFirst":true}'),
    );
    const all = within(screen.getByRole("list", { name: "Currencies of prices" }));
    await waitFor(() => expect(all.getAllByRole("listitem")[0]?.textContent).toContain("EUR"));
    await change("Add a currency", "GBP");
    await waitFor(() => expect(sent()).toEqual([{ name: "currencies", value: "EUR,USD,CHF,GBP" }]));
    await waitFor(() => expect(all.getAllByRole("listitem")).toHaveLength(4));
    await fireEvent.click(screen.getByRole("button", { name: "Remove CHF" }));
    await waitFor(() => expect(sent()).toEqual([{ name: "currencies", value: "EUR,USD,GBP" }]));
  });
});

describe("the settings of payouts", () => {
  test("say what a limit is worth in the shop's currency", async () => {
    await opened("payouts");
    const limit = within(row("dailyLimitBtc"));
    expect(await limit.findByText(/Worth \$642\.10 now/)).toBeTruthy();
    await change("Daily limit in BTC", "0,5");
    await waitFor(() => expect(sent()).toEqual([{ name: "dailyLimitBtc", value: "0.5" }]));
  });
});

describe("the settings of the network", () => {
  const server = { backend: "core", backendUrl: "http://127.0.0.1:8332", backendUser: "till" };

  function withServer() {
    host.reply("status", { ...status, sandbox: false, backend: production.backend });
  }

  test("change kind and address of the servers at once", async () => {
    withServer();
    await opened("network", server);
    await change("Kind of server", "electrum");
    expect(await screen.findByText(/Until then Tillgate stays with/)).toBeTruthy();
    expect(sent()).toBeUndefined();
    await change("Servers", "ssl://electrum.example:50002");
    await waitFor(() =>
      expect(sent()).toEqual([
        { name: "backend", value: "electrum" },
        { name: "backendUrl", value: "ssl://electrum.example:50002" },
      ]),
    );
    await waitFor(() => expect(screen.queryByText(/Until then Tillgate stays with/)).toBeNull());
  });

  test("test the servers as they are set, and pin the certificate that one shows", async () => {
    withServer();
    const answer = {
      url: server.backendUrl,
      ok: false,
      message: telling("the certificate is unknown"),
      network: null,
      height: null,
      tipTime: null,
      prunedFrom: null,
      software: null,
      fingerprint: "AA:BB",
    };
    host.reply("testBackend", { ok: false, servers: [answer] });
    await opened("network", server);
    await fireEvent.click(await screen.findByRole("button", { name: "Test the servers" }));
    expect(await screen.findByText(/certificate is unknown/i)).toBeTruthy();
    expect(host.askedFor("testBackend")).toMatchObject([
      { backend: "core", backendUrl: server.backendUrl, backendUser: "till", backendPassword: null },
    ]);
    await fireEvent.click(screen.getByRole("button", { name: "It is mine: pin this certificate" }));
    await waitFor(() => expect(sent()).toEqual([{ name: "backendCertificate", value: "AA:BB" }]));
  });

  test("write a password and never show it", async () => {
    await opened("network");
    await change("Password", "open sesame");
    await waitFor(() => expect(sent()).toEqual([{ name: "backendPassword", value: "open sesame" }]));
    await waitFor(() => expect(screen.getByLabelText<HTMLInputElement>("Password").value).toBe(""));
    expect(document.body.innerHTML).not.toContain("open sesame");
  });

  test("show a setting that is fixed, with the reason", async () => {
    await opened("network");
    expect(within(row("network")).getByText("Sandbox")).toBeTruthy();
    expect(within(row("network")).getByText(/Fixed since the wallet was made/)).toBeTruthy();
    expect(within(row("network")).queryByRole("combobox")).toBeNull();
  });
});

describe("the settings of rates", () => {
  test("turn a source off, and show the rates now", async () => {
    host.reply("status", { ...status, sandbox: false });
    await opened("rates");
    await fireEvent.click(screen.getByRole("checkbox", { name: "Bitstamp" }));
    await waitFor(() =>
      expect(sent()).toEqual([{ name: "rateSources", value: "kraken,coinbase,coingecko,mempool" }]),
    );
    expect(screen.getByText("$64,210.55")).toBeTruthy();
  });
});

describe("the public address", () => {
  test("says that the pages open on this computer alone", async () => {
    await opened("reach");
    expect(screen.getByText("http://127.0.0.1:7421/pay")).toBeTruthy();
    expect(screen.getByText(/open on this computer alone\. An/)).toBeTruthy();
    expect(screen.queryByRole("img", { name: /QR code/ })).toBeNull();
  });

  test("has a code to try the newest payment's page with a phone", async () => {
    host.reply("status", { ...status, pages: "https://pay.example/pay" });
    host.reply("listPayments", paymentsPage([payment()], 1));
    await opened("reach");
    expect(
      await screen.findByRole("img", { name: "QR code of the page of your newest payment" }),
    ).toBeTruthy();
  });
});

describe("notices and sounds", () => {
  test("are turned on or off", async () => {
    await opened("notices", { notices: "paid,shop" });
    await fireEvent.click(screen.getByLabelText("Notice: A payment is paid"));
    await waitFor(() => expect(sent()).toEqual([{ name: "notices", value: "shop" }]));
    await fireEvent.click(screen.getByLabelText("Sound: A payment is reversed"));
    await waitFor(() =>
      expect(sent()).toEqual([{ name: "noticeSounds", value: "paid,attention,payout,shop" }]),
    );
    await fireEvent.click(screen.getByRole("button", { name: "Back to default: All" }));
    await waitFor(() =>
      expect(sent()).toEqual([
        { name: "notices", value: null },
        { name: "noticeSounds", value: null },
      ]),
    );
  });

  test("take two quick clicks, and keep both", async () => {
    await opened("notices");
    void fireEvent.click(screen.getByLabelText("Notice: A payment is paid"));
    void fireEvent.click(screen.getByLabelText("Notice: A payment is reversed"));
    await waitFor(() => expect(host.askedFor("changeSettings")).toHaveLength(2));
    expect(sent()).toEqual([{ name: "notices", value: "attention,payout,shop" }]);
  });

  test("keep a choice that was refused as it was", async () => {
    await opened("notices");
    host.reply("changeSettings", {
      errorType: "STORAGE_UNAVAILABLE",
      message: "the disk is full",
      field: null,
    });
    const box = screen.getByRole<HTMLInputElement>("checkbox", { name: /^Notice: .*paid/i });
    await fireEvent.click(box);
    expect(await screen.findByText(/disk is full/i)).toBeTruthy();
    await waitFor(() => expect(box.checked).toBe(true));
  });
});

describe("language and look", () => {
  test("take another language by loading the window anew at the same screen", async () => {
    const reload = vi.spyOn(language.page, "reload").mockImplementation(() => undefined);
    await opened("look");
    const choice = screen.getByLabelText<HTMLSelectElement>("Language");
    expect(Array.from(choice.options, ({ text }) => text)).toEqual(["As the system", "Deutsch", "English"]);
    await fireEvent.change(choice, { target: { value: "de" } });
    expect(localStorage.getItem("tillgate.language")).toBe("de");
    expect(reload).toHaveBeenCalledOnce();
    expect(location.hash).toBe("#/test/settings/look");
    await fireEvent.change(choice, { target: { value: "" } });
    expect(localStorage.getItem("tillgate.language")).toBeNull();
  });

  test("make the window light or dark by choice, and keep the choice", async () => {
    await opened("look");
    await change("Colours", "dark");
    expect(document.documentElement.dataset["theme"]).toBe("dark");
    expect(localStorage.getItem("theme")).toBe("dark");
    await change("Colours", "light");
    expect(document.documentElement.dataset["theme"]).toBe("light");
  });

  test("show Bitcoin in BTC or in satoshis by choice", async () => {
    const amount = { sats: 1_557_400, text: "0.01557400", shown: "0.01557400" };
    host.reply("showPayment", payment({ amount }));
    await opened("look");
    await change("Unit of Bitcoin", "sat");
    expect(localStorage.getItem("tillgate.unit")).toBe("sat");
    location.hash = `#/test/payment/${"p".repeat(40)}`;
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    expect(await screen.findByText("1,557,400 sat")).toBeTruthy();
    location.hash = "#/test/settings/look";
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    await screen.findByLabelText("Unit of Bitcoin");
    await change("Unit of Bitcoin", "BTC");
  });
});

describe("backup and shop software", () => {
  test("lead to the wallet's page and to the keys", async () => {
    await opened("backup");
    expect(screen.getByLabelText("Folder of nightly backups")).toBeTruthy();
    expect(screen.getByRole<HTMLAnchorElement>("link", { name: "The wallet's page" }).hash).toBe(
      "#/test/wallet",
    );
    await change("Backups that are kept", "30");
    await waitFor(() => expect(sent()).toEqual([{ name: "backupKeep", value: "30" }]));
  });

  test("bound the requests of an API key", async () => {
    await opened("software");
    await change("Requests of one API key", "50");
    await waitFor(() => expect(sent()).toEqual([{ name: "keyRequestsPerSecond", value: "50" }]));
  });
});

describe("the screen", () => {
  test("opens before production has a wallet", async () => {
    host.replyIn("production", "status", { ...production, hasWallet: false });
    host.replyIn("production", "listSettings", allSettings());
    open("#/production/settings");
    expect(await screen.findByText(/They belong to production/)).toBeTruthy();
    expect(screen.getByRole("link", { name: "Settings", current: "page" })).toBeTruthy();
  });
});
