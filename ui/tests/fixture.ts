// Replies of the gateway for tests of screens. A test changes the fields that matter to it.
import type {
  Acceptance,
  AnomalyItem,
  BackupItem,
  BackupsView,
  BumpEstimateView,
  CertificateView,
  DeliveryItem,
  EstimateView,
  LimitsView,
  PaymentItem,
  PaymentView,
  PaymentsPage,
  PayoutView,
  RestoreView,
  SendEstimateView,
  SettingItem,
  StatusView,
  TakingsSum,
  TakingsView,
  Telling,
  WalletInfoView,
} from "../src/lib/bindings";

/** A sentence of the gateway. Without a code the window shows its English text. */
export const telling = (
  message: string,
  code = "",
  values: Telling["values"] = {},
  field?: string,
): Telling => ({ code, values, message, ...(field === undefined ? {} : { field }) });

export const status: StatusView = {
  environment: "test",
  version: "0.1.0",
  serving: true,
  api: "http://127.0.0.1:7421/v2",
  pages: "http://127.0.0.1:7421/pay",
  clock: "2026-01-12T12:06:20.123Z",
  backend: { kind: "sandbox", servers: [], zmq: null },
  chainHeight: 112,
  chainLookedAt: "2026-01-12T12:06:20Z",
  chainError: null,
  paymentsRefused: null,
  catchingUp: null,
  rates: [
    { currency: "CHF", rate: "57000.0000", fresh: true, shown: "57,000", decimals: 2 },
    { currency: "EUR", rate: "59000.0000", fresh: true, shown: "59,000", decimals: 2 },
    { currency: "JPY", rate: "9500000.0000", fresh: false, shown: "9,500,000", decimals: 0 },
    { currency: "USD", rate: "64210.5500", fresh: true, shown: "64,210.55", decimals: 2 },
  ],
  rateSources: [
    { name: "sandbox", answeredAt: "2026-01-12T12:06:20Z", ageSeconds: 0, error: null, nextAt: null },
  ],
  openPayments: 1,
  openAnomalies: 1,
  openReversals: 0,
  waitingNotifications: 0,
  failingNotifications: 0,
  failingServers: [],
  hmacKey: false,
  sandbox: true,
  hasWallet: true,
  isBackedUp: true,
  secrets: "the OS keyring",
  folder: "/home/ada/.local/share/tillgate/test",
  warnings: [],
  warningKinds: [],
  givenUpNotifications: 0,
  currencies: ["USD", "JPY", "EUR"],
  offersWaiting: 0,
  ownOffersWaiting: 0,
  payoutsQueued: 0,
  senderWaitsFor: null,
  senderWaitCause: null,
  senderHold: null,
  senderHoldCause: null,
  senderHoldTransactions: [],
  senderHoldTransactionsCount: 0,
  alarms: [],
  stuck: [],
  stuckPayouts: 0,
  balance: { sats: 150000000, text: "1.50000000", shown: "1.50000000" },
};

/** The status of production without warnings. */
export const production: StatusView = {
  ...status,
  environment: "production",
  api: "http://127.0.0.1:7420/v2",
  pages: "http://127.0.0.1:7420/pay",
  folder: "/home/ada/.local/share/tillgate/production",
  sandbox: false,
  backend: { kind: "core", servers: ["127.0.0.1:8332"], zmq: null },
  openAnomalies: 0,
};

/** The status of production before a server is chosen. */
export const withoutServer: StatusView = {
  ...production,
  backend: null,
  chainHeight: 0,
  chainLookedAt: null,
  chainError: telling(
    "the Bitcoin backend cannot be asked: no Bitcoin backend is set: tillgate settings set backendUrl http://127.0.0.1:8332 (your node's address), and backendCookieFile or backendUser",
  ),
};

export const btc = (sats: number, text: string) => ({ sats, text, shown: text });
export const certificate: CertificateView = {
  rate: "64210.5500",
  rateShown: "64,210.55",
  time: "2026-01-12T11:59:40Z",
  sources: [
    {
      name: "kraken",
      rate: "64210.55",
      rateShown: "64,210.55",
      time: "2026-01-12T11:59:40Z",
      used: true,
      why: null,
    },
    {
      name: "mempool",
      rate: "70000",
      rateShown: "70,000",
      time: "2026-01-12T11:59:00Z",
      used: false,
      why: "more than 5 % from the median",
    },
  ],
};

export const usd = (minor: number, text: string) => ({ minor, text, shown: text, currency: "USD" });

export function acceptance(over: Partial<Acceptance> = {}): Acceptance {
  return {
    coins: btc(7787, "0.00007787"),
    worth: usd(500, "5.00"),
    price: usd(1000, "10.00"),
    short: usd(500, "5.00"),
    over: null,
    notified: true,
    ...over,
  };
}

export function anomaly(over: Partial<AnomalyItem> = {}): AnomalyItem {
  return {
    anomalyId: "a".repeat(40),
    paymentId: "p".repeat(40),
    anomalyType: "OVERPAYMENT",
    paid: btc(7787, "0.00007787"),
    time: "2026-01-12T12:05:00Z",
    message: "The customer paid 0.00007787 BTC more than was asked.",
    resolution: "OPEN",
    dismissalReason: null,
    btcTxIds: ["c".repeat(64)],
    saleNumber: null,
    merchantTransactionId: "order-7",
    price: usd(1000, "10.00"),
    worth: usd(500, "5.00"),
    cameInTime: false,
    worthToday: usd(520, "5.20"),
    notified: true,
    acceptance: null,
    payoutId: null,
    question: null,
    paymentPageUrl: `https://pay.example/pay/${"p".repeat(40)}`,
    ...over,
  };
}

export function delivery(over: Partial<DeliveryItem> = {}): DeliveryItem {
  return {
    deliveryId: "d".repeat(40),
    notificationId: "n1",
    subjectKind: "payment",
    subjectId: "p".repeat(40),
    url: "https://shop.example/hook",
    body: '{"status":"CONFIRMED"}',
    attempt: 1,
    time: "2026-01-12T12:04:00.120Z",
    durationMs: 34,
    statusCode: 500,
    error: null,
    answer: "<b>upset</b>",
    notificationState: "WAITING",
    nextAttemptTime: "2026-01-12T12:04:10Z",
    ...over,
  };
}

export function payment(over: Partial<PaymentView> = {}): PaymentView {
  return {
    paymentId: "p".repeat(40),
    saleNumber: null,
    sale: null,
    state: "NEW",
    amount: btc(15574, "0.00015574"),
    paid: btc(0, "0.00000000"),
    label: "webshop",
    message: "Two coffees",
    merchantTransactionId: "order-7",
    creationTime: "2026-01-12T12:00:00Z",
    expirationTime: "2026-01-12T12:30:00Z",
    isCancelled: false,
    isUnreported: false,
    conflictSeen: false,
    openAnomalies: 0,
    price: usd(1000, "10.00"),
    paidWorth: usd(0, "0.00"),
    whyInvalid: null,
    confirmations: 0,
    address: "bcrt1qexampleaddress0000000000000000000000",
    addressIndex: 4,
    addressPath: "m/84'/1'/0'/0/4",
    exchangeRate: "64210.5500",
    exchangeRateShown: "64,210.55",
    certificate: null,
    paymentAddress: "bitcoin:bcrt1qexampleaddress0000000000000000000000?amount=0.00015574",
    paymentPageUrl: "http://127.0.0.1:7421/pay/" + "p".repeat(40),
    stillDue: btc(15574, "0.00015574"),
    overpaidBy: null,
    differenceWorth: usd(1000, "10.00"),
    confirmationsWanted: 1,
    qrSvg: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>',
    paymentTime: null,
    notificationUrl: "https://shop.example/hook",
    anomalyNotificationUrl: null,
    acceptance: null,
    uncounted: null,
    sandboxAmounts: {
      exact: btc(15574, "0.00015574"),
      part: btc(7787, "0.00007787"),
      tooMuch: btc(23361, "0.00023361"),
    },
    labels: [],
    transactions: [],
    history: [],
    deliveries: [],
    anomalies: [],
    ...over,
  };
}

/** A page of payments without a filter. */
export function paymentsPage(items: PaymentItem[], itemsCount: number): PaymentsPage {
  return { items, itemsCount, sums: null };
}

export const ADDRESS = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

export function payout(over: Partial<PayoutView> = {}): PayoutView {
  return {
    payoutId: "b".repeat(40),
    state: "NEW",
    address: ADDRESS,
    amount: btc(1000000, "0.01000000"),
    worth: usd(64210, "642.10"),
    currency: "USD",
    fee: btc(282, "0.00000282"),
    feeWorth: usd(19, "0.19"),
    feePaid: null,
    total: btc(1000282, "0.01000282"),
    totalWorth: usd(64229, "642.29"),
    rate: "64210.5500",
    rateShown: "64,210.55",
    certificate: null,
    comment: "Invoice 12",
    requestedBy: "panel:ada",
    requestedByShop: false,
    approvedBy: null,
    creationTime: "2026-01-12T12:06:00Z",
    expirationTime: "2026-01-12T12:16:00Z",
    approvalTime: null,
    sentTime: null,
    failedTime: null,
    btcTxId: null,
    madeElsewhere: false,
    confirmations: 0,
    failureReason: null,
    balanceShort: false,
    anomalyId: null,
    beingGivenUp: false,
    waitsFor: null,
    waitCause: null,
    stuck: null,
    record: "{}",
    notificationUrl: null,
    labels: [],
    versions: [],
    sharesWith: [],
    history: [
      { time: "2026-01-12T12:06:00.000Z", step: "offered", by: "panel:ada", btcTxId: null, reason: null },
    ],
    deliveries: [],
    paidBefore: null,
    anomalyAlike: null,
    feeWarning: null,
    limitLeftAfter: btc(99000000, "0.99000000"),
    takesAllCoins: false,
    canApprove: { possible: true, whyNot: null },
    canSend: {
      possible: false,
      whyNot: telling("the payout is NEW: it waits for approval: approve it first"),
    },
    canBump: { possible: false, whyNot: telling("the payout is NEW: it was never approved") },
    canAbandon: { possible: false, whyNot: telling("the payout is NEW: it was never approved") },
    ...over,
  };
}

export function estimate(over: Partial<EstimateView> = {}): EstimateView {
  return {
    amount: btc(1000000, "0.01000000"),
    worth: usd(64210, "642.10"),
    fee: btc(282, "0.00000282"),
    feeWorth: usd(19, "0.19"),
    feeRate: "2",
    total: btc(1000282, "0.01000282"),
    totalWorth: usd(64229, "642.29"),
    rate: "64210.5500",
    rateShown: "64,210.55",
    addressProblem: null,
    amountProblem: null,
    rateProblem: null,
    paidBefore: null,
    paidByCopy: null,
    anomalyAlike: null,
    balanceShort: false,
    takesAllCoins: false,
    most: btc(99999718, "0.99999718"),
    ...over,
  };
}

export function bumpEstimate(over: Partial<BumpEstimateView> = {}): BumpEstimateView {
  return {
    feeNow: btc(282, "0.00000282"),
    fee: btc(564, "0.00000564"),
    worth: usd(37, "0.37"),
    feeRate: "4.00",
    isLeast: false,
    cap: 200,
    aboveCap: false,
    needed: 4,
    pays: btc(1000000, "0.01000000"),
    abovePays: false,
    ...over,
  };
}

export function sendEstimate(over: Partial<SendEstimateView> = {}): SendEstimateView {
  return {
    fee: btc(987, "0.00000987"),
    worth: usd(64, "0.64"),
    feeRate: "7.00",
    cap: 200,
    aboveCap: false,
    pays: btc(1000000, "0.01000000"),
    abovePays: false,
    ...over,
  };
}

export const limits: LimitsView = {
  used: btc(25000000, "0.25000000"),
  available: btc(75000000, "0.75000000"),
  minimum: btc(10000, "0.00010000"),
  daily: btc(100000000, "1.00000000"),
  resets: "2026-01-13T00:00:00Z",
  worth: null,
  record: "{}",
};

const ABOUT = { default: "", about: "" };

const RATE_SOURCES = "kraken,coinbase,bitstamp,coingecko,mempool";

/** The settings of a gateway without a backend. */
export function settings(over: Record<string, string> = {}): { items: SettingItem[]; itemsCount: number } {
  const values = {
    backend: "core",
    backendUrl: "",
    backendCookieFile: "",
    backendUser: "",
    backendPassword: "",
    backendZmq: "",
    backendCertificate: "",
    proxy: "",
    rateSources: RATE_SOURCES,
    minFreshSources: "2",
    fixedRates: "",
    ...over,
  };
  const items = Object.entries(values).map(([name, value]) => ({
    name,
    value,
    ...ABOUT,
    ...(name === "rateSources" ? { default: RATE_SOURCES } : {}),
  }));
  return { items, itemsCount: items.length };
}

export function backups(over: Partial<BackupsView> = {}): BackupsView {
  return {
    folder: null,
    keep: 14,
    passphraseSetAt: null,
    last: null,
    nightly: [],
    nextAt: null,
    trouble: null,
    troubleKind: null,
    passphraseMin: 12,
    sheet: { addressType: "bip84", birthday: "2026-01-12" },
    ...over,
  };
}

export const backup: BackupItem = {
  file: "/media/usb/tillgate/tillgate-production-2026-01-12.backup",
  madeAt: "2026-01-12T12:05:00Z",
  sizeBytes: 123456,
  checkedAt: "2026-01-12T12:05:02Z",
};

/** A sum of takings in US dollars, at a rate of 50,000. */
export function takingsSum(dollars: number, payments = 1): TakingsSum {
  const paid = (dollars / 50_000).toFixed(8);
  return { payments, price: usd(dollars * 100, dollars.toFixed(2)), paid: btc(dollars * 2_000, paid) };
}

/** Takings of 30 days: 40 USD yesterday, and 20 USD today. */
export function takings(over: Partial<TakingsView> = {}): TakingsView {
  const days = Array.from({ length: 30 }, (_, index) => {
    const dollars = index === 28 ? 40 : index === 29 ? 20 : 0;
    return { sum: takingsSum(dollars, dollars / 20), height: dollars * 25 };
  });
  return {
    paymentsCount: 5,
    main: {
      currency: "USD",
      today: takingsSum(20),
      yesterday: takingsSum(40, 2),
      week: takingsSum(60, 3),
      lastWeek: takingsSum(0, 0),
      weekChange: null,
      all: takingsSum(60, 3),
      days,
      top: usd(4000, "40.00"),
      half: usd(2000, "20.00"),
    },
    others: [],
    ...over,
  };
}

export function wallet(over: Partial<WalletInfoView> = {}): WalletInfoView {
  return {
    balance: btc(150000000, "1.50000000"),
    balanceWorth: { minor: 9750000, text: "97500.00", shown: "97,500.00", currency: "USD" },
    spendable: btc(140000000, "1.40000000"),
    locked: btc(10000000, "0.10000000"),
    spendConfirmations: 2,
    pending: btc(7787, "0.00007787"),
    immature: btc(0, "0.00000000"),
    addressType: "bip84",
    network: "bitcoin",
    longestUnused: 7,
    gapLimit: 20,
    nextIndex: 41,
    restore: null,
    record: "{}",
    ...over,
  };
}

export function restoring(over: Partial<RestoreView> = {}): RestoreView {
  return {
    source: "words",
    state: "SCANNING",
    birthHeight: 800000,
    looksAhead: 1000,
    scannedHeight: 850000,
    chainHeight: 900000,
    percent: 50,
    found: 3,
    addressType: "bip84",
    foundNothing: false,
    atOtherType: null,
    asked: 0,
    toAsk: 0,
    awaitsBackend: false,
    begunTime: "2026-01-12T12:00:00Z",
    lookedTime: null,
    firstGiven: null,
    ...over,
  };
}
