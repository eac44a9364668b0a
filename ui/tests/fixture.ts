// A gateway in memory, for tests of screens alone: it answers with what it was given and keeps no rule.
import type { Acceptance } from "../src/lib/bindings/Acceptance";
import type { AnomalyItem } from "../src/lib/bindings/AnomalyItem";
import type { CertificateView } from "../src/lib/bindings/CertificateView";
import type { Command } from "../src/lib/bindings/Command";
import type { CommandError } from "../src/lib/bindings/CommandError";
import type { DeliveryItem } from "../src/lib/bindings/DeliveryItem";
import type { BumpEstimateView } from "../src/lib/bindings/BumpEstimateView";
import type { EstimateView } from "../src/lib/bindings/EstimateView";
import type { LimitsView } from "../src/lib/bindings/LimitsView";
import type { PaymentView } from "../src/lib/bindings/PaymentView";
import type { PayoutView } from "../src/lib/bindings/PayoutView";
import type { StatusView } from "../src/lib/bindings/StatusView";
import type { Answers, CommandName, Host, HostEvent, ShellAct } from "../src/lib/host";

export const status: StatusView = {
  environment: "test",
  version: "0.1.0",
  serving: true,
  api: "http://127.0.0.1:7421/v2",
  pages: "http://127.0.0.1:7421/pay",
  clock: "2026-01-12T12:06:20.123Z",
  chainHeight: 112,
  chainLookedAt: "2026-01-12T12:06:20Z",
  chainError: null,
  rates: [
    { currency: "CHF", rate: "57000.0000", fresh: true, shown: "57,000" },
    { currency: "EUR", rate: "59000.0000", fresh: true, shown: "59,000" },
    { currency: "JPY", rate: "9500000.0000", fresh: false, shown: "9,500,000" },
    { currency: "USD", rate: "64210.5500", fresh: true, shown: "64,210.55" },
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
  secrets: "the OS keyring",
  warnings: [],
  currencies: ["USD", "JPY", "EUR"],
  offersWaiting: 0,
  payoutsQueued: 0,
  senderWaitsFor: null,
  senderWaitCause: null,
  senderHold: null,
  alarms: [],
  balance: { sats: 150000000, text: "1.50000000", shown: "1.50000000" },
};

const btc = (sats: number, text: string) => ({ sats, text, shown: text });
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

const usd = (minor: number, text: string) => ({ minor, text, shown: text, currency: "USD" });

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
    merchantTransactionId: "order-7",
    price: usd(1000, "10.00"),
    worth: usd(500, "5.00"),
    notified: true,
    acceptance: null,
    payoutId: null,
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
    state: "NEW",
    amount: btc(15574, "0.00015574"),
    paid: btc(0, "0.00000000"),
    label: "webshop",
    message: "Two coffees",
    merchantTransactionId: "order-7",
    creationTime: "2026-01-12T12:00:00Z",
    expirationTime: "2026-01-12T12:30:00Z",
    openAnomalies: 0,
    price: usd(1000, "10.00"),
    paidWorth: usd(0, "0.00"),
    whyInvalid: null,
    confirmations: 0,
    address: "bcrt1qexampleaddress0000000000000000000000",
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
    sandboxAmounts: {
      exact: btc(15574, "0.00015574"),
      part: btc(7787, "0.00007787"),
      tooMuch: btc(23361, "0.00023361"),
    },
    transactions: [],
    history: [],
    deliveries: [],
    anomalies: [],
    ...over,
  };
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
    confirmations: 0,
    failureReason: null,
    balanceShort: false,
    anomalyId: null,
    beingGivenUp: false,
    waitsFor: null,
    waitCause: null,
    record: "{}",
    notificationUrl: null,
    versions: [],
    sharesWith: [],
    history: [
      { time: "2026-01-12T12:06:00.000Z", step: "offered", by: "panel:ada", btcTxId: null, reason: null },
    ],
    deliveries: [],
    paidBefore: null,
    feeWarning: null,
    limitLeftAfter: btc(99000000, "0.99000000"),
    canApprove: { possible: true, whyNot: null },
    canBump: { possible: false, whyNot: "the payout is NEW: it was never approved" },
    canAbandon: { possible: false, whyNot: "the payout is NEW: it was never approved" },
    ...over,
  };
}

export function estimate(over: Partial<EstimateView> = {}): EstimateView {
  return {
    amount: btc(1000000, "0.01000000"),
    worth: usd(64210, "642.10"),
    fee: btc(282, "0.00000282"),
    feeRate: "2",
    total: btc(1000282, "0.01000282"),
    totalWorth: usd(64229, "642.29"),
    rate: "64210.5500",
    rateShown: "64,210.55",
    addressProblem: null,
    amountProblem: null,
    rateProblem: null,
    paidBefore: null,
    balanceShort: false,
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
    aboveAmount: false,
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

type Reply<N extends CommandName> = Answers[N] | CommandError | ((command: never) => Answers[N]);

/** A host that answers from `replies`, and remembers what it was asked. */
export class FixtureHost implements Host {
  readonly asked: Command[] = [];
  readonly acts: ShellAct[] = [];
  readonly #replies = new Map<CommandName, unknown>();
  readonly #listeners = new Map<HostEvent, Set<() => void>>();

  constructor() {
    this.reply("status", status);
    this.reply("listPayments", { items: [], itemsCount: 0 });
    this.reply("listKeys", { items: [], itemsCount: 0 });
    this.reply("listAnomalies", { items: [], itemsCount: 0 });
    this.reply("listPayouts", { items: [], itemsCount: 0 });
    this.reply("showLimits", limits);
  }

  reply<N extends CommandName>(command: N, reply: Reply<N>): void {
    this.#replies.set(command, reply);
  }

  async call<N extends CommandName>(command: Extract<Command, { command: N }>): Promise<Answers[N]> {
    this.asked.push(command);
    const reply = this.#replies.get(command.command);
    const answer = typeof reply === "function" ? (reply as (c: unknown) => unknown)(command) : reply;
    if (answer === undefined || (answer as Partial<CommandError>).errorType !== undefined) {
      throw answer ?? { errorType: "NO_REPLY", message: `no reply for ${command.command}`, field: null };
    }
    return answer as Answers[N];
  }

  async shell(act: ShellAct): Promise<void> {
    this.acts.push(act);
  }

  on(event: HostEvent, heard: () => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(heard));
    return () => listeners.delete(heard);
  }

  emit(event: HostEvent): void {
    for (const heard of this.#listeners.get(event) ?? []) heard();
  }

  /** What was asked with this command. */
  askedFor(command: CommandName) {
    return this.asked.filter((one) => one.command === command);
  }
}
