import { fireEvent, screen, waitFor } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import type { BackendTestView } from "../src/lib/bindings";
import { changesOf, formOf, testOf } from "../src/lib/golive";
import { production, settings, telling } from "./fixture";
import { click, current, type, withWallet } from "./guide";
import { host, open } from "./panel";

describe("the network's step", () => {
  const good: BackendTestView = {
    ok: true,
    servers: [
      {
        url: "http://127.0.0.1:8332",
        ok: true,
        message: telling("the backend answers", "ANSWERS", { height: "900000" }),
        network: "bitcoin",
        height: 900000,
        tipTime: "2026-01-12T12:01:00Z",
        prunedFrom: 880000,
        software: "/Satoshi:31.99.0/",
        fingerprint: null,
      },
    ],
  };

  test("opens by the link of a warning, also from another step", async () => {
    const chainError = telling(
      "the Bitcoin backend cannot be asked: the node at 127.0.0.1:8332 does not answer",
    );
    host.replyIn("production", "status", { ...production, chainError });
    open("#/production/go-live/limits");
    await waitFor(() => expect(current()).toContain("Limits"));
    await fireEvent.click(await screen.findByRole("link", { name: "Check the connection" }));
    await waitFor(() => expect(current()).toContain("Bitcoin network"));
  });

  test("shows the answers, and saves only tested settings", async () => {
    withWallet();
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    expect(current()).toContain("Bitcoin network");
    await type("Cookie file", "/home/ada/.bitcoin/.cookie");
    host.replyIn("production", "testBackend", good);
    expect(screen.queryByRole("button", { name: "Save and continue" })).toBeNull();
    await click("Test the connection");
    expect(await screen.findByText("from 880000 on")).toBeTruthy();
    // In a low window the answers are below the visible part, so they get the focus.
    const answers = screen.getByRole("group", { name: "Answers of the servers" });
    await waitFor(() => expect(document.activeElement).toBe(answers));
    expect(screen.getByText("/Satoshi:31.99.0/")).toBeTruthy();
    expect(host.askedOfProductionFor("changeSettings")).toHaveLength(0);
    // Text typed after the test is not tested.
    await type("Cookie file", "/home/ada/.bitcoin/cookie");
    expect(screen.queryByRole("button", { name: "Save and continue" })).toBeNull();
    await type("Cookie file", "/home/ada/.bitcoin/.cookie");
    host.replyIn("production", "changeSettings", { items: [], itemsCount: 0 });
    await click("Save and continue");
    await screen.findByRole("heading", { name: "Exchange rates" });
    expect(host.askedOfProductionFor("changeSettings").map(({ changes }) => changes)).toEqual([
      [
        { name: "backendUrl", value: "http://127.0.0.1:8332" },
        { name: "backendCookieFile", value: "/home/ada/.bitcoin/.cookie" },
      ],
    ]);
  });

  test("shows an error with its remedy, and can save all the same", async () => {
    withWallet();
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    const bad = {
      ...good.servers[0]!,
      ok: false,
      message: telling("the Bitcoin backend cannot be asked", "CHAIN_DOWN", {
        _0: telling("no connection to the node", "DOWN_NO_NODE", { host: "127.0.0.1:8332", why: "refused" }),
      }),
      height: null,
    };
    host.replyIn("production", "testBackend", { ok: false, servers: [bad] });
    await click("Test the connection");
    expect(
      await screen.findByText(/Can't reach this server. Check the address and your internet./),
    ).toBeTruthy();
    // In the details the field's label replaces the setting's name.
    const details = screen.getByText(/no connection to the node at .* or set “Address of the node” to/);
    expect(details.closest("details")?.open).toBe(false);
    expect(screen.getByRole("button", { name: "Save without an answer" })).toBeTruthy();
    host.replyIn("production", "changeSettings", { items: [], itemsCount: 0 });
    await click("Save without an answer");
    expect(
      await screen.findByText("Saved without an answer. New payments show once the server answers."),
    ).toBeTruthy();
    expect(screen.queryByText("Saved. Tillgate is connected.")).toBeNull();
  });

  test("saves a node that is still downloading the chain", async () => {
    withWallet();
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    const message = telling("the node is downloading the chain", "DOWN_DOWNLOADING", {
      blocks: "0",
      headers: "0",
    });
    const bad = { ...good.servers[0]!, ok: false, message, height: null };
    host.replyIn("production", "testBackend", { ok: false, servers: [bad] });
    await click("Test the connection");
    host.replyIn("production", "changeSettings", { items: [], itemsCount: 0 });
    await screen.findByRole("button", { name: "Save: the node goes on by itself" });
    await click("Save: the node goes on by itself");
    expect(await screen.findByText("Saved. New payments show once the node has caught up.")).toBeTruthy();
  });

  test("shows an invalid address under the field's label", async () => {
    withWallet();
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    host.replyIn("production", "testBackend", {
      errorType: "VALIDATION_FAILED",
      message: "backendUrl must be an address",
      field: "backendUrl",
    });
    await click("Test the connection");
    expect(await screen.findByText("Address of the node must be an address")).toBeTruthy();
  });

  test("pins the certificate of an own Electrum server and tests again", async () => {
    withWallet();
    await screen.findByRole("heading", { name: "Where Tillgate sees the Bitcoin network" });
    await fireEvent.click(screen.getByLabelText(/Electrum server/));
    expect(screen.queryByLabelText("Cookie file")).toBeNull();
    await type("Address of the server", "ssl://mine.example:50002");
    const fingerprint = Array<string>(32).fill("AB").join(":");
    const shown = {
      ...good.servers[0]!,
      url: "ssl://mine.example:50002",
      ok: false,
      message: telling("nobody vouches"),
      height: null,
      fingerprint,
    };
    host.replyIn("production", "testBackend", { ok: false, servers: [shown] });
    await click("Test the connection");
    host.replyIn("production", "testBackend", {
      ok: true,
      servers: [{ ...good.servers[0]!, url: "ssl://mine.example:50002" }],
    });
    expect(await screen.findByText(fingerprint)).toBeTruthy();
    await fireEvent.click(await screen.findByRole("button", { name: "It is mine: pin this certificate" }));
    await screen.findByRole("button", { name: "Save and continue" });
    expect(host.askedOfProductionFor("testBackend").at(-1)).toMatchObject({
      backend: "electrum",
      backendCertificate: fingerprint,
      backendCookieFile: null,
    });
  });

  test("saves all changed settings at once, and no others", () => {
    const before = settings({ backendUrl: "http://127.0.0.1:8332", backendUser: "ada" }).items;
    const form = { ...formOf(before), kind: "electrum" as const, url: "ssl://electrum.example:50002" };
    expect(changesOf(form, before)).toEqual([
      { name: "backend", value: "electrum" },
      { name: "backendUrl", value: "ssl://electrum.example:50002" },
      { name: "backendUser", value: null },
    ]);
    expect(changesOf(formOf(before), before)).toEqual([]);
  });

  test("tests the ZMQ address of a node, but of no Electrum server", () => {
    const before = settings({ backendUrl: "http://127.0.0.1:8332", backendCookieFile: "/c" }).items;
    const form = { ...formOf(before), zmq: " tcp://127.0.0.1:28332 " };
    expect(testOf(form)).toMatchObject({ backendZmq: "tcp://127.0.0.1:28332" });
    expect(changesOf(form, before)).toEqual([{ name: "backendZmq", value: "tcp://127.0.0.1:28332" }]);
    expect(testOf({ ...form, kind: "electrum" })).toMatchObject({ backendZmq: null });
  });

  test("keeps the stored password, and sends no useless one", () => {
    const form = { ...formOf(settings({ backendUser: "ada" }).items), url: "http://10.0.0.7:8332" };
    expect(testOf(form)).toMatchObject({
      backendUser: "ada",
      backendPassword: null,
      backendCookieFile: null,
    });
    expect(testOf({ ...form, password: "s3cret" })).toMatchObject({ backendPassword: "s3cret" });
    expect(testOf({ ...form, password: "s3cret", kind: "electrum" })).toMatchObject({
      backendUser: null,
      backendPassword: null,
    });
  });
});
