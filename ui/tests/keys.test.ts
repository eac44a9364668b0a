import { fireEvent, screen, waitFor, within } from "@testing-library/svelte";
import { describe, expect, test } from "vitest";
import { go } from "../src/lib/state/route.svelte";
import { status } from "./fixture";
import { host, open } from "./panel";

describe("API keys", () => {
  test("warn that customers see a key's name", async () => {
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Create an API key" }));
    expect(screen.getByText(/wallets show this name/)).toBeTruthy();
  });

  test("a secret that was not copied survives Esc and other screens", async () => {
    host.reply("createKey", { name: "webshop", secret: "s3cret", permissions: ["payments.read"] });
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Create an API key" }));
    await fireEvent.input(screen.getByLabelText("Name"), { target: { value: "webshop" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create the key" }));
    const dialog = await screen.findByRole("dialog", { name: "The key was created" });
    const refused = !(await fireEvent.keyDown(dialog, { key: "Escape" }));
    expect(refused).toBe(true);
    expect((await within(dialog).findByRole("alert")).textContent).toContain("not copied");
    go({ screen: "payments" });
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    expect(await screen.findByText("No payments yet")).toBeTruthy();
    expect(screen.getByText("s3cret")).toBeTruthy();

    Object.assign(navigator, { clipboard: { writeText: () => Promise.resolve() } });
    await fireEvent.click(within(dialog).getByRole("button", { name: "Copy Secret" }));
    await within(dialog).findByText("Copied");
    expect(screen.getByText("Copied Secret.")).toBeTruthy();
    expect(await fireEvent.keyDown(dialog, { key: "Escape" })).toBe(true);
    await fireEvent(dialog, new Event("close"));
    await waitFor(() => expect(document.body.textContent).not.toContain("s3cret"));
  });

  test("a secret is shown once", async () => {
    host.reply("createKey", { name: "webshop", secret: "s3cret", permissions: ["payments.read"] });
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Create an API key" }));
    await fireEvent.input(screen.getByLabelText("Name"), { target: { value: "webshop" } });
    await fireEvent.click(screen.getByRole("button", { name: "Create the key" }));
    expect(await screen.findByText("s3cret")).toBeTruthy();
    expect(screen.getByText(/Tillgate does not store the secret itself/)).toBeTruthy();
    await fireEvent.click(screen.getByRole("button", { name: "I have stored it" }));
    await waitFor(() => expect(document.body.textContent).not.toContain("s3cret"));
  });

  test.each([
    ["the OS keyring", "Tillgate stores it in the OS keyring and signs with it; it is shown this once."],
    [
      "the file /x/secrets.json, unencrypted",
      "Tillgate stores it in the file /x/secrets.json, unencrypted and signs with it; it is shown this once.",
    ],
  ])("a new signing key is said to be stored in %s", async (secrets, said) => {
    host.reply("status", { ...status, secrets });
    host.reply("rotateHmacKey", { key: "whsec_s3cret" });
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Make a signing key" }));
    await fireEvent.click(await screen.findByRole("button", { name: "Make the key" }));
    expect(await screen.findByText(said)).toBeTruthy();
    expect(screen.queryByText(/does not store the secret/)).toBeNull();
    expect(screen.getByRole("button", { name: "Copy Signing key" })).toBeTruthy();
  });

  test("revoking needs a confirmation", async () => {
    const key = {
      name: "webshop",
      permissions: ["payments.read"],
      notificationUrlOptional: false,
      own: true,
      notifyHosts: ["shop.example"],
      created: "2026-01-12T12:00:00Z",
      revoked: null,
    };
    host.reply("listKeys", { items: [key], itemsCount: 1 });
    host.reply("revokeKey", { ...key, payoutsNew: 1, payoutsQueued: 2 });
    open("#/keys");
    await fireEvent.click(await screen.findByRole("button", { name: "Revoke webshop" }));
    expect(host.askedFor("revokeKey")).toHaveLength(0);
    await fireEvent.click(screen.getByRole("button", { name: "Revoke the key" }));
    await waitFor(() => expect(host.askedFor("revokeKey")).toMatchObject([{ name: "webshop" }]));
    expect(await screen.findByText(/1 payout of this key can still be approved/)).toBeTruthy();
    expect(await screen.findByText(/2 approved payouts of this key will still be sent/)).toBeTruthy();
  });
});
