// Refusals of payments, by their codes.
import type { Catalogue } from "./catalogue";

export const PAYMENTS = {
  ACCEPT_CHAIN_NOT_WATCHED: () =>
    "the chain has not been watched yet: check the Bitcoin backend and try again",
  ACCEPT_LESS: (v) =>
    `only ${v.would} BTC would be accepted now, less than the ${v.shown} BTC that you saw: look at the payment again`,
  ACCEPT_NO_SUCH_PAYMENT: (v) => `there is no payment ${v._0}`,
  ACCEPT_REFUSAL_NO_COINS: () => "this payment has no coins to accept",
  ACCEPT_REFUSAL_REFUNDING: () => "a refund of this payment's coins is under way",
  ACCEPT_REFUSAL_WRONG_STATE: () => "only an UNDERPAID, EXPIRED or INVALID payment can be accepted",
  CANCEL_COINS_SEEN: () =>
    "coins were seen for this payment: wait for its deadline, then decide on the coins",
  CANCEL_NOT_NEW: (v) => `this payment is ${v._0}: only a payment that is NEW can be cancelled`,
  CANCEL_NO_SUCH_PAYMENT: (v) => `there is no payment ${v._0}`,
  CANCEL_TIME_OVER: () =>
    "the time of this payment is over: it closes by itself once the chain shows that no coins came, a day after its deadline at the latest",
  CREATE_INVALID: () => "the request is not valid",
  CREATE_KEY_REUSED: () => "this Idempotency-Key was used with another request",
  KEY_BAD_NAME: () => "a key's name is 1 to 64 letters, digits or underscores",
  KEY_LIMIT_LISTS: (v) =>
    `too many long lists are being read (${v.listsOfKeyMax} for an API key, ${v.listsMax} in all): read one first`,
  KEY_LIMIT_OPEN_PAYMENTS: (v) =>
    `this API key has as many open payments as it may have (${v.most}): wait until one is paid or expires`,
  KEY_LIMIT_REQUESTS: (v) =>
    `this API key asks for payments, payouts and resends faster than it may (${v.perSecond} in a second): slow down`,
  KEY_NAME_TAKEN: (v) => `a live key is named ${v._0} already: revoke it first, or choose another name`,
  KEY_NO_SUCH_KEY: (v) => `no live key is named ${v._0}`,
  NOT_DAYS_COUNT: (v) =>
    `must hold the beginning of each day and the end of the last one, at most ${v.daysMax} days`,
  NOT_DAYS_ORDER: () => "must hold times that ascend",
  NOT_DAYS_WEEK: (v) => `must be from 1 to ${v.weekDays}, and at most the number of days`,
  NOT_FOUND_ALARM: (v) => `there is no alarm about payout ${v._0}`,
  NOT_FOUND_ANOMALY: (v) => `there is no anomaly ${v._0}`,
  NOT_FOUND_PAYMENT: (v) => `there is no payment ${v._0}`,
  NOT_FOUND_PAYOUT: (v) => `there is no payout ${v._0}`,
  NOT_FOUND_RECORD: (v) => `there is no delivery, payment, anomaly or payout ${v._0}`,
  NOT_HOSTS: (v) =>
    `must be at most ${v.hostsMax} hosts like shop.example or 192.0.2.1, each without scheme, port and path`,
  NOT_PERMISSIONS: () =>
    "permissions are shop, full, or a comma-separated list of payments.read, payments.create, payouts.read, payouts.create, payouts.approve",
  NOT_READY_NOT_DERIVED: () =>
    "it is not known yet whether the address is the wallet's own: try again in a minute",
  NOT_READY_NOT_LOOKED: () =>
    "the wallet was restored, and has not looked through the whole chain yet for transactions of another copy",
  NOT_READY_NOT_MADE: () => "the wallet is not set up",
  NOT_READY_SKIPPED: () =>
    "another copy of the wallet may have given the chosen address to a customer: repeat the request for a new address",
  NOT_WATCHED_NOT_STORED: (v) => `the state of the Bitcoin chain cannot be stored: ${v._0}`,
  NOT_WATCHED_SILENT: () =>
    "the Bitcoin chain was never synchronised, or has not been watched for 10 minutes",
  NO_ENTROPY: () => "the operating system gave no random bytes",
  PRICE_REFUSAL_TOO_FEW_SATS: (v) => `must be worth at least ${v.least} BTC`,
  PRICE_REFUSAL_TOO_LARGE: (v) => `must be worth at most ${v.most} BTC (about ${v.worth} ${v.code} now)`,
  PRICE_REFUSAL_TOO_MANY_SATS: (v) => `must be worth at most ${v.most} BTC`,
  PRICE_REFUSAL_TOO_SMALL: (v) => `must be worth at least ${v.least} BTC (about ${v.worth} ${v.code} now)`,
} satisfies Partial<Catalogue>;
