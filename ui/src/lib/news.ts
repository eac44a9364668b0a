// The words of events, and the notifications of the desktop that tell of them.
import { cut } from "./attention";
import type { NewsEvent, NewsItem, NewsKind, NewsOrder } from "./bindings";
import { plain, plural } from "./format";
import { hrefOf, type Route } from "./state/route.svelte";
import { btc } from "./state/unit.svelte";
import { money } from "./language/money";
import { TAKING_BACK } from "./words";
import { nameOf, type Environment } from "./state/environment.svelte";

/** An event in words. */
export interface Words {
  /** The event in a few words. */
  title: string;
  /** A sentence on what it concerns. */
  body: string;
}

/** A notification of the desktop. A click on it shows the screen. */
export type Note = Words & { screen: string };

/** An event in the person's language. */
export function wordsOf(event: NewsEvent): Words {
  switch (event.event) {
    case "paid":
      return arrival(event);
    case "attacked":
      return attack(event);
    case "withdrawn":
      return {
        title: `${money(event.order.price)} withdrawn by the customer`,
        body: `The coins for ${orderOf(event.order)} were withdrawn before a block held them.`,
      };
    case "reversed":
      return {
        title: `A payment of ${money(event.order.price)} was reversed`,
        body: `The coins for ${orderOf(event.order)} were taken back.`,
      };
    case "anomaly":
      return {
        title: event.open
          ? `${money(event.worth)} needs a decision`
          : `${money(event.worth)} needed a decision`,
        body: misfit(event),
      };
    case "answered": {
      const given = `The customer gave it for ${orderOf(event.order)}.`;
      return {
        title: `An address for the refund of ${money(event.order.price)}`,
        body: event.open ? `${given} Open Tillgate to send the refund.` : given,
      };
    }
    case "failed":
      return {
        title: `A payout of ${money(event.worth)} failed`,
        body: `Nothing more is sent to ${event.address}. Open Tillgate to see why.`,
      };
    case "requested": {
      const asked = `It is ${btc(event.amount)} to ${event.address}.`;
      return {
        title: `${event.by} asks for a payout of ${money(event.worth)}`,
        body: event.open ? `${asked} Open Tillgate to approve or reject it.` : asked,
      };
    }
    case "approved":
      return {
        title: `A payout of ${money(event.worth)} was approved by an API key`,
        body: `${event.by} approved ${btc(event.amount)} to ${event.address}. If that was wrong, open Tillgate and cancel the payout.`,
      };
    case "server":
      return {
        title: `${plain(event.host)} takes no notifications`,
        body: `${plural(event.notifications, ["# notification waits", "# notifications wait"])}. Tillgate tries again by itself.`,
      };
  }
}

type Attack = Extract<NewsEvent, { event: "attacked" }>;

/** An attack on a confirmed payment, true at the time of reading. */
function attack({ order, state, stop }: Attack): Words {
  if (stop) {
    return {
      title: TAKING_BACK,
      body: `Another transaction spends the ${money(order.price)} for ${orderOf(order)}. Hand over nothing.`,
    };
  }
  return state === "CONFIRMED"
    ? {
        title: `${money(order.price)} is paid again`,
        body: `No other transaction spends the coins for ${orderOf(order)} any more.`,
      }
    : {
        title: `The customer took ${money(order.price)} back`,
        body: `Another transaction spent the coins for ${orderOf(order)}.`,
      };
}

type Arrival = Extract<NewsEvent, { event: "paid" }>;
type Misfit = Extract<NewsEvent, { event: "anomaly" }>;

/** A payment's name within a sentence: the number of its sale, the shop's own reference in quotes, or the price. */
function orderOf({ price, reference, saleNumber }: NewsOrder): string {
  if (saleNumber !== null) return `sale ${saleNumber} (${money(price)})`;
  return reference ? `order “${cut(reference)}”` : `the payment of ${money(price)}`;
}

/** Coins that came for an order, true at the time of reading. */
function arrival({ order, state, stop }: Arrival): Words {
  if (stop) return { title: sentOnly(order), body: `The coins for ${orderOf(order)} are being taken back.` };
  const title = state === "UNCONFIRMED" ? sentOnly(order) : `${money(order.price)} received`;
  return { title, body: became(order, state) };
}

const sentOnly = ({ price }: NewsOrder) => `${money(price)} sent, not confirmed yet`;

/** A sentence on the payment of coins that came. */
function became(order: NewsOrder, state: Arrival["state"]): string {
  switch (state) {
    case "CONFIRMED":
      return `Paid: ${orderOf(order)}.`;
    case "UNCONFIRMED":
      return `The coins for ${orderOf(order)} have come, and wait for confirmations.`;
    case "NEW":
    case "UNDERPAID":
    case "EXPIRED":
      return `Not paid any more: ${orderOf(order)}.`;
    case "INVALID":
      return `The coins for ${orderOf(order)} have come, but the payment is invalid.`;
  }
}

function misfit({ order, anomalyType, cameInTime }: Misfit): string {
  switch (anomalyType) {
    case "LATE_PAYMENT":
      return cameInTime
        ? `Coins for ${orderOf(order)} arrived in time, but were seen too late.`
        : `Coins for ${orderOf(order)} came after the payment had closed.`;
    case "EXTRA_PAYMENT":
      return `More coins came for ${orderOf(order)}, which was paid already.`;
    case "OVERPAYMENT":
      return `The customer paid too much for ${orderOf(order)}.`;
    case "UNDERPAYMENT":
      return `Too little came for ${orderOf(order)} before the payment closed.`;
    case "REVERSED_PAYMENT":
      return `The coins for ${orderOf(order)} were taken back.`;
  }
}

/** The screen about an event. */
export function screenOf({ kind, paymentId, payoutId }: NewsItem): Route {
  if (payoutId) return { screen: "payout", id: payoutId };
  if (paymentId) return { screen: "payment", id: paymentId };
  return listOf(kind);
}

/** The screen about many events of one kind. */
function listOf(kind: NewsKind): Route {
  switch (kind) {
    case "paid":
      return { screen: "payments" };
    case "reversed":
    case "attention":
      return { screen: "anomalies" };
    case "payout":
      return { screen: "payouts" };
    case "shop":
      return { screen: "home" };
  }
}

/** New events, as the desktop program passes them. */
export interface Told {
  environment: Environment;
  news: NewsItem[];
  /** Nightly backups have begun to fail. */
  noBackup: boolean;
}

/** The most events of one kind that are notified one by one. Of more at once, one notification shows the number. */
const TOLD_EACH = 3;

const KINDS: readonly NewsKind[] = ["paid", "reversed", "attention", "payout", "shop"];

/** The notifications of new events. Each begins with its environment. */
export function notesOf({ environment, news, noBackup }: Told): Note[] {
  const notes = KINDS.flatMap((kind) =>
    notesOfKind(
      news.filter((one) => one.kind === kind),
      kind,
    ),
  );
  if (noBackup) {
    const body = "Open the page “Wallet” to see why.";
    notes.push({ title: "No nightly backup is made", body, screen: screenName({ screen: "wallet" }) });
  }
  return notes.map((note) => ({ ...note, title: `${nameOf(environment)}: ${note.title}` }));
}

function notesOfKind(news: NewsItem[], kind: NewsKind): Note[] {
  if (news.length <= TOLD_EACH) {
    return news.map((one) => ({ ...wordsOf(one.event), screen: screenName(screenOf(one)) }));
  }
  // Approvals are counted apart, so that many requests cannot hide one.
  const approvals = news.filter((one) => one.event.event === "approved").length;
  const others = news.length - approvals;
  const titles: string[] = [];
  if (approvals > 0) titles.push(`API keys approved ${plural(approvals, ["# payout", "# payouts"])}`);
  if (others > 0) titles.push(many(kind, others));
  const body = "Open Tillgate to see them.";
  return titles.map((title) => ({ title, body, screen: screenName(listOf(kind)) }));
}

function many(kind: NewsKind, count: number): string {
  switch (kind) {
    case "paid":
      return plural(count, ["# payment is paid", "# payments are paid"]);
    case "reversed":
      return plural(count, ["# payment was reversed", "# payments were reversed"]);
    case "attention":
      return plural(count, ["# payment needs a decision", "# payments need a decision"]);
    case "payout":
      return `API keys asked for ${plural(count, ["# payout", "# payouts"])}`;
    case "shop":
      return plural(count, ["# server takes no notifications", "# servers take no notifications"]);
  }
}

/** A screen as the desktop program names it: `payment/` and an id. */
const screenName = (route: Route) => hrefOf(route).replace(/^#\/(test|production)\//, "");
