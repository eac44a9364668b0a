import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import type { ActItem, ActsView } from "../src/lib/bindings";
// Read here, so that the first test does not wait for them.
import "../src/lib/views/Acts.svelte";
import "../src/lib/views/Settings.svelte";
import { host, open } from "./panel";

const ID = "a".repeat(40);

function act(changes: Partial<ActItem>): ActItem {
  return {
    time: "2026-01-12T12:06:20.000Z",
    actor: "panel:anna",
    act: "payouts approve",
    subject: ID,
    ...changes,
  };
}

function log(items: ActItem[], itemsCount = items.length): ActsView {
  return { items, itemsCount, actors: ["cli:anna", "panel:anna", "webshop"] };
}

describe("the log of acts", () => {
  test("says who did what, and leads to the record", async () => {
    host.reply(
      "listActs",
      log([
        act({}),
        act({ act: "settings set", subject: "merchantName" }),
        act({ actor: "cli:anna", act: "keys revoke", subject: "webshop" }),
      ]),
    );
    open("#/settings");
    await fireEvent.click(await screen.findByRole("link", { name: "Log of acts" }));
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    const rows = within(await screen.findByRole("table"))
      .getAllByRole("row")
      .slice(1);
    const texts = rows.map((row) =>
      [...row.querySelectorAll("td")].slice(1).map((cell) => cell.textContent.trim()),
    );
    expect(texts).toEqual([
      ["anna", "Approved a payout", "aaaaaaaa…aaaaaa"],
      ["anna", "Changed a setting", "Name"],
      ["anna (command line)", "Revoked an API key", "webshop"],
    ]);
    expect(screen.getByRole("link", { name: "aaaaaaaa…aaaaaa" }).getAttribute("href")).toBe(
      `#/test/payout/${ID}`,
    );
  });

  test("is narrowed by person, subject and days, and saved as it is narrowed", async () => {
    host.reply("listActs", log([act({})], 120));
    open("#/acts");
    await screen.findByText("1–1 of 120");
    await fireEvent.click(screen.getByRole("button", { name: "Older" }));
    await waitFor(() => expect(host.askedFor("listActs").at(-1)).toMatchObject({ offset: 50 }));
    await fireEvent.change(screen.getByLabelText("Who"), { target: { value: "webshop" } });
    await fireEvent.change(screen.getByLabelText("About"), { target: { value: "payouts" } });
    await waitFor(() =>
      expect(host.askedFor("listActs").at(-1)).toMatchObject({
        actor: "webshop",
        about: "payouts",
        offset: 0,
      }),
    );
    await fireEvent.click(screen.getByRole("button", { name: "Save for a spreadsheet" }));
    await waitFor(() => expect(host.acts).toContain("save-acts"));
    expect(host.fields.at(-1)).toMatchObject({ actor: "webshop", about: "payouts" });
  });

  test("teaches while it is empty", async () => {
    host.reply("listActs", log([]));
    open("#/acts");
    expect(await screen.findByText(/Approvals, refunds, settings and keys appear here/)).toBeTruthy();
  });
});
