// The warnings about the gateway and its machine, by their codes.
import { plural } from "../format";
import type { Catalogue } from "./catalogue";

export const STATUS = {
  CATCHING_UP: (v) =>
    `the gateway catches up with the chain: block ${v.seenHeight} of ${v.tipHeight} (${v.fromHeight} %)`,
  FIRST_LOOK: () => "the first look at the chain since the start has not ended",
  GIVEN_UP: (v) =>
    plural(Number(v.count), [
      "# notification was given up after three days of attempts",
      "# notifications were given up after three days of attempts",
    ]),
  KEY_UNREAD: (v) => `notifications wait, because their HMAC key cannot be read: ${v._0}`,
  LAST_GOOD_AT: (v) => `the last good backup is of ${v.at}`,
  LAST_GOOD_NONE: () => "there is no good backup yet",
  LOOK_WARNING_BEGUN_ANEW: (v) =>
    `since ${v.at} the backend shows another chain than before, or an older copy of it: it was scanned from the wallet's birth on, and payments become INVALID if their transactions stay missing`,
  LOOK_WARNING_IS_AHEAD: (v) =>
    `this machine's clock is ${v.minutes} minutes ahead of the servers that tell exchange rates: set it right; payments are closed by those servers' time meanwhile`,
  LOOK_WARNING_IS_BEHIND: (v) =>
    `this machine's clock is behind the times of blocks or servers by ${v.minutes} minutes or more: set it right, or payments are closed too late`,
  LOOK_WARNING_MAY_BE_AHEAD: (v) =>
    `the best block is ${v.minutes} minutes old by this machine's clock, and no recent block was seen since the gateway started or the machine woke: if the clock is ahead, set it right; until a recent block comes, a payment is closed only once a block is later than its deadline, or a day after the deadline`,
  LOOK_WARNING_STORED_AHEAD: (v) =>
    `the database holds times up to ${v.until}, which are in the future: this machine's clock was ahead before the gateway started, or is behind now; set it right if it is wrong; payments with future times stay open until the deadline that customers were told; offers with future times have expired; payouts with future approvals are sent as soon as possible, and count in the daily limit until the day of their approval is over`,
  NIGHTLY_FAULT_FAILED: (v) =>
    `the last backup to the folder of nightly backups failed, and is tried again in an hour: ${v.why} (${v.lastGood})`,
  NIGHTLY_FAULT_LATE: (v) =>
    `no backup was made last night: ${v.lastGood}; nightly backups need a running Tillgate`,
  NIGHTLY_FAULT_NO_PASSPHRASE: () => "no nightly backup is made, because no passphrase is set",
  NOTHING_FOUND: () =>
    "no transaction of the restored wallet was found. If it ever received coins, check four things: another address type than bip84 and bip86, which were both looked at; a passphrase (25th word), which is not supported; words of another program, like Electrum; and a birthday that is too late",
  RESERVE_FREED: (v) =>
    `the disk was full, and the reserve of ${v.reserve} was freed for acts of staff: make room for a new reserve`,
  STAFF_WARNING_DECIDED_ANOMALY_CHANGED: (v) =>
    `the coins of anomaly ${v.anomalyId} of payment ${v.paymentId} changed after you decided on it`,
  STAFF_WARNING_DOUBLE_SPEND_ATTEMPT: (v) =>
    `another transaction tries to spend the coins of transaction ${v.txid}, which pays confirmed payment ${v.paymentId}`,
  STAFF_WARNING_FAILED_PAYOUT_WAS_SENT: (v) =>
    `payout ${v.payoutId} had FAILED, but was sent after all: if you paid it in another way meanwhile, it is paid twice`,
  STAFF_WARNING_PAYOUT_PAID_TWICE: (v) =>
    `payout ${v.payoutId} was paid twice, and at least one of the transactions was made by another installation: if that is another copy of this wallet, stop it, and ask the payee to return one of the two`,
  STAFF_WARNING_PAYOUT_SENT_BY_COPY: (v) =>
    `payout ${v.payoutId} was sent by another copy of this wallet: if that copy still runs, stop it; if it paid something else, request the payout again`,
  STAFF_WARNING_TOO_LONG: (v) =>
    `the Bitcoin backend does not report all transactions of the restored wallet's address of index ${v.index}, because they are too many: its coins may be missing; a node of your own reports all of them, and the wallet can then be restored again`,
  STAFF_WARNING_TWIN_WALLET: (v) =>
    `transaction ${v.txid} was not made here, but spends coins of this wallet or pays to an address that was never given: another copy of the wallet is in use; no payout is sent until you let payouts go on`,
  STANDS_STILL_BLOCKS_ONLY: () =>
    "the Bitcoin node relays no transactions: a payment is seen once a block holds it, and none is accepted unconfirmed; start the node without -blocksonly",
  STANDS_STILL_NO_CONNECTIONS: () =>
    "the Bitcoin node has no connections to other nodes, so it hears of no payments: check the node's internet connection, and its options connect and proxy; until then a payment closes only a day after its deadline",
  STANDS_STILL_OLD_BLOCK: (v) =>
    `the backend's best block is ${v.minutes} minutes old, so the backend may not hear of payments: check the internet connection of your node, or set another server; check this machine's clock too; until then a payment closes only a day after its deadline`,
  STANDS_STILL_SWITCHED_OFF: () =>
    "the network of the Bitcoin node is switched off, so it hears of no payments: switch it on with `bitcoin-cli setnetworkactive true`; until then a payment closes only a day after its deadline",
  UNREPORTED_MANY: (v) =>
    `the server does not report the transactions of the addresses of payments ${v.named} and ${v.more} more, because they are too many: their coins are not seen, and their deadline closes nothing; set another server, or use a node of your own`,
  UNREPORTED_ONE: (v) =>
    `the server does not report the transactions of the address of payment ${v._0}, because they are too many: its coins are not seen, and its deadline closes nothing; set another server, or use a node of your own`,
  UNREPORTED_SEVERAL: (v) =>
    `the server does not report the transactions of the addresses of payments ${v._0}, because they are too many: their coins are not seen, and their deadline closes nothing; set another server, or use a node of your own`,
} satisfies Partial<Catalogue>;
