// Refusals of payouts, by their codes.
import type { Catalogue } from "./catalogue";

export const PAYOUTS = {
  ADDRESS_REFUSAL_BECH32M_INSTEAD_OF_BECH32: () =>
    "has the checksum of another kind of address (Bech32m instead of Bech32): ask the recipient for a new one",
  ADDRESS_REFUSAL_BECH32_INSTEAD_OF_BECH32M: () =>
    "has the checksum of another kind of address (Bech32 instead of Bech32m): ask the recipient for a new one",
  ADDRESS_REFUSAL_BLANKS: () => "may hold no blanks: give the address alone, without spaces and line breaks",
  ADDRESS_REFUSAL_CHECKSUM: () => "has a typing error (its checksum does not fit): copy the address anew",
  ADDRESS_REFUSAL_EMPTY: () => "is empty: give the Bitcoin address to pay",
  ADDRESS_REFUSAL_LIGHTNING: () =>
    "is of the Lightning network, which this gateway does not pay: give a Bitcoin address",
  ADDRESS_REFUSAL_MIXED_CASE: () =>
    "mixes capitals with small letters: copy the address anew, because a letter may be wrong",
  ADDRESS_REFUSAL_NO_ADDRESS: (v) => `must be a Bitcoin address like ${v._0}`,
  ADDRESS_REFUSAL_OFF_THE_CURVE: () =>
    "is a Taproot address whose key is no point of the curve, so that nobody can spend it: ask for a new one",
  ADDRESS_REFUSAL_OTHER_NETWORK: (v) =>
    `is an address of ${v.found}; payouts go to addresses like ${v.wanted} here: ask the recipient for one`,
  ADDRESS_REFUSAL_PAY_TO_ANCHOR: () =>
    "is pay-to-anchor, which anybody can spend: ask the recipient for an address of their own",
  ADDRESS_REFUSAL_URI: () =>
    "is a bitcoin: URI: give the address alone, without bitcoin: and without what follows a question mark",
  ADDRESS_REFUSAL_WITNESS_PROGRAM: () =>
    "has a witness program of a length that its version does not have: ask the recipient for a new address",
  ADDRESS_REFUSAL_WITNESS_VERSION: (v) =>
    `has witness version ${v._0}, which nobody can spend safely yet: ask the recipient for another kind of address`,
  APPROVE_LIMIT: () => "the payout is beyond the limits of payouts",
  APPROVE_NOT_PENDING: (v) => `this payout is ${v._0} and waits for no approval`,
  APPROVE_NO_SUCH_PAYOUT: (v) => `there is no payout ${v._0}`,
  APPROVE_OFFER_EXPIRED: () =>
    "the offer has expired: ask for a new payout, at the rate of that moment, with a new Idempotency-Key if the request had one",
  APPROVE_OFFER_REJECTED: (v) =>
    `the offer has ended (${v._0}): ask staff before you request the payout again`,
  APPROVE_PAID_BEFORE: (v) =>
    `another copy of this wallet paid ${v.amountSats} BTC to ${v.address}, in transaction ${v.txid}, which was not known at the request: reject this offer, and ask again only if that was for something else`,
  APPROVE_REFUNDED_BEFORE: () =>
    "an earlier refund sent these coins back after all: reject this offer, and dismiss the anomaly",
  APPROVE_REFUND_COINS_GONE: () =>
    "the coins that this payout would send back are gone, or have too few confirmations again: approve it later; once the offer has lapsed the anomaly is open again",
  DRAFT_GONE: () =>
    "these words are no longer kept: they were used, replaced by others, or shown more than 15 minutes ago; begin again, and write down the new ones",
  DRAFT_WRONG: (v) => `word ${v._0} does not match: look at what you wrote down`,
  FOUND_NETWORK_MAIN: () => "Bitcoin's main network",
  FOUND_NETWORK_REGTEST: () => "the regtest network",
  FOUND_NETWORK_TEST: () => "a test network",
  LIMIT_INVALID: () => "the request is not valid",
  LIMIT_REFUSAL_ABOVE_DAILY_LIMIT: (v) =>
    `Payout above daily limit: ${v.availableSats} BTC are left of it until ${v.until}. Ask for less, wait, or have the limit raised`,
  LIMIT_REFUSAL_BELOW_MINIMUM: (v) =>
    `Payout below minimum: a payout is ${v.minimumSats} BTC at least. Ask for more`,
  LIMIT_REFUSAL_DUST: (v) =>
    `Refund is dust: the network relays no output below ${v.dustSats} BTC to this address. Dismiss the anomaly`,
  NAMED_RATE_NOT_WAITING: (v) => `the payout is ${v._0}: ${v._1}`,
  NAMED_RATE_OBSTACLE: (v) => `the payout cannot be sent now: ${v._0}`,
  OFFER_INVALID: () => "the request is not valid",
  OFFER_KEY_REUSED: () => "this Idempotency-Key was used with another request",
  OFFER_PAID_BEFORE: (v) =>
    `another copy of this wallet paid ${v.amountSats} BTC to ${v.address}, in transaction ${v.txid}: ask again only if that was for something else`,
  OFFER_TOO_LARGE: (v) => `must be worth at most ${v.value0} BTC: ask for less`,
  REJECT_NOT_PENDING: (v) => `this payout is ${v._0}: only an offer that waits for approval can be rejected`,
  REJECT_NO_SUCH_PAYOUT: (v) => `there is no payout ${v._0}`,
  REJECT_REASON: (v) => `a reason has at most ${v.reasonMax} characters, without line breaks`,
  RELEASE_ANOTHER: (v) =>
    `the sender now holds for another reason: ${v._0}; read it, then release the sender again`,
  RELEASE_NOT_LOOKED: (v) => `the sender cannot be released: ${v._0}`,
  RELEASE_TWIN_WAITS: (v) =>
    `transaction ${v._0}, made by another copy of this wallet, is in the mempool: wait until a block holds it, or until it drops out`,
  REPLACE_ABOVE_AGREED: (v) =>
    `the fee is now ${v.feeSats} BTC, more than the ${v.agreedSats} BTC that were agreed to: check it again`,
  REPLACE_ABOVE_CAP: (v) =>
    `the replacement must pay ${v.needed} sat/vB, above the allowed maximum of ${v.cap} sat/vB: choose a rate of your own to pay it all the same`,
  REPLACE_ABOVE_PAYOUT: (v) =>
    `the fee would be ${v.feeSats} BTC, more than the ${v.paysSats} BTC that the transaction pays out`,
  REPLACE_HELD: (v) => `the sender is on hold: ${v._0}`,
  REPLACE_NOT_LOOKED: (v) => `the sender is on hold: ${v._0}`,
  REPLACE_NO_SUCH_PAYOUT: (v) => `there is no payout ${v._0}`,
  REPLACE_OBSTACLE: (v) => `the transaction cannot be replaced now: ${v._0}`,
  REPLACE_SHARED: (v) =>
    `${v._0} payouts share the transaction or spend its change, and all would be cancelled: ${v._0_2}`,
  REPLACE_STALE: () => "the payout changed meanwhile: look at it again",
  REPLACE_STATE: (v) => `the payout is ${v._0}: ${v._1}`,
  REPLACE_UNSEEN: (v) =>
    `nothing is signed until a look at the chain shows the payments of other copies of the wallet: ${v._0}`,
  SEND_INTERRUPTED: () => "the pass was interrupted",
} satisfies Partial<Catalogue>;
