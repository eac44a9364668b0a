// The settings as a merchant finds them: the group, the plain name, a sentence of help and the control of each. The
// gateway has their values and bounds; `settings.test.ts` compares this table with its documentation.
import type { StatusView } from "../bindings";
import { addressKind } from "../golive";
import { LIMIT_LABELS } from "../words";
import type { Setting } from "./kinds";

const NAME = "Write 1 to 64 characters in one line.";

const SHOP: Setting[] = [
  {
    name: "merchantName",
    group: "shop",
    label: "Name",
    help: "Customers see it on the payment page, at the till and on receipts.",
    control: { kind: "text" },
    form: NAME,
  },
  {
    name: "merchantLogo",
    group: "shop",
    label: "Logo",
    help: "Customers see it on the payment page, at the till and on receipts.",
    control: { kind: "logo" },
    form: "Choose a PNG, JPEG or WebP picture.",
  },
  {
    name: "merchantColor",
    group: "shop",
    label: "Colour",
    help: "The payment page has a stripe and a button in this colour.",
    control: { kind: "color" },
    form: "Write a colour like #1d6f42.",
  },
  {
    name: "merchantAddress",
    group: "shop",
    label: "Address (optional)",
    help: "It is printed on receipts.",
    control: { kind: "lines" },
    form: "Write at most 5 lines and 200 characters.",
  },
  {
    name: "merchantTaxId",
    group: "shop",
    label: "Tax number (optional)",
    help: "It is printed on receipts.",
    control: { kind: "text" },
    form: NAME,
  },
];

const MONEY: Setting[] = [
  {
    name: "currencies",
    group: "money",
    label: "Currencies",
    help: "Prices may be in these currencies. The till and the forms begin with your shop's currency.",
    control: { kind: "currencies" },
    form: "Choose 1 to 50 currencies.",
  },
  {
    name: "tolerancePerMille",
    group: "money",
    label: "Accepted shortfall",
    help: "A payment that is short by this part of its price still counts as paid.",
    control: { kind: "percent", to: 100 },
    isFrozen: true,
  },
  {
    name: "overpayment",
    group: "money",
    label: "If a customer pays too much",
    help: "This is about one transaction that pays more than the price.",
    control: {
      kind: "choice",
      options: [
        { value: "confirm", name: "Accept the payment and report the surplus" },
        { value: "invalidate", name: "Make the payment invalid" },
      ],
    },
    isFrozen: true,
  },
  {
    name: "confirmationTiers",
    group: "money",
    label: "Confirmations by price",
    help: "Each confirmation makes it harder for a customer to take the coins back. A block takes about ten minutes.",
    control: { kind: "tiers" },
    form: "Write rising prices in US dollars, with 1 to 144 confirmations each. A higher price may not need fewer.",
    isFrozen: true,
  },
  {
    name: "zeroConfUpTo",
    group: "money",
    label: "When is a small sale final?",
    help: "Small sales can be final at once, without a confirmation.",
    control: { kind: "small" },
    isFrozen: true,
  },
  {
    name: "zeroConfQuietSeconds",
    group: "money",
    label: "Quiet time without a confirmation",
    help: "Such a payment counts once nobody has spent its coins elsewhere for this time.",
    control: { kind: "whole", from: 0, to: 3600, unit: "seconds" },
    isFrozen: true,
  },
  {
    name: "anomalyConfirmations",
    group: "money",
    label: "Confirmations before you are asked",
    help: "Coins that come late or do not fit show under “Needs attention” after so many confirmations.",
    control: { kind: "whole", from: 1, to: 144, unit: "confirmations" },
    isFrozen: true,
  },
  {
    name: "offlineGraceMinutes",
    group: "money",
    label: "Grace after a lost connection",
    help: "If Tillgate could not look at the deadline, coins that appear within this time are still in time.",
    control: { kind: "whole", from: 0, to: 1440, unit: "minutes" },
    isFrozen: true,
  },
  {
    name: "spreadPerMille",
    group: "money",
    label: "Spread",
    help: "Payments use a rate that is so much below the market's. Customers pay a little more Bitcoin.",
    control: { kind: "percent", to: 200 },
    effect: "A change concerns later payments only.",
  },
];

const BTC_FORM = "Write a sum in Bitcoin, like 0.1.";

const PAYOUTS: Setting[] = [
  {
    name: "dailyLimitBtc",
    group: "payouts",
    label: LIMIT_LABELS.dailyLimitBtc,
    help: "No more may be paid out on one day, from midnight to midnight in UTC. 0 stops all payouts.",
    control: { kind: "sum", unit: "BTC" },
    form: BTC_FORM,
  },
  {
    name: "minPayoutBtc",
    group: "payouts",
    label: LIMIT_LABELS.minPayoutBtc,
    help: "Smaller payouts are refused. At least 0.00000546 BTC are needed.",
    control: { kind: "sum", unit: "BTC" },
    form: BTC_FORM,
  },
  {
    name: "feeFloorSatVb",
    group: "payouts",
    label: "Lowest fee rate",
    help: "Payouts never pay less than this rate.",
    control: { kind: "whole", from: 1, to: 1000, unit: "sat/vB" },
  },
  {
    name: "feeCapSatVb",
    group: "payouts",
    label: "Highest fee rate",
    help: "Payouts wait while the network asks for more than this rate.",
    control: { kind: "whole", from: 1, to: 10000, unit: "sat/vB" },
  },
  {
    name: "feeFallbackSatVb",
    group: "payouts",
    label: "Fee rate without an estimate",
    help: "Payouts use it while the Bitcoin server has no estimate. With 0 they wait.",
    control: { kind: "whole", from: 0, to: 1000, unit: "sat/vB" },
  },
  {
    name: "offerValidityMinutes",
    group: "payouts",
    label: "Time to approve an offer",
    help: "A payout that nobody approves in this time lapses.",
    control: { kind: "whole", from: 1, to: 1440, unit: "minutes" },
  },
  {
    name: "batchSeconds",
    group: "payouts",
    label: "Wait to share a transaction",
    help: "An approved payout waits this time for others, so that they share one fee. 0 sends it at once.",
    control: { kind: "whole", from: 0, to: 3600, unit: "seconds" },
  },
  {
    name: "queueTimeoutHours",
    group: "payouts",
    label: "Give up after",
    help: "An approved payout fails if no transaction could be built for it in this time.",
    control: { kind: "whole", from: 1, to: 168, unit: "hours" },
  },
  {
    name: "stuckAfterHours",
    group: "payouts",
    label: "Report as stuck after",
    help: "A payout that was sent and is not confirmed after this time is reported.",
    control: { kind: "whole", from: 1, to: 720, unit: "hours" },
  },
  {
    name: "spendConfirmations",
    group: "payouts",
    label: "Confirmations before coins are spent",
    help: "Customers' coins are paid out or sent back after so many confirmations.",
    control: { kind: "whole", from: 1, to: 100, unit: "confirmations" },
  },
];

const NETWORK: Setting[] = [
  {
    name: "network",
    group: "network",
    label: "Network",
    help: "The sandbox is a private chain inside Tillgate. The other networks need a server.",
    control: {
      kind: "choice",
      options: [
        { value: "bitcoin", name: "Bitcoin" },
        { value: "sandbox", name: "Sandbox" },
        { value: "regtest", name: "Regtest" },
        { value: "signet", name: "Signet" },
        { value: "testnet4", name: "Testnet4" },
      ],
    },
    form: "Choose the sandbox, Regtest, Signet or Testnet4.",
    effect: "A change takes effect at the next start of Tillgate.",
  },
  {
    name: "backendUrl",
    group: "network",
    label: "Servers",
    help: "Separate several with commas. If the first does not answer, the next is asked.",
    control: { kind: "servers" },
    form: "Write addresses like http://127.0.0.1:8332 for Bitcoin Core, or ssl://electrum.example:50002 for Electrum.",
    effect: "A change takes effect at once.",
  },
  {
    name: "backend",
    group: "network",
    label: "Kind of server",
    help: "The owner of an Electrum server learns your addresses. Your own node of Bitcoin Core tells nobody.",
    control: { kind: "servers" },
    within: "backendUrl",
  },
  {
    name: "backendCookieFile",
    group: "network",
    label: "Cookie file",
    help: "The whole path, usually /home/YOU/.bitcoin/.cookie, or the node's folder. Tillgate signs in with it.",
    control: { kind: "text" },
    form: "Write the whole path of a file or folder.",
  },
  {
    name: "backendUser",
    group: "network",
    label: "User",
    help: "Tillgate signs in with user and password instead of the cookie file.",
    control: { kind: "text" },
    form: "Write 1 to 128 characters without a colon.",
  },
  {
    name: "backendPassword",
    group: "network",
    label: "Password",
    help: "It is kept with the secrets, and never shown.",
    control: { kind: "password" },
  },
  {
    name: "backendZmq",
    group: "network",
    label: "Instant notifications (ZMQ, optional)",
    help: "The value of zmqpubsequence= in the node's bitcoin.conf. Payments then show at once, not after a second.",
    control: { kind: "text", placeholder: "tcp://127.0.0.1:28332" },
    form: "Write an address like tcp://127.0.0.1:28332.",
  },
  {
    name: "backendCertificate",
    group: "network",
    label: "Certificate",
    help: "Only for an Electrum server that made its certificate itself: the SHA-256 of the certificate. A test shows it.",
    control: { kind: "text" },
    form: "Write 64 hexadecimal digits. Separate several certificates with commas.",
  },
  {
    name: "proxy",
    group: "network",
    label: "Proxy",
    help: "All connections to other machines go through it. Tor's is socks5h://127.0.0.1:9050. An .onion address needs it.",
    control: { kind: "text", placeholder: "socks5h://127.0.0.1:9050" },
    form: "Write an address like socks5h://127.0.0.1:9050.",
  },
];

const RATES: Setting[] = [
  {
    name: "rateSources",
    group: "rates",
    label: "Sources",
    help: "Tillgate uses the median of their rates, so that one wrong source has no effect.",
    control: { kind: "sources" },
    form: "Choose at least one source.",
  },
  {
    name: "minFreshSources",
    group: "rates",
    label: "Fresh sources needed",
    help: "If fewer sources have a fresh rate, payments are refused.",
    control: { kind: "whole", from: 1, to: 10, unit: "sources" },
  },
  {
    name: "fixedRates",
    group: "rates",
    label: "Fixed rates for tests",
    help: "They replace the rates of all sources, like USD:50000.00,EUR:46000.00.",
    control: { kind: "text" },
    form: "Write rates like USD:50000.00,EUR:46000.00, each currency once.",
  },
];

const REACH: Setting[] = [
  {
    name: "publicUrl",
    group: "reach",
    label: "Public address",
    help: "Customers reach the payment pages at this address. Without it the pages open on this computer alone.",
    control: { kind: "text", placeholder: "https://pay.example" },
    form: "Write an address like https://pay.example, without a question mark.",
  },
  {
    name: "trustedProxies",
    group: "reach",
    label: "Web servers in front of Tillgate",
    help: "The addresses of your reverse proxies, with commas between them. They encrypt the connection (TLS) and may ask Tillgate without it.",
    control: { kind: "text", placeholder: "127.0.0.1" },
    form: "Write IP addresses or blocks like 10.0.0.0/8, at most 50.",
  },
  {
    name: "allowedHosts",
    group: "reach",
    label: "Further host names",
    help: "Tillgate may be reached under these names too, with commas between them. Requests to other names are refused.",
    control: { kind: "text", placeholder: "pay.example" },
    form: "Write host names without a port, at most 50.",
  },
];

const NOTICES: Setting[] = [
  {
    name: "notices",
    group: "notices",
    label: "Notices and sounds",
    help: "A notice is shown by the desktop, also while this window is hidden.",
    control: { kind: "notices" },
  },
  {
    name: "noticeSounds",
    group: "notices",
    label: "Sounds",
    help: "The window plays a sound at these events.",
    control: { kind: "notices" },
    within: "notices",
  },
];

/** The choices for this computer. They hold for both environments. */
const LOOK: Setting[] = [
  {
    name: "language",
    group: "look",
    label: "Language",
    help: "A change loads the window anew, which empties an unfinished sale or form.",
    control: { kind: "language" },
  },
  {
    name: "theme",
    group: "look",
    label: "Colours",
    help: "Light or dark, or as the system.",
    control: { kind: "theme" },
  },
  {
    name: "unit",
    group: "look",
    label: "Unit of Bitcoin",
    help: "Lists and sums show Bitcoin in this unit.",
    control: { kind: "unit" },
  },
];

const BACKUP: Setting[] = [
  {
    name: "backupFolder",
    group: "backup",
    label: "Folder of nightly backups",
    help: "The whole path of a folder on a USB stick or another computer's disk. Without a folder no nightly backup is made.",
    control: { kind: "text", placeholder: "/media/usb/tillgate" },
    form: "Write the whole path of an existing folder.",
  },
  {
    name: "backupKeep",
    group: "backup",
    label: "Backups that are kept",
    help: "Older ones are removed once a newer one was checked.",
    control: { kind: "whole", from: 1, to: 1000, unit: "files" },
  },
  {
    name: "addressType",
    group: "backup",
    label: "Kind of address",
    help: "Customers pay to addresses of this kind.",
    control: {
      kind: "choice",
      options: ["bip84", "bip86"].map((value) => ({ value, name: addressKind(value) })),
    },
    effect: "It is fixed once the wallet is made.",
  },
  {
    name: "restoreSkip",
    group: "backup",
    label: "Addresses to skip after a restore",
    help: "Another copy of the wallet may have given them to customers who have not paid yet.",
    control: { kind: "whole", from: 0, to: 100000, unit: "addresses" },
  },
];

const SOFTWARE: Setting[] = [
  {
    name: "keyRequestsPerSecond",
    group: "software",
    label: "Requests of one API key",
    help: "One API key may make so many payments, payouts and resends in a second. 0 means no bound.",
    control: { kind: "whole", from: 0, to: 100000, unit: "a second" },
  },
  {
    name: "keyOpenPayments",
    group: "software",
    label: "Open payments of one API key",
    help: "So many payments of one API key may wait for coins or confirmations. 0 means no bound.",
    control: { kind: "whole", from: 0, to: 100000000, unit: "payments" },
  },
];

export const SETTINGS: readonly Setting[] = [
  ...SHOP,
  ...MONEY,
  ...PAYOUTS,
  ...NETWORK,
  ...RATES,
  ...REACH,
  ...NOTICES,
  ...LOOK,
  ...BACKUP,
  ...SOFTWARE,
];

/** The plain names, by which a refusal names a setting. */
export const SETTING_LABELS = Object.fromEntries(SETTINGS.map(({ name, label }) => [name, label]));

/** Why a setting cannot be changed here; undefined if it can. */
export function whyFixed(name: string, status: StatusView): string | undefined {
  const isProduction = status.environment === "production";
  if (name === "network" && isProduction) return "Production takes real bitcoins only.";
  if (name === "fixedRates" && isProduction)
    return "For tests only. Production takes the rates of the sources.";
  if (status.hasWallet && (name === "network" || name === "addressType"))
    return "Fixed since the wallet was made. Another value needs a new installation of Tillgate.";
  return undefined;
}
