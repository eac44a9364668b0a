import { describe, expect, test } from "vitest";
import { telling } from "./fixture";
import { serverWords } from "../src/lib/golive";
import { personOf, requesterOf, withoutCommands } from "../src/lib/words";

describe("sentences of the gateway in the window", () => {
  test.each([
    [
      "no passphrase is stored for backups: store one with `tillgate backup --set-passphrase`",
      "no passphrase is stored for backups",
    ],
    [
      "the key that signs notifications is missing: make a new one first (`tillgate hmac-key rotate`)",
      "the key that signs notifications is missing: make a new one first",
    ],
    [
      "there is no wallet yet: `tillgate wallet create` makes one, `tillgate wallet restore` restores one",
      "there is no wallet yet",
    ],
    [
      "there is no folder /media/usb: make it, or name another folder (for nightly backups with the setting backupFolder)",
      "there is no folder /media/usb: make it, or name another folder",
    ],
    ["the coins come to 0.5 BTC: wait, or ask for less", "the coins come to 0.5 BTC: wait, or ask for less"],
  ])("have no command line: %s", (told, shown) => {
    expect(withoutCommands(told)).toBe(shown);
  });

  test.each([
    ["DOWN_NO_SERVER", "Can't reach this server. Check the address and your internet."],
    ["DOWN_NO_CREDENTIALS", "Enter the cookie file, or a user and password."],
    ["DOWN_OTHER_NETWORK", undefined],
  ])("name a server's fault plainly: %s", (code, shown) => {
    const message = telling("the backend cannot be asked", "CHAIN_DOWN", { _0: telling("a fault", code) });
    expect(serverWords({ ok: false, message })).toBe(shown);
    expect(serverWords({ ok: true, message })).toBeUndefined();
  });

  test("name a person without the place, and an API key as one", () => {
    expect(personOf("panel:anna")).toBe("anna");
    expect(requesterOf({ requestedBy: "cli:anna", requestedByShop: false })).toBe("anna");
    expect(requesterOf({ requestedBy: "anna", requestedByShop: true })).toBe("anna (API key)");
  });
});
