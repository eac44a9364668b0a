// The steps of the guide for going live. Most progress is read from the gateway, so that it survives a closed window.
import { withinOf } from "./refusal";
import type { BackendKind, BackupsView, ServerTestItem, SettingItem, StatusView } from "./bindings";
import { plural } from "./format";

export type Step = "wallet" | "words" | "chain" | "rates" | "limits" | "backup" | "done";

/** The steps in their order, with their names for people. */
export const STEPS: readonly { step: Step; name: string }[] = [
  { step: "wallet", name: "Wallet" },
  { step: "words", name: "Words" },
  { step: "chain", name: "Bitcoin network" },
  { step: "rates", name: "Exchange rates" },
  { step: "limits", name: "Limits" },
  { step: "backup", name: "First backup" },
  { step: "done", name: "Done" },
];

export function isStep(text: string | undefined): text is Step {
  return STEPS.some(({ step }) => step === text);
}

/** The facts that decide which steps are done. */
export interface Facts {
  hasWallet: boolean;
  /** Whether the address of a Bitcoin backend is set. */
  backendSet: boolean;
  /** Whether the last look at the chain succeeded. */
  chainSeen: boolean;
  /** Whether any accepted currency has a fresh rate. */
  ratesFresh: boolean;
  /** Whether a backup was ever completed. */
  backedUp: boolean;
  /** The steps that a person has gone through, of those whose settings have a default. */
  seen: readonly Step[];
}

export function factsOf(
  status: StatusView,
  settings: readonly SettingItem[],
  backups: BackupsView | undefined,
  seen: readonly Step[],
): Facts {
  return {
    hasWallet: status.hasWallet,
    backendSet: valueOf(settings, "backendUrl") !== "",
    chainSeen: status.chainError === null && status.chainLookedAt !== null,
    ratesFresh: status.rates.some((rate) => rate.fresh && status.currencies.includes(rate.currency)),
    backedUp: (backups?.last ?? null) !== null,
    seen,
  };
}

/** The value of a setting; empty if the setting is unknown. */
export function valueOf(settings: readonly SettingItem[], name: string): string {
  return settings.find((setting) => setting.name === name)?.value ?? "";
}

/** The default of a setting; empty if the setting is unknown. */
export function defaultOf(settings: readonly SettingItem[], name: string): string {
  return settings.find((setting) => setting.name === name)?.default ?? "";
}

export function isDone(step: Step, facts: Facts): boolean {
  switch (step) {
    case "wallet":
    case "words":
      return facts.hasWallet;
    case "chain":
      return facts.backendSet && facts.chainSeen;
    case "rates":
      return facts.ratesFresh && facts.seen.includes(step);
    case "limits":
      return facts.seen.includes(step);
    case "backup":
      return facts.backedUp;
    case "done":
      return false;
  }
}

/** The step to continue with: the first that is not done. */
export function firstOpen(facts: Facts): Step {
  return STEPS.find(({ step }) => !isDone(step, facts))?.step ?? "done";
}

const indexOf = (step: Step) => STEPS.findIndex((one) => one.step === step);

/** The step after the given one. Wallet is followed by Bitcoin network, because the wallet then exists already. */
export function nextOf(step: Step): Step {
  return STEPS[indexOf(step === "wallet" ? "words" : step) + 1]?.step ?? "done";
}

/** The step before the given one. Before Bitcoin network it is Wallet, because words are shown only once. */
export function backOf(step: Step): Step {
  return STEPS[indexOf(step === "chain" ? "words" : step) - 1]?.step ?? "wallet";
}

/**
 * Whether a person may open a step at any time. Words may not be opened, because it follows a choice made in Wallet.
 * Bitcoin network may be opened without a wallet, because a restore with a date needs a backend to find the block. All
 * later steps need a wallet.
 */
export function canOpen(step: Step, facts: Facts): boolean {
  if (step === "wallet" || step === "chain") return true;
  return step !== "words" && facts.hasWallet;
}

/** The strength of a backup's passphrase: whether it is accepted, and a sentence about it. */
export interface Strength {
  enough: boolean;
  sentence: string;
}

const PASSPHRASE_LONG = 24;
const WORDS_GOOD = 5;
const FEW_CHARACTERS = 5;

/** Judges a passphrase. A thief of the file can try passphrases for years. */
export function strengthOf(passphrase: string, least: number): Strength {
  const characters = [...passphrase];
  const missing = least - characters.length;
  if (characters.length === 0) {
    return {
      enough: false,
      sentence: `At least ${least} characters. Best are ${WORDS_GOOD} or more words picked blindly from a book.`,
    };
  }
  if (missing > 0)
    return {
      enough: false,
      sentence: `Too short: ${plural(missing, ["# more character", "# more characters"])}.`,
    };
  if (new Set(characters).size <= FEW_CHARACTERS) {
    return { enough: false, sentence: "Too easy to guess: it repeats a few characters." };
  }
  const words = passphrase.trim().split(/\s+/).length;
  if (words >= WORDS_GOOD || characters.length >= PASSPHRASE_LONG) {
    return {
      enough: true,
      sentence: "Good: too long to guess, unless it is a phrase that others know.",
    };
  }
  return {
    enough: true,
    sentence: "Enough, if it is random. A name with a number is guessed: take several words.",
  };
}

const ADDRESS_KINDS: Record<string, string> = { bip84: "SegWit (BIP84)", bip86: "Taproot (BIP86)" };

/** The name of an address type for people. */
export function addressKind(addressType: string): string {
  return ADDRESS_KINDS[addressType] ?? addressType;
}

/** The words of a typed or pasted text, split at everything but letters. The gateway reads the text itself. */
export function wordsIn(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{M}]+/u)
    .filter((word) => word !== "");
}

/** The numbers of words that a BIP39 mnemonic can have. */
const COUNTS = [12, 15, 18, 21, 24];

/** The number of words in a text. A sheet with a heading has as many as it numbers. */
function countIn(text: string): number {
  const numbered = text.matchAll(/(\d+)[^\p{L}\p{M}\d]*[\p{L}\p{M}]/gu);
  const places = new Set(Array.from(numbered, (found) => Number(found[1])));
  let count = 0;
  while (places.has(count + 1)) count += 1;
  return COUNTS.includes(count) ? count : wordsIn(text).length;
}

/** A hint about the words typed so far, before the gateway judges them. */
export function aboutWords(text: string): string {
  const length = countIn(text);
  if (length === 0) return "Type 12 or 24 words, with a space between; numbers are ignored.";
  return COUNTS.includes(length)
    ? `${length} words.`
    : `${plural(length, ["# word", "# words"])} so far; a wallet has 12 or 24.`;
}

/** The kind of a server. The sandbox has none. */
export type ServerKind = Exclude<BackendKind, "sandbox">;

/** The guide's texts about a kind of backend. */
export interface BackendWords {
  kind: ServerKind;
  name: string;
  /** The knowledge that its owner gains about the shop. */
  learns: string;
  /** An example of its URL. */
  example: string;
  /** The label of the field for its URL. */
  where: string;
}

export const BACKENDS: readonly BackendWords[] = [
  {
    kind: "core",
    name: "Bitcoin Core (recommended)",
    learns:
      "Your own node. Tillgate reads whole blocks from it, so that nobody learns which addresses are yours.",
    example: "http://127.0.0.1:8332",
    where: "Address of the node",
  },
  {
    kind: "electrum",
    name: "Electrum server",
    learns:
      "Its owner learns your addresses, their payments and, without Tor, where you are. The server can hide a payment from you. It cannot take coins. To make up a confirmed payment it must mine blocks, at about 3 BTC each.",
    example: "ssl://electrum.example:50002",
    where: "Address of the server",
  },
];

/** The contents of the backend's form. `password` is the typed one, because the stored password is never shown. */
export interface BackendForm {
  kind: ServerKind;
  url: string;
  signIn: "cookie" | "password";
  cookieFile: string;
  user: string;
  password: string;
  /** The node's ZMQ address, for instant notifications. */
  zmq: string;
  certificate: string;
  proxy: string;
}

/** Plain sentences for a server's usual faults, with the remedy. */
const SERVER_FAULTS: Record<string, () => string> = {
  DOWN_NO_NODE: () => "Can't reach this server. Check the address and your internet.",
  DOWN_NO_SERVER: () => "Can't reach this server. Check the address and your internet.",
  DOWN_NO_CREDENTIALS: () => "Enter the cookie file, or a user and password.",
  DOWN_COOKIE_REFUSED: () => "The node refuses this cookie file. Choose the file of this node.",
  DOWN_PASSWORD_REFUSED: () => "The node refuses this user and password.",
  BAD_COOKIE_UNREADABLE: () =>
    "The cookie file cannot be read. Start the node, or sign in by user and password.",
};

const FAULT_CODES: ReadonlySet<string> = new Set(Object.keys(SERVER_FAULTS));

/** A plain sentence for a server's usual faults; undefined for any other answer. */
export function serverWords({ ok, message }: Pick<ServerTestItem, "ok" | "message">): string | undefined {
  const fault = ok ? undefined : withinOf(message, FAULT_CODES);
  return fault && SERVER_FAULTS[fault.code]?.();
}

/** The form filled from the settings. */
export function formOf(settings: readonly SettingItem[]): BackendForm {
  const of = (name: string) => valueOf(settings, name);
  const kind = BACKENDS.find((backend) => backend.kind === of("backend"))?.kind ?? "core";
  const unset = of("backendUrl") === "";
  return {
    kind,
    url: unset && kind === "core" ? "http://127.0.0.1:8332" : of("backendUrl"),
    signIn: of("backendUser") === "" ? "cookie" : "password",
    cookieFile: of("backendCookieFile"),
    user: of("backendUser"),
    password: "",
    zmq: of("backendZmq"),
    certificate: of("backendCertificate"),
    proxy: of("proxy"),
  };
}

/** The `testBackend` command for this form. */
export function testOf(form: BackendForm) {
  const byPassword = form.kind === "core" && form.signIn === "password";
  const text = (value: string, asked: boolean) => (asked && value.trim() !== "" ? value.trim() : null);
  return {
    command: "testBackend" as const,
    backend: form.kind,
    backendUrl: form.url.trim(),
    backendCookieFile: text(form.cookieFile, form.kind === "core" && !byPassword),
    backendUser: text(form.user, byPassword),
    backendPassword: byPassword && form.password !== "" ? form.password : null,
    backendZmq: text(form.zmq, form.kind === "core"),
    backendCertificate: text(form.certificate, form.kind === "electrum"),
    proxy: text(form.proxy, true),
  };
}

/** The changes of settings that save this form. The value `null` returns a setting to its default. */
export function changesOf(
  form: BackendForm,
  settings: readonly SettingItem[],
): { name: string; value: string | null }[] {
  const asked = testOf(form);
  const wanted: [string, string | null][] = [
    ["backend", asked.backend],
    ["backendUrl", asked.backendUrl],
    ["backendZmq", asked.backendZmq],
    ["backendCertificate", form.kind === "electrum" ? asked.backendCertificate : null],
    ["proxy", asked.proxy],
    ["backendUser", asked.backendUser],
  ];
  if (asked.backendCookieFile) wanted.push(["backendCookieFile", asked.backendCookieFile]);
  const changed = wanted.filter(([name, value]) => (value ?? "") !== valueOf(settings, name));
  const changes = changed.map(([name, value]) => ({ name, value }));
  if (asked.backendPassword) changes.push({ name: "backendPassword", value: asked.backendPassword });
  return changes;
}

/** A path quoted as one word of a command line. */
export function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** The command lines that restore a backup. The first line renames the data folder that this program created. */
export function restoreLines(folder: string, environment: string): string[] {
  const base = folder.replace(/[\\/][^\\/]*$/, "");
  const moved = `${folder}.before`;
  return [
    `mv ${shellWord(folder)} ${shellWord(moved)}`,
    `tillgate restore /media/usb/till.backup --environment ${environment} --data-dir ${shellWord(base)}`,
  ];
}
