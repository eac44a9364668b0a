// The panel's texts for the constants of the gateway.
import type {
  AnomalyItem,
  AnomalyKind,
  BackendItem,
  BackendKind,
  DeliveryItem,
  NotificationState,
  PaymentItem,
  PaymentState,
  PaymentView,
  PayoutItem,
  PayoutState,
  Resolution,
  StatusView,
  StuckReason,
  WaitCause,
  WhyInvalid,
} from "./bindings";
import { plain, plural, withTimes } from "./format";
import { money } from "./language/money";
import { sumsInLocale } from "./language/sums";
import { nowMs } from "./state/clock.svelte";
import { btc } from "./state/unit.svelte";

export type Tone = "calm" | "short" | "wait" | "good" | "more" | "late" | "over" | "bad";

/** Text and colour of the badge of an INVALID payment, by its reason. */
export const WHY_INVALID: Record<WhyInvalid, { text: string; tone: Tone }> = {
  SHORT_PAID: { text: "Short paid", tone: "short" },
  OVERPAID: { text: "Overpaid", tone: "short" },
  REVERSED: { text: "Reversed", tone: "bad" },
  WITHDRAWN: { text: "Coins withdrawn", tone: "over" },
};

const RATE_SOURCES: Record<string, string> = {
  kraken: "Kraken",
  coinbase: "Coinbase",
  bitstamp: "Bitstamp",
  coingecko: "CoinGecko",
  mempool: "mempool.space",
};

/** The name of a source of exchange rates. One without words is shown by its own name. */
export const rateSourceName = (name: string): string => RATE_SOURCES[name] ?? name;

/** Every state that a badge can show. */
export type Badged = PaymentState | PayoutState | Resolution | NotificationState;

const TONES: Record<Badged, Tone> = {
  NEW: "calm",
  UNDERPAID: "short",
  UNCONFIRMED: "wait",
  CONFIRMED: "good",
  EXPIRED: "over",
  INVALID: "short",
  QUEUED: "wait",
  SENT: "good",
  FAILED: "bad",
  OPEN: "wait",
  REFUNDING: "calm",
  REFUNDED: "over",
  ACCEPTED: "good",
  DISMISSED: "over",
  WAITING: "wait",
  DELIVERED: "good",
  SUPERSEDED: "over",
  GIVEN_UP: "bad",
};

/** The name of each state, where nothing more exact is known. */
export const STATE_WORDS: Record<Badged, string> = {
  NEW: "Waiting for payment",
  UNDERPAID: "Underpaid",
  UNCONFIRMED: "Received, not final",
  CONFIRMED: "Paid",
  EXPIRED: "Expired",
  INVALID: "Invalid",
  QUEUED: "Queued",
  SENT: "Sent",
  FAILED: "Failed",
  OPEN: "Open",
  REFUNDING: "Refunding",
  REFUNDED: "Refunded",
  ACCEPTED: "Accepted",
  DISMISSED: "Dismissed",
  WAITING: "Waiting",
  DELIVERED: "Delivered",
  SUPERSEDED: "Superseded",
  GIVEN_UP: "Given up",
};

/** The name of each kind of anomaly. */
export const ANOMALY_WORDS: Record<AnomalyKind, string> = {
  LATE_PAYMENT: "Late payment",
  EXTRA_PAYMENT: "Extra payment",
  OVERPAYMENT: "Overpayment",
  UNDERPAYMENT: "Underpayment",
  REVERSED_PAYMENT: "Reversed payment",
};

/** A person who acted in the window or at the command line, without the place: `panel:anna` becomes `anna`. */
export function personOf(actor: string): string {
  return actor.replace(/^(panel|cli):/, "");
}

/** The requester of a payout. An API key is named as one, because its name may be that of a person. */
export function requesterOf(payout: Pick<PayoutItem, "requestedBy" | "requestedByShop">): string {
  return payout.requestedByShop ? `${payout.requestedBy} (API key)` : personOf(payout.requestedBy);
}

/** The colour of a state. */
export function toneOf(state: Badged, whyInvalid: WhyInvalid | null = null): Tone {
  return whyInvalid ? WHY_INVALID[whyInvalid].tone : TONES[state];
}

/** The facts of a payment that its badge shows. */
export type Standing = Pick<PaymentItem, "state" | "whyInvalid" | "confirmations" | "confirmationsWanted"> &
  Partial<Pick<PaymentItem, "isCancelled" | "overpaidBy" | "openAnomalies" | "conflictSeen">>;

/** Whether too much was paid for a payment that is confirmed. */
function isOverpaid({ state, overpaidBy }: Standing): boolean {
  return state === "CONFIRMED" && !!overpaidBy;
}

/** Whether coins came after the payment had expired and need a decision. */
function isPaidLate({ state, openAnomalies }: Standing): boolean {
  return state === "EXPIRED" && (openAnomalies ?? 0) > 0;
}

/** The alarm about a confirmed payment while another transaction spends its coins. */
export const TAKING_BACK = "Stop: the customer is taking the money back";

/** The colour of a payment's badge. */
export function paymentTone(payment: Standing): Tone {
  if (payment.conflictSeen) return "bad";
  if (isPaidLate(payment)) return "late";
  return isOverpaid(payment) ? "more" : toneOf(payment.state, payment.whyInvalid);
}

/** A payment's state, for a merchant. */
export function stateWords(payment: Standing): string {
  if (payment.conflictSeen) return TAKING_BACK;
  if (isPaidLate(payment)) return "Paid late";
  if (isOverpaid(payment)) return "Paid, too much";
  if (payment.isCancelled && (payment.state === "NEW" || payment.state === "EXPIRED")) return "Cancelled";
  if (payment.whyInvalid) return WHY_INVALID[payment.whyInvalid].text;
  if (payment.state !== "UNCONFIRMED") return STATE_WORDS[payment.state];
  if (payment.confirmationsWanted === 0) return "Received, being checked";
  const { confirmations, confirmationsWanted } = payment;
  if (confirmations >= confirmationsWanted)
    return `Received, ${plural(confirmations, ["# confirmation", "# confirmations"])}`;
  return `Received, ${confirmations} of ${plural(confirmationsWanted, ["# confirmation", "# confirmations"])}`;
}

/** Names of the states in the filter of payments. They repeat the texts that the rows show. */
export const FILTER_WORDS: Record<PaymentState, string> = {
  NEW: "Waiting for payment",
  UNDERPAID: "Underpaid",
  UNCONFIRMED: "Received, not final",
  CONFIRMED: "Paid",
  EXPIRED: "Expired",
  INVALID: "Short paid, overpaid, reversed or withdrawn",
};

/** A payout's state, for a merchant. */
export function payoutWords(
  payout: Pick<PayoutItem, "state" | "confirmations"> &
    Partial<Pick<PayoutItem, "beingGivenUp" | "madeElsewhere" | "failureReason" | "requestedByShop">>,
): string {
  const { state, confirmations, beingGivenUp, madeElsewhere } = payout;
  if (state === "EXPIRED" && payout.failureReason) return payout.requestedByShop ? "Rejected" : "Withdrawn";
  if (beingGivenUp) return "Being cancelled";
  if (state !== "SENT") return PAYOUT_WORDS[state];
  if (madeElsewhere) return "Paid from elsewhere";
  return confirmations > 0
    ? `Sent, ${plural(confirmations, ["# confirmation", "# confirmations"])}`
    : "Sent, waits for a block";
}

/** Texts for the states of a payout. */
export const PAYOUT_WORDS: Record<PayoutState, string> = {
  NEW: "Waits for approval",
  QUEUED: "Approved, to be sent",
  SENT: "Sent",
  EXPIRED: "Lapsed",
  FAILED: "Failed",
};

/** Why a payout is stuck. */
export const STUCK_WORDS: Record<StuckReason, string> = {
  UNCONFIRMED: "Stuck: no block takes it",
  REFUSED: "Stuck: it was refused",
  UNSEEN: "Stuck: no mempool shows it",
  RULED_OUT: "It can never arrive",
};

/** How each cause of waiting ends, and what a person can do about it. */
export const WAIT_REMEDIES: Record<WaitCause, string> = {
  TURN: "It goes on by itself.",
  GATEWAY: "It goes on once Tillgate runs.",
  HOLD: "It goes on once you let payouts go on.",
  HOLD_RESTORED: "It goes on once you have compared the waiting payouts, and let payouts go on.",
  RESTORED: "It goes on by itself once the whole chain was looked through.",
  RESTORE_STOPPED: "It goes on once you continue the look on the page “Wallet”.",
  KEYRING: "Tillgate asks again by itself.",
  COINS: "It goes on by itself once enough coins have come.",
  BLOCK: "It goes on by itself with the next block.",
  SMALL_COINS: "Cancel it, and make smaller payouts instead.",
  FEES: "It goes on by itself once the network asks for less. A payout's page can send it at your own rate.",
  NO_ESTIMATE:
    "It goes on by itself once the server has an estimate. A payout's page can send it at your own rate.",
  CHAIN: "It goes on by itself once the Bitcoin network is seen again.",
  NODE: "It goes on by itself. A higher fee may help.",
  OTHER_COPY: "Cancel this payout. Then request the payouts again that are not paid.",
  PAID_BY_COPY: "It goes on by itself.",
  GIVEN_UP: "It goes on by itself.",
  OTHER: "It goes on by itself.",
};

/** Whether each payout shows this cause itself, so that no notice about all payouts is needed. */
export function isSaidByPayouts(cause: WaitCause | null): boolean {
  return cause === "COINS" || cause === "BLOCK" || cause === "SMALL_COINS" || cause === "PAID_BY_COPY";
}

/** Names of the chain backends. */
export const BACKENDS: Record<BackendKind, string> = {
  sandbox: "the sandbox",
  core: "Bitcoin Core",
  electrum: "the Electrum server",
};

/** The backend's name with the address of its first server. */
export function backendWords({ kind, servers }: Pick<BackendItem, "kind" | "servers">): string {
  const [first, ...more] = servers;
  if (first === undefined) return BACKENDS[kind];
  const others = more.length > 0 ? ` or ${plural(more.length, ["# other server", "# other servers"])}` : "";
  return `${BACKENDS[kind]} at ${first}${others}`;
}

/** A payout's name within a sentence: its worth and its comment. */
export function payoutOf(payout: Pick<PayoutItem, "worth" | "comment">): string {
  const sum = `the payout of ${money(payout.worth)}`;
  return payout.comment ? `${sum} (“${plain(payout.comment)}”)` : sum;
}

/** How soon a payout that is approved now will be sent, from the setting `batchSeconds`. */
export function sentWithin(batchSeconds: string | undefined): string {
  const seconds = Number(batchSeconds ?? NaN);
  if (Number.isNaN(seconds)) return "very soon";
  if (seconds === 0) return "at once";
  return seconds < 120 ? `within about ${seconds} s` : `within about ${Math.ceil(seconds / 60)} min`;
}

/** A transaction's confirmations: `1 of 3` until there are enough, then only the number. */
export function confirmationsOf(confirmations: number, wanted: number): string {
  return confirmations < wanted
    ? `${confirmations} of ${wanted}`
    : plural(confirmations, ["# confirmation", "# confirmations"]);
}

/** Whether the payment page still asks the customer for coins. */
export function asksForCoins(payment: Pick<PaymentItem, "state">): boolean {
  return payment.state === "NEW" || payment.state === "UNDERPAID";
}

/** A sentence about coins that do not count: their refund, or the choices of staff. Empty if staff can do nothing. */
export function uncountedWords(payment: Pick<PaymentView, "acceptance" | "anomalies">): string {
  const [stands, ...others] = new Set(payment.anomalies.map((anomaly) => anomaly.resolution));
  if (others.length > 0) return "Its anomalies show the decisions.";
  if (stands === "REFUNDING") return "A refund was begun: its payout shows the progress.";
  if (stands === "REFUNDED") return "It was refunded.";
  const acceptable = payment.acceptance !== null;
  if (stands !== "OPEN") return acceptable ? "You can accept it." : "";
  return acceptable ? "You can accept, refund or dismiss it." : "You can refund or dismiss it.";
}

/** The number of a sale; empty for a payment that was not made at the till. */
export function saleName({ saleNumber }: Pick<PaymentItem, "saleNumber">): string {
  return saleNumber === null ? "" : `No. ${saleNumber}`;
}

/** The shop's own reference, or the number of a sale; empty if there is neither. */
export function referenceOf(payment: Pick<PaymentItem, "merchantTransactionId" | "saleNumber">): string {
  return payment.merchantTransactionId || saleName(payment);
}

/** A payment's name within a sentence: the shop's own reference and the price. */
export function orderOf(
  payment: Pick<PaymentItem, "merchantTransactionId" | "price" | "saleNumber">,
): string {
  const price = money(payment.price);
  if (payment.saleNumber !== null) return `sale ${payment.saleNumber} (${price})`;
  return payment.merchantTransactionId
    ? `${plain(payment.merchantTransactionId)} (${price})`
    : `the payment of ${price}`;
}

/** Whether an attempt to notify the shop failed. */
export function isFailed(delivery: Pick<DeliveryItem, "attempt" | "notificationState">): boolean {
  const { attempt, notificationState } = delivery;
  return attempt > 0 && (notificationState === "WAITING" || notificationState === "GIVEN_UP");
}

/** Texts for the permissions of an API key. */
const PERMISSIONS: Record<string, string> = {
  "payments.read": "read payments",
  "payments.create": "create payments",
  "payouts.read": "read payouts",
  "payouts.create": "create payouts",
  "payouts.approve": "approve payouts",
};

const EVERYTHING = "do everything";

/** The permissions of an API key in words. */
export function permissionWords(permissions: string[]): string {
  const isAll = Object.keys(PERMISSIONS).every((name) => permissions.includes(name));
  return isAll ? EVERYTHING : permissions.map((name) => PERMISSIONS[name] ?? name).join(", ");
}

/** A form's labels, by the field name of the API. */
export type Labels = Record<string, string>;

const DAILY = "Daily limit in BTC";
const MINIMUM = "Minimum in BTC";

/** Labels of the forms for the limits. The gateway names a limit by its field or by its setting, so both are keys. */
export const LIMIT_LABELS = {
  dailyBtc: DAILY,
  dailyLimitBtc: DAILY,
  minimumBtc: MINIMUM,
  minPayoutBtc: MINIMUM,
} satisfies Labels;

/** Accepted currencies that have a fresh rate. */
export function freshCurrencies(status: Pick<StatusView, "currencies" | "rates">): string[] {
  return status.currencies.filter((code) =>
    status.rates.some((rate) => rate.currency === code && rate.fresh),
  );
}

/** Whether a payment in this currency can be created now. */
export function isPayable(status: StatusView, currency: string): boolean {
  return freshCurrencies(status).includes(currency) && !status.paymentsRefused;
}

/** How the gateway says that a field is no number. The forms say it more clearly. */
const NO_NUMBER = /\bmust be a (decimal number|sum in Bitcoin)\b/;

/** A refusal in which the form's label replaces a field name at the start of each part. Parts end with `; `. */
export function inFormsWords(message: string, labels: Labels): string {
  const begins = (part: string) => labels[/^\w+(?= )/.exec(part)?.[0] ?? ""];
  const parts = message.split("; ");
  if (!parts.some(begins)) return told(message);
  return parts
    .map((part) => {
      const label = begins(part);
      if (label === undefined) return told(part);
      if (NO_NUMBER.test(part)) return `${label}: write a number, like 10.00 or 10,00`;
      return `${label} ${toldWithin(part.replace(/^\w+ /, ""))}`;
    })
    .join("; ");
}

/** A sentence of the gateway without the parts that name a `tillgate` command, because the window has its own remedies. */
export function withoutCommands(text: string): string {
  return text
    .replaceAll(/ \([^()]*`tillgate [^`]*`[^()]*\)/g, "")
    .replaceAll(/[:;,.] [^:;,.`]*`tillgate [^`]*`[^:;.]*/g, "")
    .replaceAll(/ \([^()]*\b[a-z]+[A-Z]\w*\)/g, "");
}

/** A sentence with the form's labels in place of the settings' names. */
export function withLabels(text: string, labels: Labels): string {
  return text.replaceAll(/\b[a-z]+[A-Z]\w*\b/g, (name) =>
    Object.hasOwn(labels, name) ? `“${labels[name]}”` : name,
  );
}

/** A sentence of the gateway for the window: with local times, and without commands. */
export function told(text: string): string {
  return capital(toldWithin(text));
}

/** As {@link told}, for a place within a sentence. */
export function toldWithin(text: string): string {
  return withTimes(sumsInLocale(withoutCommands(text)), nowMs);
}

/** A text with a capital first letter. The gateway's messages begin with a small letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Capitalises a leading `the`. */
export function sentence(text: string): string {
  return text.replace(/^the /, "The ");
}

/** A sentence about the coins of an anomaly after its dismissal. */
export function afterDismissal(row: AnomalyItem): string {
  const coins = `${btc(row.paid)}`;
  switch (row.anomalyType) {
    case "LATE_PAYMENT":
      return `The ${coins} that were not seen in time stay in your wallet. The payment stays closed: the order is not paid by them, and the customer gets nothing back.`;
    case "EXTRA_PAYMENT":
      return `The ${coins} that came on top stay in your wallet. The payment stays paid, and the customer gets nothing back.`;
    case "OVERPAYMENT":
      return `The ${coins} that were too much stay in your wallet. The payment stays as it is, and the customer gets nothing back.`;
    case "UNDERPAYMENT":
      return `The ${coins} that came stay in your wallet, although they were too few. The payment stays invalid: the order is not paid, and the customer gets nothing back.`;
    case "REVERSED_PAYMENT":
      return `The ${coins} were taken back and are not in your wallet. Dismissing brings nothing back. The payment stays invalid, and what you delivered for it is not paid.`;
  }
}
