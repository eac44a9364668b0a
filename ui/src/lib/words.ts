// The panel's words for what the gateway names by constants.
import type { AnomalyItem } from "./bindings/AnomalyItem";
import type { BackendItem } from "./bindings/BackendItem";
import type { BackendName } from "./bindings/BackendName";
import type { NotificationState } from "./bindings/NotificationState";
import type { PaymentItem } from "./bindings/PaymentItem";
import type { PaymentState } from "./bindings/PaymentState";
import type { PayoutItem } from "./bindings/PayoutItem";
import type { PayoutState } from "./bindings/PayoutState";
import type { RefusalView } from "./bindings/RefusalView";
import type { Resolution } from "./bindings/Resolution";
import type { StatusView } from "./bindings/StatusView";
import type { StuckReason } from "./bindings/StuckReason";
import type { WaitCause } from "./bindings/WaitCause";
import type { WhyInvalid } from "./bindings/WhyInvalid";
import { count, plain, words } from "./format";

export type Tone = "calm" | "short" | "wait" | "good" | "over" | "bad";

/** What INVALID means, by its reason. */
export const WHY_INVALID: Record<WhyInvalid, { text: string; tone: Tone }> = {
  SHORT_PAID: { text: "Short paid", tone: "short" },
  OVERPAID: { text: "Overpaid", tone: "short" },
  REVERSED: { text: "Reversed", tone: "bad" },
  WITHDRAWN: { text: "Coins withdrawn", tone: "over" },
};

/** Whatever a badge shows. */
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

/** The colour of a state. */
export function toneOf(state: Badged, whyInvalid: WhyInvalid | null = null): Tone {
  return whyInvalid ? WHY_INVALID[whyInvalid].tone : TONES[state];
}

/** A payment's state as a merchant says it. */
export function stateWords(
  payment: Pick<PaymentItem, "state" | "whyInvalid" | "confirmations" | "confirmationsWanted">,
): string {
  if (payment.whyInvalid) return WHY_INVALID[payment.whyInvalid].text;
  if (payment.state !== "UNCONFIRMED") return words(payment.state);
  if (payment.confirmationsWanted === 0) return "Paid, being checked";
  const { confirmations, confirmationsWanted } = payment;
  if (confirmations >= confirmationsWanted) return `Paid, ${count(confirmations, "confirmation")}`;
  return `Paid, ${confirmations} of ${count(confirmationsWanted, "confirmation")}`;
}

/** The payments that a filter by state shows, in the words of their rows. */
export const FILTER_WORDS: Record<PaymentState, string> = {
  NEW: "New",
  UNDERPAID: "Underpaid",
  UNCONFIRMED: "Paid, waiting for blocks",
  CONFIRMED: "Confirmed",
  EXPIRED: "Expired",
  INVALID: "Short paid, overpaid, reversed or withdrawn",
};

/** A payout's state as a merchant says it. */
export function payoutWords(
  payout: Pick<PayoutItem, "state" | "confirmations"> &
    Partial<Pick<PayoutItem, "beingGivenUp" | "madeElsewhere">>,
): string {
  const { state, confirmations, beingGivenUp, madeElsewhere } = payout;
  if (beingGivenUp) return "Being given up";
  if (state !== "SENT") return PAYOUT_WORDS[state];
  if (madeElsewhere) return "Paid, not from here";
  return confirmations > 0 ? `Sent, ${count(confirmations, "confirmation")}` : "Sent, waits for a block";
}

/** What each state of a payout means. */
export const PAYOUT_WORDS: Record<PayoutState, string> = {
  NEW: "Waits for approval",
  QUEUED: "Approved, to be sent",
  SENT: "Sent",
  EXPIRED: "Lapsed",
  FAILED: "Failed",
};

/** Why a payout does not arrive. */
export const STUCK_WORDS: Record<StuckReason, string> = {
  UNCONFIRMED: "Stuck: no block takes it",
  REFUSED: "Stuck: it was refused",
  RULED_OUT: "It can never arrive",
};

/** What is done, or can be, about that which approved payouts wait for. */
export const WAIT_REMEDIES: Record<WaitCause, string> = {
  TURN: "It goes on by itself.",
  GATEWAY: "It goes on once Tillgate runs.",
  HOLD: "It goes on once you let it.",
  HOLD_RESTORED: "It goes on once you have compared what waits, and let it.",
  RESTORED: "It goes on by itself once the whole chain was looked through.",
  RESTORE_STOPPED: "It goes on once you let the look go on, on the page “Wallet”.",
  KEYRING: "Tillgate asks by itself, too.",
  COINS: "It goes on by itself once enough have come.",
  FEES: "It goes on by itself once the network asks for less, or once you allow a higher rate (the setting feeCapSatVb).",
  CHAIN: "It goes on by itself once the Bitcoin network is seen again.",
  NODE: "It goes on by itself. A higher fee may help.",
  OTHER_COPY: "Give this payout up, and ask anew for the payouts that are not paid.",
  COPY_PAYS: "It goes on by itself.",
  GIVEN_UP: "It goes on by itself.",
  OTHER: "It goes on by itself.",
};

/** Whether what keeps the sender from sending concerns single payouts, each of which says it itself, and no others. */
export function isSaidByPayouts(cause: WaitCause | null): boolean {
  return cause === "COINS" || cause === "COPY_PAYS";
}

/** What shows the chain, by its kind. */
export const BACKENDS: Record<BackendName, string> = {
  sandbox: "the sandbox",
  core: "Bitcoin Core",
  electrum: "the Electrum server",
};

/** What shows the chain, and where the first of its servers is. */
export function backendWords({ kind, servers }: Pick<BackendItem, "kind" | "servers">): string {
  const [first, ...more] = servers;
  if (first === undefined) return BACKENDS[kind];
  const others = more.length > 0 ? ` or ${count(more.length, "other server")}` : "";
  return `${BACKENDS[kind]} at ${first}${others}`;
}

/** Which payout a sentence is about: its sum and its purpose. */
export function payoutOf(payout: Pick<PayoutItem, "amount" | "comment">): string {
  const sum = `the payout of ${payout.amount.shown} BTC`;
  return payout.comment ? `${sum} (“${plain(payout.comment)}”)` : sum;
}

/** That no node has taken a transaction in place of another yet, and why. */
export function untaken(refusal: RefusalView | null): string {
  const why = refusal ? refusal.message : "no node has taken the new transaction yet";
  return `${capital(why)}. It is offered again after each block, and the former one stays until then.`;
}

/** When what is approved now is sent, by the setting `batchSeconds`. */
export function sentWithin(batchSeconds: string | undefined): string {
  const seconds = Number(batchSeconds ?? NaN);
  if (Number.isNaN(seconds)) return "soon";
  if (seconds === 0) return "at once";
  return seconds < 120 ? `within about ${seconds} s` : `within about ${Math.ceil(seconds / 60)} min`;
}

/** How deep a transaction is: against what is wanted until it is enough. */
export function confirmationsOf(confirmations: number, wanted: number): string {
  return confirmations < wanted ? `${confirmations} of ${wanted}` : count(confirmations, "confirmation");
}

/** Whether the customer is still asked for coins. */
export function asksForCoins(payment: Pick<PaymentItem, "state">): boolean {
  return payment.state === "NEW" || payment.state === "UNDERPAID";
}

/** Which payment a sentence is about: the shop's own reference and the price. */
export function orderOf(payment: Pick<PaymentItem, "merchantTransactionId" | "price">): string {
  const price = `${payment.price.shown} ${payment.price.currency}`;
  return payment.merchantTransactionId
    ? `${plain(payment.merchantTransactionId)} (${price})`
    : `the payment of ${price}`;
}

/** What an API key may do, by the permission's name. */
export const PERMISSIONS: Record<string, string> = {
  "payments.read": "read payments",
  "payments.create": "make payments",
  "payouts.read": "read payouts",
  "payouts.create": "make payouts",
  "payouts.approve": "approve payouts",
};

/** The words of a form for the API's names of fields. */
export type Labels = Record<string, string>;

const DAILY = "At most a day, in BTC";
const MINIMUM = "The least payout, in BTC";

/** What the forms of the limits call them; the gateway names a limit as the field or as the setting. */
export const LIMIT_LABELS = {
  dailyBtc: DAILY,
  dailyLimitBtc: DAILY,
  minimumBtc: MINIMUM,
  minPayoutBtc: MINIMUM,
} satisfies Labels;

/** The currencies that the merchant takes and that have a fresh rate. */
export function freshCurrencies(status: Pick<StatusView, "currencies" | "rates">): string[] {
  return status.currencies.filter((code) =>
    status.rates.some((rate) => rate.currency === code && rate.fresh),
  );
}

/** An error's message with the form's words where a sentence of it begins with a field's name. */
export function inFormsWords(message: string, labels: Labels): string {
  const parts = message.split("; ").map((part) => {
    const [first = ""] = part.split(" ", 1);
    return Object.hasOwn(labels, first) ? `${labels[first]}${part.slice(first.length)}` : part;
  });
  return capital(parts.join("; "));
}

/**
 * What is wrong with a field that holds a sum, where the gateway finds no number in it. In a sum of Bitcoin a comma is none; in a
 * price it is taken.
 */
export function aboutSum(message: string, label: string, typed: string, takesCommas = false): string {
  if (!/\bmust be a (decimal number|sum in Bitcoin)\b/.test(message)) return message;
  if (takesCommas) return `${label}: write a number, like 10.00 or 10,00`;
  return typed.includes(",") ? `${label}: write it with a point, not a comma` : message;
}

/** A sentence of the gateway's with the page on which the day's limit is changed, in place of the setting's name. */
export function withLimitPage(text: string): string {
  return text.replace(
    "have the limit raised (the setting dailyLimitBtc)",
    "change the limit on the page “Payouts”",
  );
}

/** Whether a sentence tells what to do at a command line, which a window has not. */
export function namesCommand(text: string): boolean {
  return /\btillgate (backup|deliveries|hmac-key|payouts|serve|settings|wallet)\b/.test(text);
}

/** A node's own words that it runs, and has not all of the chain yet (`chain/core/blocks.rs`): nothing is to be done. */
export function nodeCatchesUp(text: string): string | undefined {
  return /the node is (?:downloading the chain|catching up|loading its mempool)[^.]*/.exec(text)?.[0];
}

/** A sentence in which settings stand by their names, in the words of the form that sets them. */
export function withLabels(text: string, labels: Labels): string {
  return text.replaceAll(/\b[a-z]+[A-Z]\w*\b/g, (name) =>
    Object.hasOwn(labels, name) ? `“${labels[name]}”` : name,
  );
}

/** The gateway's sentences go on where a log's line begins; here they stand by themselves. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Words that begin a sentence. */
export function sentence(text: string): string {
  return text.replace(/^the /, "The ");
}

/** What becomes of the coins of a dismissed anomaly, by its kind. */
export function afterDismissal(row: AnomalyItem): string {
  const coins = `${row.paid.shown} BTC`;
  switch (row.anomalyType) {
    case "LATE_PAYMENT":
      return `The ${coins} that came too late stay in your wallet. The payment stays closed: the order is not paid by them, and the customer gets nothing back.`;
    case "EXTRA_PAYMENT":
      return `The ${coins} that came on top stay in your wallet. The payment stays paid, and the customer gets nothing back.`;
    case "OVERPAYMENT":
      return `The ${coins} that were too much stay in your wallet. The payment stays as it is, and the customer gets nothing back.`;
    case "UNDERPAYMENT":
      return `The ${coins} that came stay in your wallet, although they were too few. The payment stays invalid: the order is not paid, and the customer gets nothing back.`;
    case "REVERSED_PAYMENT":
      return `The ${coins} are gone: the Bitcoin network took them back, and they are not in your wallet. Dismissing brings nothing back. The payment stays invalid, and what you delivered for it is not paid.`;
  }
}
