// The reasons why payouts wait, failed or do not arrive, by their codes.
import { plural } from "../format";
import type { Catalogue } from "./catalogue";

export const WAITS = {
  BAD_PAYEE_DUST: (v) =>
    `${v.amountSats} satoshis to ${v.script} are dust: nodes relay ${v.leastSats} or more`,
  BAD_PAYEE_NOBODY: () => "a transaction without a payee was requested",
  BAD_PAYEE_SCRIPT: (v) => `the script ${v._0} is not of a type that can be paid`,
  BAD_PAYEE_TOO_MUCH: () => "the amounts come to more than 21 million bitcoin",
  PAID_TO_AND: (v) => `${v.before}, ${v.next}`,
  PAID_TO_MORE: (v) => `${v.before}, …`,
  PAID_TO_ONE: (v) => `${v.amount} BTC (${v.payee})`,
  SIGN_INPUT: (v) => `input ${v._0} cannot be signed: the transaction does not fit its coins`,
  SIGN_WRONG_WORDS: () =>
    "the words in the secret store are not those of this wallet: its descriptors in the database come from other words. Put the words of this wallet back, from your backup",
  BACKEND_REFUSAL_NAMES_FEE: (v) =>
    `the Bitcoin backend refused it: ${v.words}. It names a fee of ${v.fee} BTC`,
  BACKEND_REFUSAL_REFUSED: (v) => `the Bitcoin backend refused it: ${v.words}`,
  BACKEND_REFUSAL_RULED_OUT: () =>
    "the Bitcoin backend refused it, because a block holds another transaction that spends its coins",
  COPY_IN_USE_GAVE_ADDRESS: (v) =>
    `another copy of this wallet is in use: it gave a customer the address of index ${v.index}, to which transaction ${v.txid} of ${v.at} pays ${v.amount} BTC`,
  COPY_IN_USE_PAID: (v) =>
    `another copy of this wallet is in use: it made transaction ${v.txid} of ${v.at}, which pays ${v.paid}`,
  COPY_IN_USE_PAID_CHANGE: (v) =>
    `another copy of this wallet may be in use: transaction ${v.txid} of ${v.at} pays ${v.amount} BTC to the change address of index ${v.index}, which this copy has not used`,
  COPY_IN_USE_PAID_ITSELF: (v) =>
    `another copy of this wallet is in use: it made transaction ${v.txid} of ${v.at}, which pays this wallet alone`,
  DRAFT_FEE_RATE: (v) => `a fee rate of ${v._0} sat/vB is far above any real rate: check it`,
  DRAFT_NOT_ENOUGH: (v) =>
    `the coins that can be spent now come to ${v.availableSats} BTC, and ${v.neededSats} BTC are needed with the fee`,
  DRAFT_TOO_HEAVY: () => "one transaction cannot spend so many small coins: the payout is too large for it",
  DRAFT_TWICE: (v) => `the coin ${v._0} is to be spent twice by one transaction`,
  DRAFT_WAITS_FOR_BLOCK: () => "earlier payouts wait for a block; this one follows them",
  FAILURE_REASON_BLOCK: () => "it could not be sent in time: earlier payouts waited for a block",
  FAILURE_REASON_CANCELLED: () => "it was cancelled by staff",
  FAILURE_REASON_COINS: () => "it could not be sent in time: there were not enough coins",
  FAILURE_REASON_FEES: () => "it could not be sent in time: the fees of the network were above the cap",
  FAILURE_REASON_GIVEN_UP: () => "it was cancelled, and the coins went back to the wallet",
  FAILURE_REASON_KEYRING: () => "it could not be sent in time: the keyring was locked or missing",
  FAILURE_REASON_OTHER: () => "it could not be sent in time: its transaction could not be made",
  FAILURE_REASON_REJECTED: () => "it was rejected by staff",
  FAILURE_REASON_REJECTED_FOR: (v) => `it was rejected by staff: “${v.reason}”`,
  FAILURE_REASON_RULED_OUT: () =>
    "another transaction spent its coins and has 6 confirmations: nothing was sent to the address",
  FAILURE_REASON_SMALL_COINS: () =>
    "it could not be sent in time: it needs more coins than one transaction can spend",
  FAILURE_REASON_WITHDRAWN: () => "it was withdrawn by staff",
  FAILURE_REASON_WITHDRAWN_FOR: (v) => `it was withdrawn by staff: “${v.reason}”`,
  HELD_AFTER_SCAN_AFTER_BACKUP: (v) =>
    plural(Number(v.count), [
      "# transaction was made after this backup",
      "# transactions were made after this backup",
    ]),
  HELD_AFTER_SCAN_FOUND: (v) =>
    plural(Number(v.count), [
      "the wallet was restored from its words, and the chain holds # transaction of this wallet",
      "the wallet was restored from its words, and the chain holds # transactions of this wallet",
    ]),
  HELD_AFTER_SCAN_MISSING: (v) =>
    `${plural(Number(v.count), ["# payout is signed", "# payouts are signed"])}, and neither in a block nor in the mempool; the same transaction is broadcast again (${v.ids})`,
  HELD_AFTER_SCAN_NONE_AFTER_BACKUP: () =>
    "the wallet was restored from a backup, and the look found no transaction that was made after it; the last ones may not be in a block yet, so wait for a few blocks first",
  HELD_AFTER_SCAN_OF_WORDS: () => "the wallet was restored from its words",
  HELD_AFTER_SCAN_PAYMENTS: (v) =>
    plural(Number(v.count), [
      "# payment came to addresses that this copy does not know",
      "# payments came to addresses that this copy does not know",
    ]),
  HELD_AFTER_SCAN_REFUNDABLE: (v) =>
    plural(Number(v.count), [
      "# anomaly is open here that the other copy may have refunded: compare before you refund",
      "# anomalies are open here that the other copy may have refunded: compare before you refund",
    ]),
  HIGH_FEE_ABOVE_AMOUNT: () =>
    "the network's fee is more than the amount itself: pay more in one payout, or wait until fees have fallen",
  HIGH_FEE_ABOVE_TENTH: () =>
    "the network's fee is more than a tenth of the amount: pay more in one payout, or wait until fees have fallen",
  HOLD_REASON_BOTH: (v) => `${v.first}; ${v.next}`,
  HOLD_REASON_OTHERS: (v) => `${v.first}; others; and ${v.last}`,
  HOLD_REASON_RESTORED: () =>
    "this copy of the wallet was restored, and has not looked through the whole chain yet for transactions of another copy; payouts go on by themselves after that",
  HOLD_REASON_STOPPED: () =>
    "this copy of the wallet was restored, and its look through the chain for transactions of another copy was stopped before its end",
  NOT_REPLACEABLE_CHANGE_GIVEN_UP: () =>
    "a payout whose transaction spends its change is being cancelled: wait until a block holds that transaction or its replacement, or cancel this payout as well",
  NOT_REPLACEABLE_CONFIRMED: () => "its transaction is in a block",
  NOT_REPLACEABLE_GIVEN_UP: () => "it is being cancelled already",
  NOT_REPLACEABLE_GIVEN_UP_WITH: () =>
    "its transaction spends the change of a payout that is being cancelled, and it is cancelled too",
  NOT_REPLACEABLE_NOTHING_STORED: () => "no transaction was signed for it yet",
  NOT_REPLACEABLE_NOT_APPROVED: () => "it was never approved",
  NOT_REPLACEABLE_OVER: () => "nothing more will be sent",
  NOT_REPLACEABLE_PAID_OTHERWISE: () =>
    "another copy of this wallet pays a payout of this transaction, or of an unconfirmed transaction before it: cancel this payout, then request the unpaid payouts again",
  NOT_REPLACEABLE_RULED_OUT: () =>
    "a block holds another transaction that spends its coins: no replacement can be mined",
  NOT_REPLACEABLE_SENT_ELSEWHERE: () => "it was paid by a transaction that was not made here",
  NOT_WAITING_EXPIRED: () => "its offer is over: request it again",
  NOT_WAITING_FAILED: () => "nothing more will be sent: request it again",
  NOT_WAITING_NOT_APPROVED: () => "it waits for approval: approve it first",
  NOT_WAITING_SENT: () => "it was sent already: raise the fee of its transaction",
  NOT_WAITING_SIGNED: () => "its transaction is signed already: raise the fee of that transaction",
  STUCK_PAYS_CANCELLED: () => "It is being cancelled",
  STUCK_PAYS_LESS: (v) => `It pays ${v.rate} sat/vB; the present fee rate is ${v.wanted} sat/vB`,
  STUCK_PAYS_NO_FEE_HELPS: () =>
    "No higher fee helps: too many unconfirmed transactions belong to it, and a block must hold some of them first",
  STUCK_PAYS_RATE: (v) => `It pays ${v.rate} sat/vB`,
  STUCK_SENTENCE_REFUSED: (v) =>
    `the Bitcoin backend refused the transaction of payout ${v.id} of ${v.amount} BTC to ${v.address}: ${v.words}. It is offered again after each block. ${v.pays}`,
  STUCK_SENTENCE_RULED_OUT: (v) =>
    `payout ${v.id} of ${v.amount} BTC to ${v.address} can never arrive: block ${v.height} holds another transaction that spends its coins. The payout fails once that block has ${v.finalConfirmations} confirmations; then request a new payout`,
  STUCK_SENTENCE_SPENT: (v) =>
    `the Bitcoin backend refused the transaction of payout ${v.id} of ${v.amount} BTC to ${v.address}, because another transaction spends its coins. It is offered again after each block. ${v.pays}`,
  STUCK_SENTENCE_UNCONFIRMED: (v) =>
    `payout ${v.id} of ${v.amount} BTC to ${v.address} was sent ${plural(Number(v.hours), ["# hour", "# hours"])} ago and is in no block. ${v.pays}`,
  STUCK_SENTENCE_UNSEEN: (v) =>
    `the Bitcoin backend took the transaction of payout ${v.id} of ${v.amount} BTC to ${v.address} at ${v.at}, and its mempool does not show it. It is offered again after each block. A node with -privatebroadcast shows it once another node sends it back. ${v.pays}`,
  WAITS_ALL_NEED: (v) =>
    `the coins that can be spent now come to ${v.spendable} BTC, and the approved payouts that wait need ${v.needed} BTC with the fee`,
  WAITS_COINS_CHANGED: () => "coins changed during signing; a new transaction is made",
  WAITS_COPY_PAYS: (v) =>
    `another copy of this wallet made transaction ${v.txid} (noticed ${v.noticedAt}), which pays ${v.amount} BTC to ${v.address} and is in no block: the payout waits until a block holds that transaction or rules it out`,
  WAITS_FEES_ABOVE_CAP: (v) => `the network asks for ${v.estimate} sat/vB now; payouts pay ${v.cap} at most`,
  WAITS_GIVEN_UP: () =>
    "it is being cancelled: after 6 blocks, in about an hour, it has failed, or it was sent after all",
  WAITS_HELD: (v) => `payouts are on hold: ${v._0}`,
  WAITS_LOCKED_IN_SANDBOX: () => "the keyring is locked, as a fault that was set in the sandbox",
  WAITS_LOOKED_TOO_LONG_AGO: () =>
    "signing took so long that the chain may have changed; the transaction is made again",
  WAITS_NOT_COVERED: () =>
    "the Bitcoin backend has not reported the state of all coins yet; it is asked again",
  WAITS_NOT_PASSED: (v) => `a signed transaction did not pass its check: “${v._0}”`,
  WAITS_NOT_WATCHED: (v) => `the chain is not watched: ${v._0}`,
  WAITS_NO_GATEWAY: () => "no gateway is running",
  WAITS_NO_NODE: () =>
    "it is signed, but no node has accepted it yet: it is broadcast again after each block",
  WAITS_NO_PAYOUT: () => "no payout waits for a transaction any more",
  WAITS_NO_WALLET: () => "the wallet is not set up",
  WAITS_NO_WORDS: (v) => `the wallet's words are not in ${v.place}`,
  WAITS_OTHER_COPY: () =>
    "it is not broadcast, because another copy of this wallet pays it, or pays a payout of the same or an earlier transaction",
  WAITS_REPLACING_COSTS: (v) =>
    `another copy of this wallet pays this payout, and replacing its transaction costs ${v.feeSats} satoshis, more than the payout: it waits for the end of that transaction`,
  WAITS_THIS_NEEDS: (v) =>
    `the coins that can be spent now come to ${v.spendable} BTC, and this payout needs ${v.needed} BTC with the fee`,
  WAITS_TURN: (v) => `it is sent at about ${v.at}`,
} satisfies Partial<Catalogue>;
