// Made from the Rust types by a test of the crate `tillgate-console`.

/**
 * The fee of abandoning a payout.
 */
export type AbandonEstimateView = { 
/**
 * The fee of the replacement; absent if nothing was signed, because then no fee is due.
 */
fee: BtcView | null, 
/**
 * The fee's worth in the payout's currency, rounded up; absent without a rate.
 */
worth: FiatView | null, 
/**
 * All payouts that are abandoned together, including the one that was named.
 */
payouts: Array<SharingItem>, };

/**
 * Abandons a payout. If its transaction was signed, a replacement pays the coins back to this
 * wallet.
 */
export type AbandonPayout = { payoutId: string, 
/**
 * Whether payouts that share its transaction, or spend its change, may be abandoned with it.
 */
all: boolean, 
/**
 * The highest fee that a person agreed to, in satoshis; absent if no fee was shown.
 */
feeAtMostSats: number | null, };

/**
 * The result of abandoning a payout.
 */
export type AbandonedView = { 
/**
 * The transaction that pays the coins back to this wallet; absent if nothing was signed for
 * the payout.
 */
replacement: VersionItem | null, 
/**
 * The backend's refusal of the replacement; absent if the backend accepted it or did not
 * answer.
 */
refusal: RefusalView | null, 
/**
 * The quotes from which the exchange rate was computed; absent if they were not stored.
 */
certificate: CertificateView | null, notificationUrl: string | null, 
/**
 * The labels that staff imported for its address, its transactions and their outputs.
 */
labels: Array<string>, 
/**
 * The transactions signed for it, the oldest first.
 */
versions: Array<VersionItem>, 
/**
 * The other payouts that share its transaction.
 */
sharesWith: Array<SharingItem>, 
/**
 * Its history, the oldest step first.
 */
history: Array<StepItem>, 
/**
 * The attempts to send its notifications, newest first.
 */
deliveries: Array<DeliveryItem>, 
/**
 * Another payout to the same address: the newest QUEUED or SENT payout, otherwise the newest
 * offer. Present only while this payout is NEW.
 */
paidBefore: PaidBefore | null, 
/**
 * The newest OPEN anomaly of exactly this amount, because this payout may be meant as its
 * refund. Present only while this payout is NEW and not a refund.
 */
anomalyAlike: AnomalyAlike | null, 
/**
 * A warning that the network fee is more than a tenth of the amount; absent once a transaction
 * is signed.
 */
feeWarning: Telling | null, 
/**
 * The part of the daily limit that its approval would leave. Present only while it is NEW and
 * within the limit.
 */
limitLeftAfter: BtcView | null, 
/**
 * Whether the coins that its approval leaves would not pay the same fee once more. Then its
 * fee cannot be raised later. False unless it is NEW.
 */
takesAllCoins: boolean, 
/**
 * Whether it may be approved now.
 */
canApprove: Possible, 
/**
 * Whether staff may send it now at a fee rate of their own.
 */
canSend: Possible, 
/**
 * Whether its fee can be raised now.
 */
canBump: Possible, 
/**
 * Whether it can be abandoned now, together with the payouts that share its transaction.
 */
canAbandon: Possible, 
/**
 * 40 hexadecimal digits.
 */
payoutId: string, 
/**
 * NEW, QUEUED, SENT, EXPIRED or FAILED.
 */
state: PayoutState, 
/**
 * The recipient's address.
 */
address: string, 
/**
 * The recipient's amount.
 */
amount: BtcView, 
/**
 * The amount's worth.
 */
worth: FiatView, 
/**
 * The ISO code of the payout's currency.
 */
currency: string, 
/**
 * The network fee that the offer named.
 */
fee: BtcView, 
/**
 * The worth of `fee`: the difference of `total_worth` and `worth`. Absent in the answer of an
 * older gateway.
 */
feeWorth: FiatView | null, 
/**
 * The payout's share of the fee that was paid; absent until a transaction of this copy of the
 * wallet made it SENT.
 */
feePaid: BtcView | null, 
/**
 * The sum of `amount` and `fee`.
 */
total: BtcView, totalWorth: FiatView, 
/**
 * The payout's exchange rate, with 4 decimals.
 */
rate: string, 
/**
 * The exchange rate for people.
 */
rateShown: string, 
/**
 * The requester's note.
 */
comment: string | null, 
/**
 * The requester: an API key's name, `cli:…` or `panel:…`.
 */
requestedBy: string, 
/**
 * Whether an API key requested it, and not a person.
 */
requestedByShop: boolean, 
/**
 * The approver: an API key's name, `cli:…` or `panel:…`.
 */
approvedBy: string | null, 
/**
 * When it was requested, ISO 8601.
 */
creationTime: string, 
/**
 * When the offer expires, ISO 8601.
 */
expirationTime: string, 
/**
 * When it was approved, ISO 8601.
 */
approvalTime: string | null, 
/**
 * When it became SENT, ISO 8601.
 */
sentTime: string | null, 
/**
 * The id of the transaction that pays it.
 */
btcTxId: string | null, 
/**
 * Whether another copy of the wallet made that transaction.
 */
madeElsewhere: boolean, 
/**
 * The number of confirmations of that transaction.
 */
confirmations: number, 
/**
 * The reason why it FAILED, or why staff ended the offer.
 */
failureReason: Telling | null, 
/**
 * When it became FAILED, ISO 8601.
 */
failedTime: string | null, 
/**
 * Whether the coins were too few at the time of the request.
 */
balanceShort: boolean, 
/**
 * The id of the anomaly that it refunds.
 */
anomalyId: string | null, 
/**
 * Whether it was abandoned, and it is not decided yet whether it FAILED or was sent after all.
 */
beingGivenUp: boolean, 
/**
 * The reason why it waits, without a remedy. Absent unless it is QUEUED or `being_given_up`.
 */
waitsFor: Telling | null, 
/**
 * The kind of that reason.
 */
waitCause: WaitCause | null, 
/**
 * The reason why it is stuck; absent if it is not stuck.
 */
stuck: StuckItem | null, 
/**
 * The Payout record of `/v2`: JSON with exact numbers.
 */
record: string, };

/**
 * Accepts the coins that a payment received, as if they were in time and enough.
 */
export type AcceptPayment = { paymentId: string, 
/**
 * The sum that was shown to the person, in satoshis. If less would be accepted by now, the
 * command is refused.
 */
agreedSats: number | null, };

/**
 * The effect of accepting the coins that came for a payment.
 */
export type Acceptance = { 
/**
 * The sum of all coins that would count.
 */
coins: BtcView, 
/**
 * The worth of that sum at the payment's rate.
 */
worth: FiatView, price: FiatView, 
/**
 * The price minus the worth; absent if the worth is not less.
 */
short: FiatView | null, 
/**
 * The worth minus the price; absent unless the coins are too much.
 */
over: FiatView | null, 
/**
 * Whether the shop is notified of the acceptance; false if the payment has no
 * `notificationUrl`.
 */
notified: boolean, };

/**
 * An act of a person or an API key.
 */
export type ActItem = { 
/**
 * When it happened, ISO 8601 with milliseconds.
 */
time: string, 
/**
 * A person in the window (`panel:ann`) or at the command line (`cli:ann`), or an API key's name.
 */
actor: string, 
/**
 * The action, such as `keys revoke`.
 */
act: string, 
/**
 * Its object: an id, or the name of a setting or a key.
 */
subject: string, };

/**
 * Asks for the newest 20,000 acts as a table.
 */
export type ActsSheet = { 
/**
 * The locale whose spreadsheets read the table, such as `de-AT`; absent for plain CSV.
 */
locale: string | null, 
/**
 * The person or the API key, as in `ActItem::actor`.
 */
actor: string | null, 
/**
 * The first word of the act, such as `payouts`.
 */
about: string | null, 
/**
 * The beginning of the period, inclusive, in milliseconds since 1970.
 */
from: number | null, 
/**
 * The end of the period, exclusive, in milliseconds since 1970.
 */
to: number | null, };

export type ActsView = { items: Array<ActItem>, 
/**
 * The number of acts on all pages together.
 */
itemsCount: number, 
/**
 * Everybody who ever acted, as in `ActItem::actor`.
 */
actors: Array<string>, };

/**
 * An alarm about a payout.
 */
export type AlarmItem = { payoutId: string, 
/**
 * The event and the remedy, in a sentence.
 */
message: Telling, 
/**
 * The time of the event, ISO 8601.
 */
time: string, };

/**
 * The alarms that are not dismissed.
 */
export type AlarmsView = { 
/**
 * The oldest first.
 */
alarms: Array<AlarmItem>, };

/**
 * An OPEN anomaly of the same amount as a payout.
 */
export type AnomalyAlike = { anomalyId: string, paymentId: string, 
/**
 * The shop's own reference of the payment.
 */
merchantTransactionId: string, };

/**
 * An anomaly as lists and views show it.
 */
export type AnomalyItem = { anomalyId: string, paymentId: string, anomalyType: AnomalyKind, 
/**
 * The sum of the coins concerned.
 */
paid: BtcView, 
/**
 * Whether the coins of a late payment arrived in time and were seen too late.
 */
cameInTime: boolean, 
/**
 * The worth of that sum at the rate of `time`.
 */
worth: FiatView, 
/**
 * The worth of that sum at the present rate; absent without a fresh rate.
 */
worthToday: FiatView | null, 
/**
 * When the anomaly was raised, ISO 8601.
 */
time: string, 
/**
 * The event, in a sentence for people.
 */
message: string, 
/**
 * The state of the anomaly.
 */
resolution: Resolution, dismissalReason: string | null, 
/**
 * The transactions that hold its coins.
 */
btcTxIds: Array<string>, 
/**
 * The shop's own reference of its payment.
 */
merchantTransactionId: string, 
/**
 * The number of its payment's sale; absent unless the payment was made at the till.
 */
saleNumber: number | null, price: FiatView, 
/**
 * Whether the shop is notified of changes; false without an `anomalyNotificationUrl`.
 */
notified: boolean, 
/**
 * The effect of accepting the coins that came for its payment; absent if staff may not accept.
 */
acceptance: Acceptance | null, 
/**
 * The payout that refunds the coins, sent or not.
 */
payoutId: string | null, 
/**
 * The question to the customer; absent if staff did not ask.
 */
question: RefundQuestion | null, paymentPageUrl: string, };

/**
 * The kind of an anomaly.
 */
export type AnomalyKind = "LATE_PAYMENT" | "EXTRA_PAYMENT" | "OVERPAYMENT" | "UNDERPAYMENT" | "REVERSED_PAYMENT";

/**
 * The type of each command's answer.
 */
export type Answers = { status: StatusView, listPayments: PaymentsPage, paymentsSheet: PaymentsSheetPage, showPayment: PaymentView, createPayment: PaymentView, createSale: PaymentView, listWaitingSales: Array<PaymentItem>, listProducts: Array<ProductView>, saveProducts: Array<ProductView>, acceptPayment: PaymentView, cancelPayment: PaymentView, listAnomalies: Page<AnomalyItem>, showAnomaly: AnomalyItem, dismissAnomaly: AnomalyItem, askRefundAddress: AnomalyItem, refundAnomaly: PayoutView, listPayouts: Page<PayoutItem>, showPayout: PayoutView, requestPayout: PayoutView, estimatePayout: EstimateView, approvePayout: PayoutView, rejectPayout: PayoutView, sendPayout: SentAloneView, estimateSend: SendEstimateView, bumpPayout: BumpedView, estimateBump: BumpEstimateView, abandonPayout: AbandonedView, estimateAbandon: AbandonEstimateView, dismissAlarm: AlarmsView, releaseSender: SenderView, retrySender: SenderView, showTakings: TakingsView, showBooks: BooksView, booksSheet: Table, listNews: News, listActs: ActsView, actsSheet: Table, showLimits: LimitsView, setLimits: LimitsView, walletInfo: WalletInfoView, walletDescriptor: WalletDescriptorView, walletLabels: WalletLabelsView, importLabels: ImportedLabels, createWallet: NewWordsView, makeWallet: WalletDescriptorView, draftWallet: WalletDraftView, confirmWallet: WalletDescriptorView, discardDraft: DraftDiscardedView, restoreWallet: RestoredView, showRestore: RestoreShownView, stopRestore: RestoreView, continueRestore: RestoreView, verifyWords: WordsVerifiedView, statement: StatementView, statementSheet: StatementSheetPage, statementSums: StatementSumsView, showBackups: BackupsView, backUp: BackupItem, verifyBackup: VerifiedBackup, setBackupPassphrase: BackupsView, listDeliveries: Page<DeliveryItem>, resend: Resent, listKeys: Page<KeyItem>, createKey: NewKey, revokeKey: RevokedKey, rotateHmacKey: NewHmacKey, listSettings: Page<SettingItem>, getSetting: SettingItem, setSetting: SettingItem, unsetSetting: SettingItem, changeSettings: Page<SettingItem>, showSmallSales: SmallSalesView, setSmallSales: SmallSalesView, testBackend: BackendTestView, doctor: DoctorView, listReceived: ReceivedView, sandbox: SandboxAnswer, };

/**
 * Approves an offer. The sender then sends the payout.
 */
export type ApprovePayout = { payoutId: string, };

/**
 * Asks the customer on the payment page for the address of an anomaly's refund. A former answer is
 * forgotten.
 */
export type AskRefundAddress = { anomalyId: string, };

/**
 * Makes a backup while the gateway keeps running.
 */
export type BackUp = { 
/**
 * The absolute path of the new file. If absent, the backup is written to `backupFolder` and
 * counts as a nightly backup.
 */
file: string | null, 
/**
 * If absent, the stored key of the nightly backups is used.
 */
passphrase: Passphrase | null, 
/**
 * If a nightly backup that began at or after this time is complete, it is the answer, and no
 * other one is made. ISO 8601; without effect for a `file`.
 */
unlessSince?: string, };

/**
 * The chain backend.
 */
export type BackendItem = { kind: BackendKind, 
/**
 * The host of each server, with its port if the URL names one. The preferred server is first.
 * Empty for the sandbox.
 */
servers: Array<string>, 
/**
 * The host and port of the first node's ZMQ address; absent if the node is polled each second
 * instead.
 */
zmq: string | null, };

/**
 * The kind of the chain backend.
 */
export type BackendKind = "sandbox" | "core" | "electrum";

/**
 * The password of a backend: wiped when it is dropped, and never printed.
 */
export type BackendPassword = string;

/**
 * The result of testing all servers.
 */
export type BackendTestView = { 
/**
 * Whether all servers can be used.
 */
ok: boolean, 
/**
 * One item for each server, in the order of the URLs.
 */
servers: Array<ServerTestItem>, };

/**
 * A backup that this installation made.
 */
export type BackupItem = { 
/**
 * The file's path.
 */
file: string, 
/**
 * When the backup began, by the machine's clock, ISO 8601.
 */
madeAt: string, sizeBytes: number, 
/**
 * When the whole file was last read and checked, ISO 8601.
 */
checkedAt: string | null, };

/**
 * The state of the backups.
 */
export type BackupsView = { 
/**
 * The folder of nightly backups; absent if none are made.
 */
folder: string | null, 
/**
 * The number of nightly backups that are kept.
 */
keep: number, 
/**
 * When the present key of nightly backups was stored with the secrets, ISO 8601.
 */
passphraseSetAt: string | null, 
/**
 * The newest complete backup that this installation made, in any folder.
 */
last: BackupItem | null, 
/**
 * The nightly backups that are kept, the newest first.
 */
nightly: Array<BackupItem>, 
/**
 * The time of the next nightly backup, ISO 8601.
 */
nextAt: string | null, 
/**
 * The fault of the nightly backups, with the remedy at the command line.
 */
trouble: Telling | null, 
/**
 * The kind of the fault.
 */
troubleKind: WarningKind | null, 
/**
 * The smallest number of characters of a backup's passphrase.
 */
passphraseMin: number, 
/**
 * The facts that belong beside the words; absent without a wallet.
 */
sheet: SheetView | null, };

/**
 * Asks for the takings of consecutive periods as a table, with a line for each period and
 * currency.
 */
export type BooksSheet = { 
/**
 * The beginning of each period, the oldest first, and then the end of the last period, in
 * milliseconds since 1970.
 */
bounds: Array<number>, 
/**
 * The first day of each period, such as `2026-01-12`. The gateway knows no time zone.
 */
days: Array<string>, 
/**
 * The locale whose spreadsheets read the table, such as `de-AT`; absent for plain CSV.
 */
locale: string | null, };

export type BooksView = { 
/**
 * The currencies in which something was taken, the most payments first.
 */
currencies: Array<CurrencyBooks>, };

/**
 * An amount of Bitcoin.
 */
export type BtcView = { 
/**
 * Whole satoshis; negative for a difference.
 */
sats: number, 
/**
 * The amount in BTC for programs: `0.03444190`.
 */
text: string, 
/**
 * The amount in BTC for people, with thousands separators: `1,234.50000000`.
 */
shown: string, };

/**
 * The fee of a bump, computed with the present coins.
 */
export type BumpEstimateView = { 
/**
 * The fee of the transaction to replace.
 */
feeNow: BtcView, 
/**
 * The fee of the replacement.
 */
fee: BtcView, 
/**
 * The worth of `fee` in the payout's currency, rounded up; absent without a rate.
 */
worth: FiatView | null, 
/**
 * The rate of `fee` in satoshis per virtual byte, cut to 2 decimals.
 */
feeRate: string, 
/**
 * Whether `fee` is above the requested rate, because nodes would refuse a lower one.
 */
isLeast: boolean, 
/**
 * The setting `feeCapSatVb`: the highest rate of a bump that names no rate.
 */
cap: number, 
/**
 * Whether the rate of `fee` is above the cap.
 */
aboveCap: boolean, 
/**
 * The rate of `fee` in whole satoshis per virtual byte, rounded up. A bump above the cap must
 * name this rate.
 */
needed: number, 
/**
 * The sum that the transaction pays out.
 */
pays: BtcView, 
/**
 * Whether `fee` is higher than `pays`. The bump must then be forced.
 */
abovePays: boolean, };

/**
 * Replaces a payout's transaction by one with a higher fee. If its change is spent, the last
 * transaction of that chain of change is replaced instead.
 */
export type BumpPayout = { payoutId: string, 
/**
 * In whole satoshis per virtual byte; if absent, the backend's estimate is used.
 */
feeRate: number | null, 
/**
 * Whether the fee may exceed the sum that the transaction pays out.
 */
force: boolean, 
/**
 * The highest fee that a person agreed to, in satoshis; absent if no fee was shown.
 */
feeAtMostSats: number | null, };

/**
 * A payout whose fee was raised.
 */
export type BumpedView = { 
/**
 * The new transaction. If the payout's change is spent, it replaces the last transaction of
 * that chain of change, and its fee lifts the whole package.
 */
replacement: VersionItem, 
/**
 * Whether the fee is above the requested rate, because nodes would refuse a lower one.
 */
isLeast: boolean, 
/**
 * The backend's refusal of the replacement; absent if the backend accepted it or did not
 * answer.
 */
refusal: RefusalView | null, 
/**
 * The quotes from which the exchange rate was computed; absent if they were not stored.
 */
certificate: CertificateView | null, notificationUrl: string | null, 
/**
 * The labels that staff imported for its address, its transactions and their outputs.
 */
labels: Array<string>, 
/**
 * The transactions signed for it, the oldest first.
 */
versions: Array<VersionItem>, 
/**
 * The other payouts that share its transaction.
 */
sharesWith: Array<SharingItem>, 
/**
 * Its history, the oldest step first.
 */
history: Array<StepItem>, 
/**
 * The attempts to send its notifications, newest first.
 */
deliveries: Array<DeliveryItem>, 
/**
 * Another payout to the same address: the newest QUEUED or SENT payout, otherwise the newest
 * offer. Present only while this payout is NEW.
 */
paidBefore: PaidBefore | null, 
/**
 * The newest OPEN anomaly of exactly this amount, because this payout may be meant as its
 * refund. Present only while this payout is NEW and not a refund.
 */
anomalyAlike: AnomalyAlike | null, 
/**
 * A warning that the network fee is more than a tenth of the amount; absent once a transaction
 * is signed.
 */
feeWarning: Telling | null, 
/**
 * The part of the daily limit that its approval would leave. Present only while it is NEW and
 * within the limit.
 */
limitLeftAfter: BtcView | null, 
/**
 * Whether the coins that its approval leaves would not pay the same fee once more. Then its
 * fee cannot be raised later. False unless it is NEW.
 */
takesAllCoins: boolean, 
/**
 * Whether it may be approved now.
 */
canApprove: Possible, 
/**
 * Whether staff may send it now at a fee rate of their own.
 */
canSend: Possible, 
/**
 * Whether its fee can be raised now.
 */
canBump: Possible, 
/**
 * Whether it can be abandoned now, together with the payouts that share its transaction.
 */
canAbandon: Possible, 
/**
 * 40 hexadecimal digits.
 */
payoutId: string, 
/**
 * NEW, QUEUED, SENT, EXPIRED or FAILED.
 */
state: PayoutState, 
/**
 * The recipient's address.
 */
address: string, 
/**
 * The recipient's amount.
 */
amount: BtcView, 
/**
 * The amount's worth.
 */
worth: FiatView, 
/**
 * The ISO code of the payout's currency.
 */
currency: string, 
/**
 * The network fee that the offer named.
 */
fee: BtcView, 
/**
 * The worth of `fee`: the difference of `total_worth` and `worth`. Absent in the answer of an
 * older gateway.
 */
feeWorth: FiatView | null, 
/**
 * The payout's share of the fee that was paid; absent until a transaction of this copy of the
 * wallet made it SENT.
 */
feePaid: BtcView | null, 
/**
 * The sum of `amount` and `fee`.
 */
total: BtcView, totalWorth: FiatView, 
/**
 * The payout's exchange rate, with 4 decimals.
 */
rate: string, 
/**
 * The exchange rate for people.
 */
rateShown: string, 
/**
 * The requester's note.
 */
comment: string | null, 
/**
 * The requester: an API key's name, `cli:…` or `panel:…`.
 */
requestedBy: string, 
/**
 * Whether an API key requested it, and not a person.
 */
requestedByShop: boolean, 
/**
 * The approver: an API key's name, `cli:…` or `panel:…`.
 */
approvedBy: string | null, 
/**
 * When it was requested, ISO 8601.
 */
creationTime: string, 
/**
 * When the offer expires, ISO 8601.
 */
expirationTime: string, 
/**
 * When it was approved, ISO 8601.
 */
approvalTime: string | null, 
/**
 * When it became SENT, ISO 8601.
 */
sentTime: string | null, 
/**
 * The id of the transaction that pays it.
 */
btcTxId: string | null, 
/**
 * Whether another copy of the wallet made that transaction.
 */
madeElsewhere: boolean, 
/**
 * The number of confirmations of that transaction.
 */
confirmations: number, 
/**
 * The reason why it FAILED, or why staff ended the offer.
 */
failureReason: Telling | null, 
/**
 * When it became FAILED, ISO 8601.
 */
failedTime: string | null, 
/**
 * Whether the coins were too few at the time of the request.
 */
balanceShort: boolean, 
/**
 * The id of the anomaly that it refunds.
 */
anomalyId: string | null, 
/**
 * Whether it was abandoned, and it is not decided yet whether it FAILED or was sent after all.
 */
beingGivenUp: boolean, 
/**
 * The reason why it waits, without a remedy. Absent unless it is QUEUED or `being_given_up`.
 */
waitsFor: Telling | null, 
/**
 * The kind of that reason.
 */
waitCause: WaitCause | null, 
/**
 * The reason why it is stuck; absent if it is not stuck.
 */
stuck: StuckItem | null, 
/**
 * The Payout record of `/v2`: JSON with exact numbers.
 */
record: string, };

/**
 * Cancels a payment that is NEW and that no coins were seen for. It expires at once.
 */
export type CancelPayment = { paymentId: string, };

/**
 * The quote of one source.
 */
export type CertificateItem = { name: string, 
/**
 * The quote with all digits that the source gave.
 */
rate: string, 
/**
 * The quote for people.
 */
rateShown: string, 
/**
 * When the source gave the quote, ISO 8601.
 */
time: string, 
/**
 * Whether the rate was computed from this quote.
 */
used: boolean, 
/**
 * The reason why the quote was not used, for people.
 */
why: string | null, };

/**
 * A rate's certificate.
 */
export type CertificateView = { 
/**
 * The median of the used quotes, before any spread, with 4 decimals.
 */
rate: string, 
/**
 * The rate for people: `64,210.55`.
 */
rateShown: string, 
/**
 * The time of the oldest quote that was used, ISO 8601.
 */
time: string, 
/**
 * All quotes that were known when the rate was computed.
 */
sources: Array<CertificateItem>, };

export type ChangeCause = "chain" | "withdrawn" | "time" | "staff";

/**
 * Changes several settings in one transaction. Rules between settings are checked against the
 * final values.
 */
export type ChangeSettings = { 
/**
 * The changes; each setting may occur once.
 */
changes: Array<SettingChange>, };

/**
 * The result of one check.
 */
export type CheckItem = { 
/**
 * The name of the check: `keyring`, `chain`, `rates`, `clock`, `disk`, `ports`, `permissions`,
 * `database`, `notifications`, `payouts`, `stuck`, `alarms`, `backups`, `restore`; `folder`,
 * `lock` and others if the gateway could not be opened.
 */
name: string, 
/**
 * Whether the check passed.
 */
ok: boolean, 
/**
 * The finding, and the remedy if the check failed.
 */
message: string, };

/**
 * A request by the panel or the command line. In JSON:
 * `{"command": "showPayment", "paymentId": "…"}`.
 */
export type Command = { "command": "status" } & Status | { "command": "listPayments" } & ListPayments | { "command": "paymentsSheet" } & PaymentsSheet | { "command": "showPayment" } & ShowPayment | { "command": "createPayment" } & CreatePayment | { "command": "createSale" } & CreateSale | { "command": "listWaitingSales" } & ListWaitingSales | { "command": "listProducts" } & ListProducts | { "command": "saveProducts" } & SaveProducts | { "command": "acceptPayment" } & AcceptPayment | { "command": "cancelPayment" } & CancelPayment | { "command": "listAnomalies" } & ListAnomalies | { "command": "showAnomaly" } & ShowAnomaly | { "command": "dismissAnomaly" } & DismissAnomaly | { "command": "askRefundAddress" } & AskRefundAddress | { "command": "refundAnomaly" } & RefundAnomaly | { "command": "listPayouts" } & ListPayouts | { "command": "showPayout" } & ShowPayout | { "command": "requestPayout" } & RequestPayout | { "command": "estimatePayout" } & EstimatePayout | { "command": "approvePayout" } & ApprovePayout | { "command": "rejectPayout" } & RejectPayout | { "command": "sendPayout" } & SendPayout | { "command": "estimateSend" } & EstimateSend | { "command": "bumpPayout" } & BumpPayout | { "command": "estimateBump" } & EstimateBump | { "command": "abandonPayout" } & AbandonPayout | { "command": "estimateAbandon" } & EstimateAbandon | { "command": "dismissAlarm" } & DismissAlarm | { "command": "releaseSender" } & ReleaseSender | { "command": "retrySender" } & RetrySender | { "command": "showTakings" } & ShowTakings | { "command": "showBooks" } & ShowBooks | { "command": "booksSheet" } & BooksSheet | { "command": "listNews" } & ListNews | { "command": "listActs" } & ListActs | { "command": "actsSheet" } & ActsSheet | { "command": "showLimits" } & ShowLimits | { "command": "setLimits" } & SetLimits | { "command": "walletInfo" } & WalletInfo | { "command": "walletDescriptor" } & WalletDescriptor | { "command": "walletLabels" } & WalletLabels | { "command": "importLabels" } & ImportLabels | { "command": "createWallet" } & CreateWallet | { "command": "makeWallet" } & MakeWallet | { "command": "draftWallet" } & DraftWallet | { "command": "confirmWallet" } & ConfirmWallet | { "command": "discardDraft" } & DiscardDraft | { "command": "restoreWallet" } & RestoreWallet | { "command": "showRestore" } & ShowRestore | { "command": "stopRestore" } & StopRestore | { "command": "continueRestore" } & ContinueRestore | { "command": "verifyWords" } & VerifyWords | { "command": "statement" } & Statement | { "command": "statementSheet" } & StatementSheet | { "command": "statementSums" } & StatementSums | { "command": "showBackups" } & ShowBackups | { "command": "backUp" } & BackUp | { "command": "verifyBackup" } & VerifyBackup | { "command": "setBackupPassphrase" } & SetBackupPassphrase | { "command": "listDeliveries" } & ListDeliveries | { "command": "resend" } & Resend | { "command": "listKeys" } & ListKeys | { "command": "createKey" } & CreateKey | { "command": "revokeKey" } & RevokeKey | { "command": "rotateHmacKey" } & RotateHmacKey | { "command": "listSettings" } & ListSettings | { "command": "getSetting" } & GetSetting | { "command": "setSetting" } & SetSetting | { "command": "unsetSetting" } & UnsetSetting | { "command": "changeSettings" } & ChangeSettings | { "command": "showSmallSales" } & ShowSmallSales | { "command": "setSmallSales" } & SetSmallSales | { "command": "testBackend" } & TestBackend | { "command": "doctor" } & Doctor | { "command": "listReceived" } & ListReceived | { "command": "sandbox" } & Sandbox;

/**
 * The reason why a command failed.
 */
export type CommandError = { 
/**
 * A stable name for programs: `NOT_FOUND`, `VALIDATION_FAILED`, …
 */
errorType: string, 
/**
 * A sentence for people, with the remedy.
 */
message: string, 
/**
 * The name of the argument that is wrong.
 */
field: string | null, 
/**
 * The message of SQLite, if `message` does not repeat it.
 */
details?: string, 
/**
 * The sentences of `message` with their codes and values, in which the window words them. It
 * is empty if `message` has no code.
 */
told?: Array<Telling>, };

/**
 * Makes the wallet from the words of `draftWallet`, if the person repeats two of them.
 */
export type ConfirmWallet = { 
/**
 * The `draftId` that `draftWallet` returned.
 */
draftId: string, 
/**
 * The words at the two places `asked`, in that order.
 */
told: [Words, Words], };

/**
 * A change of a payment's `conflict_seen`.
 */
export type ConflictChange = "SEEN" | "GONE";

/**
 * Continues the look of a restored wallet from where it stopped.
 */
export type ContinueRestore = Record<symbol, never>;

/**
 * Makes an API key. Only this answer shows its secret.
 */
export type CreateKey = { 
/**
 * The key's name: letters, digits, underscore; 1 to 64.
 */
name: string, 
/**
 * The permissions: `shop`, `full`, or a comma-separated list.
 */
permissions: string, 
/**
 * Whether payments of this key need no `notificationUrl`.
 */
notificationUrlOptional: boolean, 
/**
 * Whether the key sees and resends only its own records.
 */
own: boolean, 
/**
 * Hosts to which its notifications may be sent; empty for all.
 */
notifyHosts: Array<string>, };

/**
 * Creates a payment from the fields of a form.
 */
export type CreatePayment = { 
/**
 * The price, as the person typed it.
 */
amount: string, 
/**
 * The ISO code of the price's currency.
 */
currency: string, 
/**
 * The message for the customer; may be empty.
 */
message: string, 
/**
 * The merchant's own reference; may be empty.
 */
merchantTransactionId: string, 
/**
 * The URL to notify of its changes.
 */
notificationUrl?: string, };

/**
 * Creates a payment for a sale at the till. Its price is the sum of the lines and the tip.
 */
export type CreateSale = { 
/**
 * The ISO code of the currency of all sums.
 */
currency: string, lines: Array<NewLine>, 
/**
 * The tip, as the person typed it; empty for none.
 */
tip: string, 
/**
 * The message for the customer; may be empty.
 */
message: string, };

/**
 * Stores new words with the secrets and returns them. `makeWallet` then makes the wallet from
 * them.
 */
export type CreateWallet = { 
/**
 * The number of words: 12 or 24; 12 if absent.
 */
words: number | null, };

/**
 * The books in one currency. The gross sums of `taxes`, `untaxed` and `without_lines` make up the
 * price of `all`.
 */
export type CurrencyBooks = { 
/**
 * The ISO code of the currency.
 */
currency: string, 
/**
 * The sum of all periods.
 */
all: TakingsSum, periods: Array<TakingsDay>, 
/**
 * A round value for the top of a chart of the periods. No period is above it.
 */
top: FiatView, 
/**
 * The half of `top`.
 */
half: FiatView, 
/**
 * The taxes of the till's sales, the lowest rate first. The sums of each sale are rounded as
 * on its receipt.
 */
taxes: Array<TaxView>, 
/**
 * The tips, and the lines without a tax rate.
 */
untaxed: FiatView, 
/**
 * The takings without lines: those that were not made at the till, and sales that were paid short
 * of their price.
 */
withoutLines: FiatView, 
/**
 * The sums by the maker of the payments, the most payments first.
 */
byMaker: Array<MakerTakings>, };

export type CurrencyTakings = { 
/**
 * The ISO code of the currency.
 */
currency: string, 
/**
 * The sum of the last day.
 */
today: TakingsSum, 
/**
 * The sum of the day before the last one.
 */
yesterday: TakingsSum, week: TakingsSum, 
/**
 * The sum of the seven days before the present week.
 */
lastWeek: TakingsSum, 
/**
 * The price of `week` minus that of the same days of the week before; absent if those days had
 * no takings.
 */
weekChange: FiatView | null, 
/**
 * The sum of all days.
 */
all: TakingsSum, days: Array<TakingsDay>, 
/**
 * A round value for the top of a chart of the days. No day is above it.
 */
top: FiatView, 
/**
 * The half of `top`.
 */
half: FiatView, };

/**
 * One attempt to deliver a notification, or a notification before its first attempt.
 */
export type DeliveryItem = { 
/**
 * The attempt's id.
 */
deliveryId: string, 
/**
 * The notification's id, as in its header `webhook-id`.
 */
notificationId: string, 
/**
 * The kind of the record that the notification reports: payment, anomaly or payout.
 */
subjectKind: SubjectKind, 
/**
 * The id of that record.
 */
subjectId: string, 
/**
 * The URL that the notification is sent to.
 */
url: string, 
/**
 * The JSON text that is sent; absent once it was removed to save space.
 */
body: string | null, 
/**
 * The number of the attempt, from 1; 0 before the first attempt.
 */
attempt: number, 
/**
 * When the attempt began, or when the notification was queued if `attempt` is 0. ISO 8601 with
 * milliseconds.
 */
time: string, durationMs: number, 
/**
 * The HTTP status of the server's answer.
 */
statusCode: number | null, 
/**
 * The reason why the attempt failed, for people.
 */
error: Telling | null, 
/**
 * The first KiB of the server's answer.
 */
answer: string | null, notificationState: NotificationState, 
/**
 * The time of the next attempt, ISO 8601 with milliseconds.
 */
nextAttemptTime: string | null, };

/**
 * Discards the words of `draftWallet`.
 */
export type DiscardDraft = { 
/**
 * The `draftId` that `draftWallet` returned.
 */
draftId: string, };

/**
 * Dismisses all alarms of a payout.
 */
export type DismissAlarm = { payoutId: string, };

/**
 * Dismisses an OPEN anomaly.
 */
export type DismissAnomaly = { anomalyId: string, 
/**
 * The reason, stored with the anomaly.
 */
reason: string, };

/**
 * Checks everything that the gateway needs, and names the remedy of each fault.
 */
export type Doctor = Record<symbol, never>;

/**
 * The findings of all checks.
 */
export type DoctorView = { 
/**
 * Whether every check passed.
 */
ok: boolean, checks: Array<CheckItem>, };

/**
 * The answer to a discarded draft.
 */
export type DraftDiscardedView = Record<symbol, never>;

/**
 * Returns new words, which are kept in memory for 15 minutes. `confirmWallet` makes the wallet
 * from them.
 */
export type DraftWallet = { 
/**
 * The number of words: 12 or 24; 12 if absent.
 */
words: number | null, };

/**
 * Estimates the fee of abandoning a payout, and lists all payouts concerned. Nothing is signed.
 */
export type EstimateAbandon = { payoutId: string, };

/**
 * Estimates the fee of a bump. Nothing is signed.
 */
export type EstimateBump = { payoutId: string, 
/**
 * In whole satoshis per virtual byte; if absent, the backend's estimate is used.
 */
feeRate: number | null, };

/**
 * Estimates a payout. Nothing is stored.
 */
export type EstimatePayout = { 
/**
 * The amount in BTC, as typed so far. At most one of the two amounts may be given.
 */
btcAmount: string | null, 
/**
 * The amount in `currency`, as typed so far.
 */
fiatAmount: string | null, 
/**
 * The ISO code of the currency.
 */
currency: string, 
/**
 * The recipient's address, as typed so far.
 */
address: string | null, 
/**
 * The anomaly that the payout refunds. Its coins are then the amount.
 */
anomalyId: string | null, };

/**
 * Estimates the fee of sending a waiting payout at this rate. Nothing is signed.
 */
export type EstimateSend = { payoutId: string, 
/**
 * In whole satoshis per virtual byte.
 */
feeRate: number, };

/**
 * An estimated payout. A value that is unknown or wrong is absent.
 */
export type EstimateView = { 
/**
 * The recipient's amount.
 */
amount: BtcView | null, 
/**
 * The amount's worth.
 */
worth: FiatView | null, 
/**
 * The fee of a transaction for this payout alone.
 */
fee: BtcView | null, 
/**
 * The worth of `fee`: the difference of `total_worth` and `worth`.
 */
feeWorth: FiatView | null, 
/**
 * The fee rate of a transaction signed now, in whole satoshis per virtual byte, rounded up.
 */
feeRate: string, 
/**
 * The sum of amount and fee.
 */
total: BtcView | null, totalWorth: FiatView | null, 
/**
 * The exchange rate, with 4 decimals.
 */
rate: string | null, 
/**
 * The exchange rate for people.
 */
rateShown: string | null, 
/**
 * The fault of the address, with the remedy.
 */
addressProblem: Telling | null, 
/**
 * The fault of the amount, with the remedy.
 */
amountProblem: Telling | null, 
/**
 * The reason why there is no rate.
 */
rateProblem: Telling | null, 
/**
 * The newest NEW, QUEUED or SENT payout to the same address. A payout of the same amount is
 * preferred.
 */
paidBefore: PaidBefore | null, 
/**
 * A payment to the same address by another copy of the wallet. With it the request needs
 * `again`, whatever the amount.
 */
paidByCopy: PaidByCopy | null, 
/**
 * The newest OPEN anomaly of exactly this amount. The payout may be meant as its refund.
 */
anomalyAlike: AnomalyAlike | null, 
/**
 * Whether the spendable coins are too few for this payout and the approved ones that are not
 * signed yet.
 */
balanceShort: boolean, 
/**
 * Whether the coins that are left would not pay the same fee once more. Then its fee cannot be
 * raised later.
 */
takesAllCoins: boolean, 
/**
 * The highest amount that the coins and the daily limit allow now; zero if it is below the
 * minimum.
 */
most: BtcView, };

/**
 * A sum of money in a currency.
 */
export type FiatView = { 
/**
 * The amount in minor units of the currency, such as cents. A difference may be negative.
 */
minor: number, 
/**
 * In plain decimals: `1234.50`.
 */
text: string, 
/**
 * For people, with thousands separators: `1,234.50`.
 */
shown: string, 
/**
 * The ISO code of the currency.
 */
currency: string, };

/**
 * Shows one setting.
 */
export type GetSetting = { name: string, };

export type HistoryItem = { 
/**
 * The time of the change, ISO 8601 with milliseconds.
 */
time: string, 
/**
 * The state before the change.
 */
from: PaymentState, 
/**
 * The state after the change.
 */
to: PaymentState, 
/**
 * The sum that counted after the change.
 */
paid: BtcView, cause: ChangeCause, 
/**
 * Whether a conflict with its coins came or went; absent for every other change.
 */
conflict: ConflictChange | null, 
/**
 * The reason why the payment was INVALID after the change; absent for every other state.
 */
whyInvalid: WhyInvalid | null, };

/**
 * Imports the labels in a file, all or none.
 */
export type ImportLabels = { 
/**
 * The absolute path of a file in the format of BIP329: one JSON object a line.
 */
file: string, };

/**
 * The effect of an import of labels.
 */
export type ImportedLabels = { 
/**
 * Labels that are new or changed.
 */
imported: number, 
/**
 * Labels that were there before.
 */
unchanged: number, 
/**
 * Labels of things that are not of this wallet.
 */
foreign: number, 
/**
 * The first lines with such labels.
 */
foreignLines: Array<number>, 
/**
 * Labels of other types, such as `input` and `xpub`.
 */
unkept: number, 
/**
 * The first of these types.
 */
unkeptTypes: Array<string>, 
/**
 * Labels that were cut to 255 characters.
 */
cut: number, 
/**
 * Labels in whose place a later line of the file has another one.
 */
replaced: number, 
/**
 * Coins of this wallet that the other program does not spend.
 */
frozen: number, };

/**
 * An API key without its secret. The gateway stores only a hash of the secret.
 */
export type KeyItem = { 
/**
 * The key's name: the user name of Basic authentication.
 */
name: string, 
/**
 * The permissions: `payments.read`, …
 */
permissions: Array<string>, 
/**
 * Whether its payments need no `notificationUrl`.
 */
notificationUrlOptional: boolean, 
/**
 * Whether the key sees and resends only its own records.
 */
own: boolean, 
/**
 * Hosts to which its notifications may be sent; empty for all.
 */
notifyHosts: Array<string>, 
/**
 * When it was made, ISO 8601.
 */
created: string, 
/**
 * When it was revoked, ISO 8601.
 */
revoked: string | null, };

/**
 * The sum of the movements of one kind.
 */
export type KindView = { kind: LedgerKind, 
/**
 * The number of movements.
 */
count: number, 
/**
 * The change of the balance.
 */
amount: BtcView, 
/**
 * The worth of the movements, each at its own rate; absent if one of them has no worth.
 */
worth: FiatView | null, };

/**
 * A label in the format of BIP329.
 */
export type Label = { 
/**
 * `tx`, `addr` or `output`.
 */
type: string, 
/**
 * A txid, an address, or an outpoint: `…:0`.
 */
ref: string, label: string, };

/**
 * A part of the list of labels.
 */
export type LabelsPart = "transactions" | "payoutAddresses" | "imported";

/**
 * The end of a page of labels.
 */
export type LabelsPlace = { 
/**
 * The part of the list that the page belongs to.
 */
part: LabelsPart, 
/**
 * The last transaction or script on the page, in hexadecimal digits, or the number of its last
 * imported label.
 */
last: string, };

/**
 * The kind of movement in a line of the statement.
 */
export type LedgerKind = "PAYMENT" | "ANOMALY" | "PAYOUT" | "FEE" | "FEE_DIFFERENCE" | "OTHER";

/**
 * The limits of payouts, and how much of today's limit is used.
 */
export type LimitsView = { 
/**
 * The sum approved today that did not fail, without fees.
 */
used: BtcView, 
/**
 * The sum that may still be approved today.
 */
available: BtcView, 
/**
 * The smallest payout that may be requested.
 */
minimum: BtcView, daily: BtcView, 
/**
 * The end of the present UTC day, when `used` becomes 0 again. ISO 8601.
 */
resets: string, 
/**
 * The limits in the requested currency.
 */
worth: LimitsWorth | null, 
/**
 * The limit record of `/v2` in that currency or in BTC: JSON with exact numbers.
 */
record: string, };

/**
 * The limits in a currency, in its minor units.
 */
export type LimitsWorth = { 
/**
 * Rounded up.
 */
used: FiatView, 
/**
 * Rounded down.
 */
available: FiatView, 
/**
 * Rounded up.
 */
minimum: FiatView, };

/**
 * Lists acts of people and API keys, the newest first.
 */
export type ListActs = { 
/**
 * The most acts of the page, from 1 to 500.
 */
limit: number, 
/**
 * The number of newer acts that the page leaves out.
 */
offset: number, 
/**
 * The person or the API key, as in `ActItem::actor`.
 */
actor: string | null, 
/**
 * The first word of the act, such as `payouts`.
 */
about: string | null, 
/**
 * The beginning of the period, inclusive, in milliseconds since 1970.
 */
from: number | null, 
/**
 * The end of the period, exclusive, in milliseconds since 1970.
 */
to: number | null, };

/**
 * Lists anomalies, newest first.
 */
export type ListAnomalies = { 
/**
 * Only OPEN anomalies.
 */
open: boolean, 
/**
 * Most anomalies to list, 1 to 500.
 */
limit: number, 
/**
 * Number of the newest anomalies to skip.
 */
offset: number, };

/**
 * Lists deliveries, newest first.
 */
export type ListDeliveries = { 
/**
 * Only failed deliveries.
 */
failed: boolean, 
/**
 * Most deliveries to list, 1 to 500.
 */
limit: number, 
/**
 * Number of the newest deliveries to skip.
 */
offset: number, };

/**
 * Lists the API keys.
 */
export type ListKeys = Record<symbol, never>;

/**
 * Lists the last 50 events, the newest first.
 */
export type ListNews = Record<symbol, never>;

/**
 * Lists payments, newest first.
 */
export type ListPayments = { 
/**
 * Most payments to list, 1 to 500.
 */
limit: number, 
/**
 * Number of the newest payments to skip.
 */
offset: number, 
/**
 * Only payments in these states; empty for all.
 */
states: Array<PaymentState>, 
/**
 * A part of the reference, message, address, payment's id or transaction's id, or the amount.
 */
search: string | null, 
/**
 * Only payments created at this time or later, in milliseconds since 1970.
 */
from: number | null, 
/**
 * Only payments created before this time, in milliseconds since 1970.
 */
to: number | null, 
/**
 * Only payments of this API key, or of the merchant's name for payments of staff.
 */
label: string | null, };

/**
 * Lists payouts, newest first.
 */
export type ListPayouts = { 
/**
 * Most payouts to list, 1 to 500.
 */
limit: number, 
/**
 * Number of the newest payouts to skip.
 */
offset: number, 
/**
 * Only payouts in these states; empty for all.
 */
states: Array<PayoutState>, 
/**
 * A payout's id, its address, the id of its transaction, its amount in BTC, or the requester's
 * name.
 */
search: string | null, };

/**
 * Lists the till's products, in the order of their tiles.
 */
export type ListProducts = Record<symbol, never>;

/**
 * Lists the last notifications that the sandbox's receiver took.
 */
export type ListReceived = Record<symbol, never>;

export type ListSettings = Record<symbol, never>;

/**
 * Lists the till's sales that are not over, and those that were paid just now; the oldest first.
 */
export type ListWaitingSales = Record<symbol, never>;

/**
 * Makes the wallet from the words of `createWallet`. No later command returns these words.
 */
export type MakeWallet = Record<symbol, never>;

/**
 * The kind of a payment's maker.
 */
export type MakerKind = "KEY" | "TILL" | "STAFF";

/**
 * The sum of the payments of one maker.
 */
export type MakerTakings = { maker: MakerKind, 
/**
 * The name of the API key; absent for the others.
 */
key: string | null, sum: TakingsSum, };

export type NewHmacKey = { 
/**
 * The key, `whsec_…`, shown only in this answer.
 */
key: string, };

/**
 * A new API key with its secret.
 */
export type NewKey = { name: string, 
/**
 * The key's secret, shown only in this answer.
 */
secret: string, 
/**
 * The permissions: `payments.read`, …
 */
permissions: Array<string>, };

/**
 * A line of a new sale.
 */
export type NewLine = { 
/**
 * The product's name; empty for a typed amount.
 */
name: string, 
/**
 * The price of one with its tax, as the person typed it.
 */
price: string, count: number, 
/**
 * The rate of the tax that the price contains, per mille.
 */
taxPerMille: number | null, };

export type NewProduct = { name: string, 
/**
 * The price with its tax, as the person typed it.
 */
price: string, 
/**
 * The ISO code of the price's currency.
 */
currency: string, 
/**
 * The rate of the tax that the price contains, per mille.
 */
taxPerMille: number | null, 
/**
 * The colour of its tile, like `#1d6f42`; empty for the usual one.
 */
color: string, };

/**
 * The words of a new wallet.
 */
export type NewWordsView = { 
/**
 * The words, separated by spaces.
 */
words: Words, };

/**
 * The last events.
 */
export type News = { 
/**
 * The events, the newest first.
 */
items: Array<NewsItem>, 
/**
 * The kinds that the desktop notifies of: the setting `notices`.
 */
notices: Array<NewsKind>, 
/**
 * The kinds with a sound: the setting `noticeSounds`.
 */
sounds: Array<NewsKind>, };

/**
 * The sort of an event, with its values.
 */
export type NewsEvent = { "event": "paid", order: NewsOrder, state: PaymentState, stop: boolean, } | { "event": "attacked", order: NewsOrder, state: PaymentState, stop: boolean, } | { "event": "withdrawn", order: NewsOrder, } | { "event": "reversed", order: NewsOrder, } | { "event": "anomaly", order: NewsOrder, anomalyType: AnomalyKind, cameInTime: boolean, worth: FiatView, open: boolean, } | { "event": "answered", order: NewsOrder, open: boolean, } | { "event": "failed", worth: FiatView, address: string, } | { "event": "requested", by: string, amount: BtcView, worth: FiatView, address: string, open: boolean, } | { "event": "approved", by: string, amount: BtcView, worth: FiatView, address: string, } | { "event": "server", host: string, notifications: number, };

/**
 * An event.
 */
export type NewsItem = { 
/**
 * Distinguishes the event from all others.
 */
id: string, 
/**
 * The switch in the settings that turns its notice off.
 */
kind: NewsKind, 
/**
 * The time of the event, ISO 8601 with milliseconds.
 */
time: string, 
/**
 * What happened. The window words it in the person's language.
 */
event: NewsEvent, 
/**
 * The payment that it concerns.
 */
paymentId: string | null, 
/**
 * The payout that it concerns.
 */
payoutId: string | null, };

/**
 * The kind of an event.
 */
export type NewsKind = "paid" | "reversed" | "attention" | "payout" | "shop";

export type NewsOrder = { price: FiatView, 
/**
 * The shop's own reference; may be empty.
 */
reference: string, 
/**
 * The number of the sale; absent unless the payment was made at the till.
 */
saleNumber: number | null, };

/**
 * The state of a notification.
 */
export type NotificationState = "WAITING" | "DELIVERED" | "SUPERSEDED" | "GIVEN_UP";

/**
 * Coins at the address type that the wallet does not use.
 */
export type OtherTypeView = { 
/**
 * `bip84` or `bip86`.
 */
addressType: string, 
/**
 * The sum of the coins, as the look found them.
 */
sum: BtcView, 
/**
 * When that look ended, ISO 8601. No later look tells whether the coins are still there.
 */
lookedTime: string | null, };

/**
 * Some items of a list, and the number of all.
 */
export type Page<T> = { items: Array<T>, 
/**
 * The number of items on all pages together.
 */
itemsCount: number, };

/**
 * An earlier payout to the same address.
 */
export type PaidBefore = { payoutId: string, state: PayoutState, 
/**
 * The recipient's amount.
 */
amount: BtcView, 
/**
 * When it was requested, ISO 8601.
 */
time: string, };

/**
 * A payment to the same address by another copy of the wallet.
 */
export type PaidByCopy = { 
/**
 * The other copy's transaction.
 */
btcTxId: string, 
/**
 * Sum of its outputs to the address.
 */
amount: BtcView, 
/**
 * When it was made, ISO 8601.
 */
time: string, };

/**
 * The passphrase of a backup: wiped when it is dropped, and never printed.
 */
export type Passphrase = string;

/**
 * A payment in the list.
 */
export type PaymentItem = { paymentId: string, 
/**
 * The number of its sale; absent unless it was made at the till.
 */
saleNumber: number | null, state: PaymentState, 
/**
 * The amount to pay.
 */
amount: BtcView, 
/**
 * The sum that counts.
 */
paid: BtcView, 
/**
 * The sum paid beyond the amount; absent unless that is too much.
 */
overpaidBy: BtcView | null, 
/**
 * The name of the API key that created it, or the merchant's name for a payment created by a
 * person.
 */
label: string, 
/**
 * The message for the customer.
 */
message: string, 
/**
 * The shop's own reference.
 */
merchantTransactionId: string, 
/**
 * The time of creation, ISO 8601.
 */
creationTime: string, 
/**
 * The deadline for the customer, ISO 8601.
 */
expirationTime: string, 
/**
 * Whether staff cancelled it, so that its deadline came early.
 */
isCancelled: boolean, 
/**
 * Whether another transaction is taking back coins on which the CONFIRMED payment rests.
 */
conflictSeen: boolean, 
/**
 * The number of its OPEN anomalies.
 */
openAnomalies: number, price: FiatView, 
/**
 * The worth of the sum that counts.
 */
paidWorth: FiatView, 
/**
 * The worth of the sum that is still to pay, or that was paid beyond the amount.
 */
differenceWorth: FiatView, 
/**
 * The reason why it is INVALID; absent in every other state.
 */
whyInvalid: WhyInvalid | null, 
/**
 * The fewest confirmations of a transaction that counts, while the payment is UNCONFIRMED;
 * otherwise 0.
 */
confirmations: number, 
/**
 * The number of confirmations that make it CONFIRMED; 0 while its coins may be accepted before
 * a block holds them.
 */
confirmationsWanted: number, };

/**
 * The state of a payment.
 */
export type PaymentState = "NEW" | "UNDERPAID" | "UNCONFIRMED" | "CONFIRMED" | "EXPIRED" | "INVALID";

export type PaymentSums = { 
/**
 * The prices of the CONFIRMED payments, one sum for each currency.
 */
confirmed: Array<FiatView>, 
/**
 * The coins that pay those payments, without any beyond an amount.
 */
paid: BtcView, };

/**
 * One payment with all details.
 */
export type PaymentView = { 
/**
 * The content of its sale; absent unless it was made at the till.
 */
sale: SaleView | null, 
/**
 * The address to pay to.
 */
address: string, 
/**
 * Whether the address has more transactions than the server reports, so that its coins are not
 * seen.
 */
isUnreported: boolean, 
/**
 * The derivation index of the address in the external keychain.
 */
addressIndex: number, 
/**
 * The path from the wallet's master key to the address's key, `m/84'/0'/0'/0/17`; absent
 * without a wallet.
 */
addressPath: string | null, 
/**
 * The payment's exchange rate, with 4 decimals.
 */
exchangeRate: string, 
/**
 * The BIP21 URI with address, amount, label and message.
 */
paymentAddress: string, 
/**
 * The URL of the payment page for the customer.
 */
paymentPageUrl: string, 
/**
 * The sum still to pay; absent if nothing remains.
 */
stillDue: BtcView | null, 
/**
 * The rate for people: `64,210.55`.
 */
exchangeRateShown: string, 
/**
 * The quotes from which the rate was computed; absent if they were not stored.
 */
certificate: CertificateView | null, 
/**
 * The QR code of address and amount, an SVG document.
 */
qrSvg: string, 
/**
 * When it first became CONFIRMED, ISO 8601; absent before.
 */
paymentTime: string | null, notificationUrl: string | null, anomalyNotificationUrl: string | null, 
/**
 * The effect of accepting the coins that came; absent if staff may not accept them.
 */
acceptance: Acceptance | null, 
/**
 * The coins at its address that do not count as paid; absent if all of them count.
 */
uncounted: Uncounted | null, 
/**
 * Sums that the sandbox's customer could pay; absent outside the sandbox.
 */
sandboxAmounts: SandboxAmounts | null, 
/**
 * The labels that staff imported for its address, its transactions and their outputs.
 */
labels: Array<string>, 
/**
 * All transactions that pay its address, including those that do not count.
 */
transactions: Array<TransactionItem>, 
/**
 * Its changes, oldest first.
 */
history: Array<HistoryItem>, 
/**
 * The attempts to send its notifications, newest first.
 */
deliveries: Array<DeliveryItem>, 
/**
 * Its anomalies, newest first.
 */
anomalies: Array<AnomalyItem>, paymentId: string, 
/**
 * The number of its sale; absent unless it was made at the till.
 */
saleNumber: number | null, state: PaymentState, 
/**
 * The amount to pay.
 */
amount: BtcView, 
/**
 * The sum that counts.
 */
paid: BtcView, 
/**
 * The sum paid beyond the amount; absent unless that is too much.
 */
overpaidBy: BtcView | null, 
/**
 * The name of the API key that created it, or the merchant's name for a payment created by a
 * person.
 */
label: string, 
/**
 * The message for the customer.
 */
message: string, 
/**
 * The shop's own reference.
 */
merchantTransactionId: string, 
/**
 * The time of creation, ISO 8601.
 */
creationTime: string, 
/**
 * The deadline for the customer, ISO 8601.
 */
expirationTime: string, 
/**
 * Whether staff cancelled it, so that its deadline came early.
 */
isCancelled: boolean, 
/**
 * Whether another transaction is taking back coins on which the CONFIRMED payment rests.
 */
conflictSeen: boolean, 
/**
 * The number of its OPEN anomalies.
 */
openAnomalies: number, price: FiatView, 
/**
 * The worth of the sum that counts.
 */
paidWorth: FiatView, 
/**
 * The worth of the sum that is still to pay, or that was paid beyond the amount.
 */
differenceWorth: FiatView, 
/**
 * The reason why it is INVALID; absent in every other state.
 */
whyInvalid: WhyInvalid | null, 
/**
 * The fewest confirmations of a transaction that counts, while the payment is UNCONFIRMED;
 * otherwise 0.
 */
confirmations: number, 
/**
 * The number of confirmations that make it CONFIRMED; 0 while its coins may be accepted before
 * a block holds them.
 */
confirmationsWanted: number, };

/**
 * The payments to choose. A field that is empty or absent matches all payments.
 */
export type PaymentsNarrowing = { 
/**
 * Only payments in these states; empty for all.
 */
states: Array<PaymentState>, 
/**
 * A part of the reference, message, address, payment's id or transaction's id, or the amount.
 */
search: string | null, 
/**
 * Only payments created at this time or later, in milliseconds since 1970.
 */
from: number | null, 
/**
 * Only payments created before this time, in milliseconds since 1970.
 */
to: number | null, 
/**
 * Only payments of this API key, or of the merchant's name for payments of staff.
 */
label: string | null, };

/**
 * Some payments, the number of all that match, and their sums.
 */
export type PaymentsPage = { items: Array<PaymentItem>, 
/**
 * The number of payments on all pages together.
 */
itemsCount: number, 
/**
 * The sums of the payments on all pages; absent if no filter is set.
 */
sums: PaymentSums | null, };

/**
 * Asks for a page of payments as a table, the newest payment first.
 */
export type PaymentsSheet = { 
/**
 * The locale whose spreadsheets read the table, such as `de-AT`; absent for plain CSV.
 */
locale: string | null, 
/**
 * The field `next` of the previous page; absent for the first page.
 */
after: number | null, 
/**
 * Only payments in these states; empty for all.
 */
states: Array<PaymentState>, 
/**
 * A part of the reference, message, address, payment's id or transaction's id, or the amount.
 */
search: string | null, 
/**
 * Only payments created at this time or later, in milliseconds since 1970.
 */
from: number | null, 
/**
 * Only payments created before this time, in milliseconds since 1970.
 */
to: number | null, 
/**
 * Only payments of this API key, or of the merchant's name for payments of staff.
 */
label: string | null, };

/**
 * A page of payments as a table. The first page begins with the line of headings.
 */
export type PaymentsSheetPage = { 
/**
 * The lines, each with its end.
 */
text: string, 
/**
 * The number of payments in `text`.
 */
rows: number, 
/**
 * The value of `after` for the next page; absent on the last page.
 */
next: number | null, };

/**
 * A payout in the list.
 */
export type PayoutItem = { 
/**
 * 40 hexadecimal digits.
 */
payoutId: string, 
/**
 * NEW, QUEUED, SENT, EXPIRED or FAILED.
 */
state: PayoutState, 
/**
 * The recipient's address.
 */
address: string, 
/**
 * The recipient's amount.
 */
amount: BtcView, 
/**
 * The amount's worth.
 */
worth: FiatView, 
/**
 * The ISO code of the payout's currency.
 */
currency: string, 
/**
 * The network fee that the offer named.
 */
fee: BtcView, 
/**
 * The worth of `fee`: the difference of `total_worth` and `worth`. Absent in the answer of an
 * older gateway.
 */
feeWorth: FiatView | null, 
/**
 * The payout's share of the fee that was paid; absent until a transaction of this copy of the
 * wallet made it SENT.
 */
feePaid: BtcView | null, 
/**
 * The sum of `amount` and `fee`.
 */
total: BtcView, totalWorth: FiatView, 
/**
 * The payout's exchange rate, with 4 decimals.
 */
rate: string, 
/**
 * The exchange rate for people.
 */
rateShown: string, 
/**
 * The requester's note.
 */
comment: string | null, 
/**
 * The requester: an API key's name, `cli:…` or `panel:…`.
 */
requestedBy: string, 
/**
 * Whether an API key requested it, and not a person.
 */
requestedByShop: boolean, 
/**
 * The approver: an API key's name, `cli:…` or `panel:…`.
 */
approvedBy: string | null, 
/**
 * When it was requested, ISO 8601.
 */
creationTime: string, 
/**
 * When the offer expires, ISO 8601.
 */
expirationTime: string, 
/**
 * When it was approved, ISO 8601.
 */
approvalTime: string | null, 
/**
 * When it became SENT, ISO 8601.
 */
sentTime: string | null, 
/**
 * The id of the transaction that pays it.
 */
btcTxId: string | null, 
/**
 * Whether another copy of the wallet made that transaction.
 */
madeElsewhere: boolean, 
/**
 * The number of confirmations of that transaction.
 */
confirmations: number, 
/**
 * The reason why it FAILED, or why staff ended the offer.
 */
failureReason: Telling | null, 
/**
 * When it became FAILED, ISO 8601.
 */
failedTime: string | null, 
/**
 * Whether the coins were too few at the time of the request.
 */
balanceShort: boolean, 
/**
 * The id of the anomaly that it refunds.
 */
anomalyId: string | null, 
/**
 * Whether it was abandoned, and it is not decided yet whether it FAILED or was sent after all.
 */
beingGivenUp: boolean, 
/**
 * The reason why it waits, without a remedy. Absent unless it is QUEUED or `being_given_up`.
 */
waitsFor: Telling | null, 
/**
 * The kind of that reason.
 */
waitCause: WaitCause | null, 
/**
 * The reason why it is stuck; absent if it is not stuck.
 */
stuck: StuckItem | null, 
/**
 * The Payout record of `/v2`: JSON with exact numbers.
 */
record: string, };

/**
 * The state of a payout.
 */
export type PayoutState = "NEW" | "EXPIRED" | "QUEUED" | "SENT" | "FAILED";

/**
 * The kind of a step in a payout's history.
 */
export type PayoutStep = "offered" | "approved" | "expired" | "signed" | "bumped" | "abandoned" | "sent" | "failed";

/**
 * One payout with all details.
 */
export type PayoutView = { 
/**
 * The quotes from which the exchange rate was computed; absent if they were not stored.
 */
certificate: CertificateView | null, notificationUrl: string | null, 
/**
 * The labels that staff imported for its address, its transactions and their outputs.
 */
labels: Array<string>, 
/**
 * The transactions signed for it, the oldest first.
 */
versions: Array<VersionItem>, 
/**
 * The other payouts that share its transaction.
 */
sharesWith: Array<SharingItem>, 
/**
 * Its history, the oldest step first.
 */
history: Array<StepItem>, 
/**
 * The attempts to send its notifications, newest first.
 */
deliveries: Array<DeliveryItem>, 
/**
 * Another payout to the same address: the newest QUEUED or SENT payout, otherwise the newest
 * offer. Present only while this payout is NEW.
 */
paidBefore: PaidBefore | null, 
/**
 * The newest OPEN anomaly of exactly this amount, because this payout may be meant as its
 * refund. Present only while this payout is NEW and not a refund.
 */
anomalyAlike: AnomalyAlike | null, 
/**
 * A warning that the network fee is more than a tenth of the amount; absent once a transaction
 * is signed.
 */
feeWarning: Telling | null, 
/**
 * The part of the daily limit that its approval would leave. Present only while it is NEW and
 * within the limit.
 */
limitLeftAfter: BtcView | null, 
/**
 * Whether the coins that its approval leaves would not pay the same fee once more. Then its
 * fee cannot be raised later. False unless it is NEW.
 */
takesAllCoins: boolean, 
/**
 * Whether it may be approved now.
 */
canApprove: Possible, 
/**
 * Whether staff may send it now at a fee rate of their own.
 */
canSend: Possible, 
/**
 * Whether its fee can be raised now.
 */
canBump: Possible, 
/**
 * Whether it can be abandoned now, together with the payouts that share its transaction.
 */
canAbandon: Possible, 
/**
 * 40 hexadecimal digits.
 */
payoutId: string, 
/**
 * NEW, QUEUED, SENT, EXPIRED or FAILED.
 */
state: PayoutState, 
/**
 * The recipient's address.
 */
address: string, 
/**
 * The recipient's amount.
 */
amount: BtcView, 
/**
 * The amount's worth.
 */
worth: FiatView, 
/**
 * The ISO code of the payout's currency.
 */
currency: string, 
/**
 * The network fee that the offer named.
 */
fee: BtcView, 
/**
 * The worth of `fee`: the difference of `total_worth` and `worth`. Absent in the answer of an
 * older gateway.
 */
feeWorth: FiatView | null, 
/**
 * The payout's share of the fee that was paid; absent until a transaction of this copy of the
 * wallet made it SENT.
 */
feePaid: BtcView | null, 
/**
 * The sum of `amount` and `fee`.
 */
total: BtcView, totalWorth: FiatView, 
/**
 * The payout's exchange rate, with 4 decimals.
 */
rate: string, 
/**
 * The exchange rate for people.
 */
rateShown: string, 
/**
 * The requester's note.
 */
comment: string | null, 
/**
 * The requester: an API key's name, `cli:…` or `panel:…`.
 */
requestedBy: string, 
/**
 * Whether an API key requested it, and not a person.
 */
requestedByShop: boolean, 
/**
 * The approver: an API key's name, `cli:…` or `panel:…`.
 */
approvedBy: string | null, 
/**
 * When it was requested, ISO 8601.
 */
creationTime: string, 
/**
 * When the offer expires, ISO 8601.
 */
expirationTime: string, 
/**
 * When it was approved, ISO 8601.
 */
approvalTime: string | null, 
/**
 * When it became SENT, ISO 8601.
 */
sentTime: string | null, 
/**
 * The id of the transaction that pays it.
 */
btcTxId: string | null, 
/**
 * Whether another copy of the wallet made that transaction.
 */
madeElsewhere: boolean, 
/**
 * The number of confirmations of that transaction.
 */
confirmations: number, 
/**
 * The reason why it FAILED, or why staff ended the offer.
 */
failureReason: Telling | null, 
/**
 * When it became FAILED, ISO 8601.
 */
failedTime: string | null, 
/**
 * Whether the coins were too few at the time of the request.
 */
balanceShort: boolean, 
/**
 * The id of the anomaly that it refunds.
 */
anomalyId: string | null, 
/**
 * Whether it was abandoned, and it is not decided yet whether it FAILED or was sent after all.
 */
beingGivenUp: boolean, 
/**
 * The reason why it waits, without a remedy. Absent unless it is QUEUED or `being_given_up`.
 */
waitsFor: Telling | null, 
/**
 * The kind of that reason.
 */
waitCause: WaitCause | null, 
/**
 * The reason why it is stuck; absent if it is not stuck.
 */
stuck: StuckItem | null, 
/**
 * The Payout record of `/v2`: JSON with exact numbers.
 */
record: string, };

/**
 * Whether a command is possible now.
 */
export type Possible = { possible: boolean, 
/**
 * The reason why the command is not possible, in a sentence.
 */
whyNot: Telling | null, };

/**
 * A product of the till.
 */
export type ProductView = { name: string, price: FiatView, taxPerMille: number | null, 
/**
 * The colour of its tile, like `#1d6f42`; empty for the usual one.
 */
color: string, };

/**
 * An exchange rate.
 */
export type RateItem = { 
/**
 * The currency's ISO code.
 */
currency: string, 
/**
 * The price of one Bitcoin in the currency.
 */
rate: string, 
/**
 * Whether the rate is recent enough for new payments and payouts.
 */
fresh: boolean, 
/**
 * The rate for people: `64,210.55`.
 */
shown: string, 
/**
 * Number of decimals of an amount in the currency: 2 for USD, 0 for JPY.
 */
decimals: number, };

/**
 * A source of exchange rates.
 */
export type RateSourceItem = { name: string, 
/**
 * The time of its last answer, ISO 8601; absent if it has not answered since the start.
 */
answeredAt: string | null, 
/**
 * The age of that answer.
 */
ageSeconds: number | null, 
/**
 * The reason why the source did not answer when it was last asked; absent if it answered.
 */
error: Telling | null, 
/**
 * When the source will be asked next, ISO 8601; absent if that is due now.
 */
nextAt: string | null, };

/**
 * A notification that the receiver took.
 */
export type ReceivedItem = { 
/**
 * When it arrived, ISO 8601 with milliseconds.
 */
time: string, body: string, 
/**
 * The header `X-BPG-Signature`.
 */
signature: string | null, 
/**
 * Whether the signature fits the body.
 */
check: SignatureCheck, };

/**
 * The sandbox's receiver.
 */
export type ReceivedView = { 
/**
 * The URL to name as `notificationUrl`; absent outside the sandbox, and while the gateway does
 * not serve.
 */
url: string | null, 
/**
 * The last notifications, the newest first.
 */
items: Array<ReceivedItem>, };

/**
 * Offers a payout of all coins of an anomaly, to send them back.
 */
export type RefundAnomaly = { anomalyId: string, 
/**
 * The address to pay the coins to.
 */
address: string, 
/**
 * The ISO code of the payout's currency; absent for the payment's currency.
 */
currency: string | null, 
/**
 * Whether the payout is approved at once.
 */
approve: boolean, 
/**
 * Whether to refund although an earlier payout sent the same sum to this address.
 */
althoughPaid: boolean, };

/**
 * The question on the payment page where to send a refund, and the customer's answer.
 */
export type RefundQuestion = { 
/**
 * When staff asked, ISO 8601.
 */
askedAt: string, 
/**
 * The address that somebody with the page's link gave.
 */
address: string | null, 
/**
 * When the address was given, ISO 8601.
 */
answeredAt: string | null, };

/**
 * A backend's refusal of a stored transaction. The transaction is broadcast again later.
 */
export type RefusalView = { 
/**
 * A sentence with the backend's message in quotation marks, without a remedy and without a
 * full stop.
 */
message: Telling, 
/**
 * The fee that the backend's message demands, if it names one.
 */
feeNamed: BtcView | null, 
/**
 * Whether a higher fee might help.
 */
feeMayHelp: boolean, };

/**
 * Rejects a shop's offer, or withdraws an offer of staff. Nothing is sent.
 */
export type RejectPayout = { payoutId: string, 
/**
 * The reason, which the record shows to the shop; may be empty.
 */
reason: string, };

/**
 * Ends a hold of the sender, and makes the sender ask the secret store at once.
 */
export type ReleaseSender = { 
/**
 * The reason of the hold that staff were shown. The command is refused if the hold now has
 * another reason. If absent, a hold for any reason ends.
 */
reason: string | null, 
/**
 * Whether to end the hold although the mempool shows a transaction of another copy of the
 * wallet.
 */
force: boolean, };

/**
 * Requests a payout from the fields of a form.
 */
export type RequestPayout = { address: string, 
/**
 * The amount in BTC. Exactly one of the two amounts is required.
 */
btcAmount: string | null, 
/**
 * The amount in `currency`.
 */
fiatAmount: string | null, 
/**
 * The ISO code of the payout's currency.
 */
currency: string, 
/**
 * A note for the merchant's own use.
 */
comment: string | null, 
/**
 * The URL that is notified when the payout is SENT or FAILED.
 */
notificationUrl: string | null, 
/**
 * Whether to approve the payout in the same step.
 */
approve: boolean, 
/**
 * Whether to request the payout although another copy of the wallet paid this address.
 */
again: boolean, };

/**
 * Queues a notification with the current state of a record.
 */
export type Resend = { 
/**
 * The id of a delivery, a payment, an anomaly or a payout.
 */
id: string, };

/**
 * The result of a resend.
 */
export type Resent = { 
/**
 * The number of notifications queued. It is 0 if the record has nothing to report or no URL.
 */
queued: number, };

/**
 * The state of an anomaly.
 */
export type Resolution = "OPEN" | "REFUNDING" | "REFUNDED" | "ACCEPTED" | "DISMISSED";

/**
 * The last restore of this wallet.
 */
export type RestoreShownView = { 
/**
 * The progress of the look; absent if the wallet was never restored.
 */
restore: RestoreView | null, };

/**
 * The progress of a restored copy's look through the chain.
 */
export type RestoreState = "AWAITED" | "SCANNING" | "STOPPED" | "LOOKED";

/**
 * The progress of a restored wallet's look through the chain.
 */
export type RestoreView = { 
/**
 * The source of the restored wallet: `words` or `backup`.
 */
source: string, 
/**
 * The state of the look.
 */
state: RestoreState, 
/**
 * The look begins above the block of this height.
 */
birthHeight: number, 
/**
 * The number of addresses looked at beyond the highest used one: the gap limit plus the
 * addresses that an earlier restored copy skipped.
 */
looksAhead: number, 
/**
 * The height that the look has reached; absent before the first block.
 */
scannedHeight: number | null, 
/**
 * The height of the best block, if it is known.
 */
chainHeight: number | null, 
/**
 * The number of scripts that the backend was asked about, external and internal; 0 if the
 * backend shows whole blocks.
 */
asked: number, 
/**
 * The number of all scripts to ask about. It grows when a used script is found. 0 if the
 * backend shows whole blocks, and once the look has ended.
 */
toAsk: number, 
/**
 * The part of the blocks or scripts that is done, rounded down.
 */
percent: number, 
/**
 * Whether the look waits until a Bitcoin backend is set.
 */
awaitsBackend: boolean, 
/**
 * The number of transactions of the wallet that the look found and this database did not hold.
 */
found: number, 
/**
 * The type of the wallet's addresses: `bip84` or `bip86`.
 */
addressType: string, 
/**
 * Whether a whole look for a wallet of words found no coin, now or ever.
 */
foundNothing: boolean, 
/**
 * The unspent coins that the look found at the other address type of the same words. They are
 * not the wallet's: the words must be restored elsewhere to spend them. Absent if there are
 * none.
 */
atOtherType: OtherTypeView | null, 
/**
 * When the restore began, ISO 8601.
 */
begunTime: string, 
/**
 * When the look reached the best block, ISO 8601.
 */
lookedTime: string | null, 
/**
 * The derivation index of the first address given since the restore.
 */
firstGiven: number | null, };

/**
 * Restores the wallet from its words. If the wallet exists already, its words are stored with the
 * secrets again. A birthday or a gap then makes it look through the chain again.
 */
export type RestoreWallet = { words: Words, 
/**
 * A height or date before the wallet's first coin: 845000 or 2024-05-31. If absent, the
 * network's first block that can hold a coin. The look through a node's blocks begins there.
 * It has no effect on an Electrum server, which is asked about addresses.
 */
birthday: string | null, 
/**
 * The gap limit: the longest run of given addresses without a coin. If absent, the setting
 * `restoreSkip` plus 500. The look covers `restoreSkip` further addresses, because an earlier
 * restored copy skipped as many.
 */
gap: number | null, 
/**
 * Whether another copy of the wallet continued from the state of this copy, for example after
 * an older folder was put back by hand. If so, `restoreSkip` indices are skipped, and the
 * wallet looks through the chain.
 */
besideAnother: boolean, };

/**
 * The result of a restore.
 */
export type RestoredView = { 
/**
 * Whether the restore made the wallet; false if the wallet existed before.
 */
made: boolean, 
/**
 * The progress of the look; absent if only the words were stored.
 */
restore: RestoreView | null, 
/**
 * Whether the words carry a version of an Electrum seed. Of the wallets that are none, one in
 * some two hundred does so by chance.
 */
likeElectrum: boolean, };

/**
 * Makes the sender ask the secret store for the wallet's words at once.
 */
export type RetrySender = Record<symbol, never>;

export type RevokeKey = { name: string, };

/**
 * A revoked key, with the number of its payouts that may still be sent.
 */
export type RevokedKey = { 
/**
 * The number of its payouts in state NEW. They can still be approved.
 */
payoutsNew: number, 
/**
 * The number of its payouts in state QUEUED. They are still sent.
 */
payoutsQueued: number, 
/**
 * The key's name: the user name of Basic authentication.
 */
name: string, 
/**
 * The permissions: `payments.read`, …
 */
permissions: Array<string>, 
/**
 * Whether its payments need no `notificationUrl`.
 */
notificationUrlOptional: boolean, 
/**
 * Whether the key sees and resends only its own records.
 */
own: boolean, 
/**
 * Hosts to which its notifications may be sent; empty for all.
 */
notifyHosts: Array<string>, 
/**
 * When it was made, ISO 8601.
 */
created: string, 
/**
 * When it was revoked, ISO 8601.
 */
revoked: string | null, };

/**
 * Makes a new HMAC key. For 24 hours `webhook-signature` also holds a signature by the former key.
 */
export type RotateHmacKey = Record<symbol, never>;

export type SaleLineView = { 
/**
 * The product's name; empty for a typed amount.
 */
name: string, count: number, 
/**
 * The price of one.
 */
price: FiatView, 
/**
 * The price of all.
 */
sum: FiatView, };

export type SaleView = { lines: Array<SaleLineView>, 
/**
 * The tip; absent if there is none.
 */
tip: FiatView | null, 
/**
 * The taxes that the lines contain, the lowest rate first.
 */
taxes: Array<TaxView>, };

/**
 * A call of the sandbox, one of `sandbox::ROUTES`.
 */
export type Sandbox = { 
/**
 * `GET`, `POST` or `PUT`.
 */
method: string, 
/**
 * The call's path, like `/sandbox/blocks`.
 */
path: string, 
/**
 * The call's body.
 */
body: unknown, };

/**
 * The sums of the sandbox buttons that pay a payment. They are computed here, because the panel
 * computes no sums.
 */
export type SandboxAmounts = { 
/**
 * The sum still to pay; absent if nothing remains.
 */
exact: BtcView | null, 
/**
 * Half of the sum still to pay; absent if that half is below the dust limit.
 */
part: BtcView | null, 
/**
 * The sum still to pay, and half of the payment's amount in addition.
 */
tooMuch: BtcView, };

/**
 * The answer of a sandbox call. Its form depends on the call.
 */
export type SandboxAnswer = unknown;

/**
 * Replaces the till's products.
 */
export type SaveProducts = { 
/**
 * All products, in the order of their tiles.
 */
products: Array<NewProduct>, };

/**
 * The fee of sending a waiting payout at a named rate, computed with the present coins.
 */
export type SendEstimateView = { fee: BtcView, 
/**
 * The worth of `fee` in the payout's currency, rounded up; absent without a rate.
 */
worth: FiatView | null, 
/**
 * The rate of `fee` in satoshis per virtual byte, cut to 2 decimals. It is above the named
 * rate if `fee` also pays for unconfirmed transactions below.
 */
feeRate: string, 
/**
 * The setting `feeCapSatVb`.
 */
cap: number, 
/**
 * Whether the named rate is above the cap.
 */
aboveCap: boolean, 
/**
 * The payout's amount.
 */
pays: BtcView, 
/**
 * Whether `fee` is higher than `pays`. The order must then be forced.
 */
abovePays: boolean, };

/**
 * Sends an approved payout that waits, in a transaction of its own. The rate may be above the
 * setting `feeCapSatVb`.
 */
export type SendPayout = { payoutId: string, 
/**
 * In whole satoshis per virtual byte.
 */
feeRate: number, 
/**
 * Whether the fee may exceed the payout's amount.
 */
force: boolean, 
/**
 * The highest fee that a person agreed to, in satoshis; absent if no fee was shown.
 */
feeAtMostSats: number | null, };

/**
 * The state of the sender after a command.
 */
export type SenderView = { 
/**
 * Whether the command ended a hold.
 */
released: boolean, 
/**
 * Whether a gateway is running, so that payouts are sent.
 */
serving: boolean, 
/**
 * The number of payouts in state QUEUED.
 */
payoutsQueued: number, };

/**
 * A payout that was sent at a named rate.
 */
export type SentAloneView = { transaction: VersionItem, 
/**
 * The backend's refusal of the transaction; absent if the backend accepted it or did not
 * answer.
 */
refusal: RefusalView | null, 
/**
 * The quotes from which the exchange rate was computed; absent if they were not stored.
 */
certificate: CertificateView | null, notificationUrl: string | null, 
/**
 * The labels that staff imported for its address, its transactions and their outputs.
 */
labels: Array<string>, 
/**
 * The transactions signed for it, the oldest first.
 */
versions: Array<VersionItem>, 
/**
 * The other payouts that share its transaction.
 */
sharesWith: Array<SharingItem>, 
/**
 * Its history, the oldest step first.
 */
history: Array<StepItem>, 
/**
 * The attempts to send its notifications, newest first.
 */
deliveries: Array<DeliveryItem>, 
/**
 * Another payout to the same address: the newest QUEUED or SENT payout, otherwise the newest
 * offer. Present only while this payout is NEW.
 */
paidBefore: PaidBefore | null, 
/**
 * The newest OPEN anomaly of exactly this amount, because this payout may be meant as its
 * refund. Present only while this payout is NEW and not a refund.
 */
anomalyAlike: AnomalyAlike | null, 
/**
 * A warning that the network fee is more than a tenth of the amount; absent once a transaction
 * is signed.
 */
feeWarning: Telling | null, 
/**
 * The part of the daily limit that its approval would leave. Present only while it is NEW and
 * within the limit.
 */
limitLeftAfter: BtcView | null, 
/**
 * Whether the coins that its approval leaves would not pay the same fee once more. Then its
 * fee cannot be raised later. False unless it is NEW.
 */
takesAllCoins: boolean, 
/**
 * Whether it may be approved now.
 */
canApprove: Possible, 
/**
 * Whether staff may send it now at a fee rate of their own.
 */
canSend: Possible, 
/**
 * Whether its fee can be raised now.
 */
canBump: Possible, 
/**
 * Whether it can be abandoned now, together with the payouts that share its transaction.
 */
canAbandon: Possible, 
/**
 * 40 hexadecimal digits.
 */
payoutId: string, 
/**
 * NEW, QUEUED, SENT, EXPIRED or FAILED.
 */
state: PayoutState, 
/**
 * The recipient's address.
 */
address: string, 
/**
 * The recipient's amount.
 */
amount: BtcView, 
/**
 * The amount's worth.
 */
worth: FiatView, 
/**
 * The ISO code of the payout's currency.
 */
currency: string, 
/**
 * The network fee that the offer named.
 */
fee: BtcView, 
/**
 * The worth of `fee`: the difference of `total_worth` and `worth`. Absent in the answer of an
 * older gateway.
 */
feeWorth: FiatView | null, 
/**
 * The payout's share of the fee that was paid; absent until a transaction of this copy of the
 * wallet made it SENT.
 */
feePaid: BtcView | null, 
/**
 * The sum of `amount` and `fee`.
 */
total: BtcView, totalWorth: FiatView, 
/**
 * The payout's exchange rate, with 4 decimals.
 */
rate: string, 
/**
 * The exchange rate for people.
 */
rateShown: string, 
/**
 * The requester's note.
 */
comment: string | null, 
/**
 * The requester: an API key's name, `cli:…` or `panel:…`.
 */
requestedBy: string, 
/**
 * Whether an API key requested it, and not a person.
 */
requestedByShop: boolean, 
/**
 * The approver: an API key's name, `cli:…` or `panel:…`.
 */
approvedBy: string | null, 
/**
 * When it was requested, ISO 8601.
 */
creationTime: string, 
/**
 * When the offer expires, ISO 8601.
 */
expirationTime: string, 
/**
 * When it was approved, ISO 8601.
 */
approvalTime: string | null, 
/**
 * When it became SENT, ISO 8601.
 */
sentTime: string | null, 
/**
 * The id of the transaction that pays it.
 */
btcTxId: string | null, 
/**
 * Whether another copy of the wallet made that transaction.
 */
madeElsewhere: boolean, 
/**
 * The number of confirmations of that transaction.
 */
confirmations: number, 
/**
 * The reason why it FAILED, or why staff ended the offer.
 */
failureReason: Telling | null, 
/**
 * When it became FAILED, ISO 8601.
 */
failedTime: string | null, 
/**
 * Whether the coins were too few at the time of the request.
 */
balanceShort: boolean, 
/**
 * The id of the anomaly that it refunds.
 */
anomalyId: string | null, 
/**
 * Whether it was abandoned, and it is not decided yet whether it FAILED or was sent after all.
 */
beingGivenUp: boolean, 
/**
 * The reason why it waits, without a remedy. Absent unless it is QUEUED or `being_given_up`.
 */
waitsFor: Telling | null, 
/**
 * The kind of that reason.
 */
waitCause: WaitCause | null, 
/**
 * The reason why it is stuck; absent if it is not stuck.
 */
stuck: StuckItem | null, 
/**
 * The Payout record of `/v2`: JSON with exact numbers.
 */
record: string, };

/**
 * The result of testing one server.
 */
export type ServerTestItem = { url: string, 
/**
 * Whether the server can be used.
 */
ok: boolean, 
/**
 * The finding, and the remedy if there is a fault.
 */
message: Telling, 
/**
 * `bitcoin`, `testnet4`, `signet` or `regtest`.
 */
network: string | null, 
/**
 * The height of the server's best block.
 */
height: number | null, 
/**
 * The time in that block's header, ISO 8601.
 */
tipTime: string | null, 
/**
 * The height of the first block that the server still stores; absent if it stores all blocks.
 */
prunedFrom: number | null, 
/**
 * The software's name, as the server reports it.
 */
software: string | null, 
/**
 * The SHA-256 of a certificate that no authority signed. A merchant pins it if the server is
 * their own.
 */
fingerprint: string | null, };

/**
 * Derives the key of nightly backups from a passphrase, and stores that key with the secrets.
 */
export type SetBackupPassphrase = { 
/**
 * At least 8 characters; at least 12 in production.
 */
passphrase: Passphrase, };

/**
 * Changes one or both limits, in one transaction. A limit that is absent stays as it is.
 */
export type SetLimits = { dailyBtc: string | null, 
/**
 * The smallest payout, in BTC.
 */
minimumBtc: string | null, };

/**
 * Changes a setting. The change takes effect at once.
 */
export type SetSetting = { name: string, 
/**
 * The value in the form that `SettingItem::about` describes.
 */
value: string, };

/**
 * Changes up to which price a sale is final before a block holds its coins. Payments that exist
 * already keep their rule.
 */
export type SetSmallSales = { 
/**
 * The ISO code of the currency.
 */
currency: string, 
/**
 * The highest price, as the person typed it; empty if each sale waits for a block.
 */
upTo: string, };

/**
 * The new value of one setting.
 */
export type SettingChange = { name: string, 
/**
 * The value in the form that `SettingItem::about` describes. If absent, the setting returns to
 * its default.
 */
value: string | null, };

/**
 * A setting with its present value.
 */
export type SettingItem = { name: string, 
/**
 * The value in effect.
 */
value: string, 
/**
 * The default in this environment.
 */
default: string, 
/**
 * The purpose and the allowed values of the setting, in sentences.
 */
about: string, 
/**
 * Whether a password is stored. Absent for every setting but `backendPassword`, whose value is
 * never shown.
 */
isSet?: boolean, };

/**
 * A payout that shares a transaction with another payout.
 */
export type SharingItem = { payoutId: string, state: PayoutState, address: string, 
/**
 * The recipient's amount.
 */
amount: BtcView, };

/**
 * The facts beside the words that a restore needs, in this program or in another.
 */
export type SheetView = { 
/**
 * `bip84` or `bip86`.
 */
addressType: string, 
/**
 * The day before the wallet's first coin, like 2024-05-31. For a restored wallet it is the
 * height of a block. `wallet restore --birthday` takes both.
 */
birthday: string, };

export type ShowAnomaly = { anomalyId: string, };

/**
 * Asks for the state of the backups.
 */
export type ShowBackups = Record<symbol, never>;

/**
 * Asks for the takings of consecutive periods, such as the months of a year. The payments count as
 * in `showTakings`.
 */
export type ShowBooks = { 
/**
 * The beginning of each period, the oldest first, and then the end of the last period, in
 * milliseconds since 1970. The gateway knows no time zone.
 */
bounds: Array<number>, };

/**
 * Asks for today's limit.
 */
export type ShowLimits = { 
/**
 * The ISO code of a currency. If given, the answer also holds the limits in this currency at
 * the present rate.
 */
currency: string | null, };

/**
 * Shows one payment with transactions, history, deliveries and anomalies.
 */
export type ShowPayment = { paymentId: string, };

/**
 * Shows one payout with its transactions, history and deliveries.
 */
export type ShowPayout = { payoutId: string, };

/**
 * Asks for the progress of a restored wallet's look through the chain.
 */
export type ShowRestore = Record<symbol, never>;

/**
 * Shows up to which price a sale is final before a block holds its coins.
 */
export type ShowSmallSales = Record<symbol, never>;

/**
 * Asks for the takings of some days. A payment counts on the day on which it first became
 * CONFIRMED, with its price and its coins, but not with coins above its amount. If staff accepted
 * too few coins, the part of the price counts that they cover. A payment that was reversed does
 * not count.
 */
export type ShowTakings = { 
/**
 * The beginning of each day, the oldest first, and then the end of the last day, in
 * milliseconds since 1970. The gateway knows no time zone.
 */
bounds: Array<number>, 
/**
 * The number of the last days that make up the present week, from 1 to 7.
 */
weekDays: number, 
/**
 * The ISO code of the shop's currency; the first of the setting `currencies` if absent.
 */
currency: string | null, };

/**
 * The result of checking a signature, as a shop would.
 */
export type SignatureCheck = "missing" | "right" | "wrong";

export type SmallSalesView = { 
/**
 * The highest price of a small sale; absent if each sale waits for a block.
 */
upTo: FiatView | null, 
/**
 * The reason why each sale waits for a block at present, whatever the setting.
 */
obstacle: Telling | null, 
/**
 * Whether the Bitcoin server belongs to somebody else, who could make up a payment that no
 * block holds.
 */
isServerForeign: boolean, };

/**
 * Asks for a page of the movements of the balance in a period, the oldest first.
 */
export type Statement = { 
/**
 * The ISO code of the currency in which all rows are valued. Rows of payments in other
 * currencies are included.
 */
currency: string, 
/**
 * The beginning of the period, inclusive: a time in ISO 8601, or a date, which means 00:00
 * UTC.
 */
from: string | null, 
/**
 * The end of the period, exclusive, in the same form.
 */
to: string | null, 
/**
 * The only kind of movements on the pages; all kinds if absent.
 */
kind: LedgerKind | null, 
/**
 * The field `next` of the previous page; absent for the first page.
 */
after: StatementPlace | null, 
/**
 * The most rows of the page, from 1 to 5000; 1000 if absent.
 */
limit: number | null, };

/**
 * One movement of the balance.
 */
export type StatementItem = { 
/**
 * When the ledger's row was written, ISO 8601 with milliseconds.
 */
time: string, kind: LedgerKind, 
/**
 * The change of the balance; negative if it falls.
 */
amount: BtcView, 
/**
 * The amount's worth at `exchange_rate`, with the sign of the amount; absent if no rate was
 * known.
 */
worth: FiatView | null, 
/**
 * The rate of the payment or payout if it is in this currency; otherwise the rate at `time`.
 */
exchangeRate: string | null, 
/**
 * The rate for people, with thousands separators.
 */
exchangeRateShown: string | null, 
/**
 * The network fee, if the whole amount is a fee. A paid fee is positive.
 */
fee: BtcView | null, btcTxId: string | null, 
/**
 * The payment that received the coins.
 */
paymentId: string | null, 
/**
 * The payout that sent the coins.
 */
payoutId: string | null, 
/**
 * The anomaly that the payout refunds, or the anomaly of coins that do not count.
 */
anomalyId: string | null, };

/**
 * The end of a page of a statement. All pages together hold the rows that existed when the first
 * page was read.
 */
export type StatementPlace = { 
/**
 * The time of the page's last row, in milliseconds since 1970.
 */
atMs: number, 
/**
 * The number of the page's last row.
 */
row: number, 
/**
 * The number of the ledger's last row when the first page was read.
 */
lastRow: number, };

/**
 * Asks for a page of the statement as a table.
 */
export type StatementSheet = { 
/**
 * The locale whose spreadsheets read the table, such as `de-AT`; absent for plain CSV.
 */
locale: string | null, 
/**
 * The ISO code of the currency in which all rows are valued. Rows of payments in other
 * currencies are included.
 */
currency: string, 
/**
 * The beginning of the period, inclusive: a time in ISO 8601, or a date, which means 00:00
 * UTC.
 */
from: string | null, 
/**
 * The end of the period, exclusive, in the same form.
 */
to: string | null, 
/**
 * The only kind of movements on the pages; all kinds if absent.
 */
kind: LedgerKind | null, 
/**
 * The field `next` of the previous page; absent for the first page.
 */
after: StatementPlace | null, 
/**
 * The most rows of the page, from 1 to 5000; 1000 if absent.
 */
limit: number | null, };

/**
 * A page of the statement as a table. The first page begins with the line of headings.
 */
export type StatementSheetPage = { 
/**
 * The lines, each with its end.
 */
text: string, 
/**
 * The number of movements in `text`.
 */
rows: number, 
/**
 * The value of `after` for the next page; absent on the last page.
 */
next: StatementPlace | null, };

/**
 * Asks for the balances and the sums of a period.
 */
export type StatementSums = { 
/**
 * The ISO code of the currency in which the movements are valued.
 */
currency: string, 
/**
 * The beginning of the period, inclusive: a time in ISO 8601, or a date, which means 00:00
 * UTC.
 */
from: string | null, 
/**
 * The end of the period, exclusive, in the same form.
 */
to: string | null, };

/**
 * The opening balance and the sums of all kinds make up the closing balance.
 */
export type StatementSumsView = { 
/**
 * The balance before the period.
 */
opening: BtcView, 
/**
 * The balance after the period.
 */
closing: BtcView, 
/**
 * The kinds with movements.
 */
byKind: Array<KindView>, 
/**
 * The network fees paid.
 */
fees: BtcView, };

/**
 * The sum of the movements of a day or a month.
 */
export type StatementTotal = { 
/**
 * The day or the month: `2026-01-12` or `2026-01`.
 */
period: string, 
/**
 * The change of the balance.
 */
amount: BtcView, 
/**
 * The worth of the movements; absent if one of them has no worth.
 */
worth: FiatView | null, 
/**
 * The network fees paid.
 */
fee: BtcView, };

/**
 * A page of the movements of a period, and the sums of this page.
 */
export type StatementView = { 
/**
 * The movements, the oldest first.
 */
items: Array<StatementItem>, 
/**
 * The sums of the movements for each day in UTC.
 */
byDay: Array<StatementTotal>, 
/**
 * The sums of the movements for each month in UTC.
 */
byMonth: Array<StatementTotal>, 
/**
 * The sum of all movements on this page.
 */
total: BtcView, 
/**
 * The value of `after` for the next page; absent on the last page.
 */
next: StatementPlace | null, };

/**
 * Asks for the state of the gateway.
 */
export type Status = Record<symbol, never>;

/**
 * The state of the gateway.
 */
export type StatusView = { 
/**
 * `test` or `production`.
 */
environment: string, version: string, 
/**
 * Whether a gateway serves the API. If not, the command line opened the data itself.
 */
serving: boolean, 
/**
 * The URL of the API; absent unless a gateway serves.
 */
api: string | null, 
/**
 * The URL of the payment pages; absent unless a gateway serves.
 */
pages: string | null, 
/**
 * The time of the environment's clock, ISO 8601 with milliseconds.
 */
clock: string, 
/**
 * The chain backend; absent if none is set.
 */
backend: BackendItem | null, 
/**
 * The height of the best block of the last look. While a long look is under way, the height
 * that it has reached.
 */
chainHeight: number, 
/**
 * The time of the last successful look, ISO 8601 with milliseconds; absent before the first
 * look.
 */
chainLookedAt: string | null, 
/**
 * The reason why the last look failed; absent if it succeeded.
 */
chainError: Telling | null, 
/**
 * The reason why the state of the chain forbids new payments; absent if the last complete look
 * is recent.
 */
paymentsRefused: Telling | null, 
/**
 * A sentence while the chain is not known up to the best block: the progress of a long look,
 * or a note that no look has ended since the start.
 */
catchingUp: Telling | null, rates: Array<RateItem>, 
/**
 * The sources of rates, and the state of each.
 */
rateSources: Array<RateSourceItem>, 
/**
 * The number of payments that are NEW, UNDERPAID or UNCONFIRMED.
 */
openPayments: number, 
/**
 * The number of OPEN anomalies.
 */
openAnomalies: number, 
/**
 * The number of notifications that are still to be sent.
 */
waitingNotifications: number, 
/**
 * Whether there is an HMAC key, so that notifications are signed.
 */
hmacKey: boolean, 
/**
 * Whether the backend is the built-in sandbox.
 */
sandbox: boolean, 
/**
 * Whether there is a wallet. Without a wallet no payment can be created.
 */
hasWallet: boolean, 
/**
 * Whether this installation ever made a complete backup.
 */
isBackedUp: boolean, 
/**
 * The place where the secrets are stored, for people.
 */
secrets: string, 
/**
 * The folder of this environment's data.
 */
folder: string, 
/**
 * Warnings for staff: sentences with the remedy at the command line.
 */
warnings: Array<Telling>, 
/**
 * The kind of each warning, in the order of `warnings`.
 */
warningKinds: Array<WarningKind>, 
/**
 * The number of notifications that were given up after three days of attempts.
 */
givenUpNotifications: number, 
/**
 * The ISO codes of the setting `currencies`, in its order.
 */
currencies: Array<string>, 
/**
 * The number of OPEN anomalies of type `REVERSED_PAYMENT`.
 */
openReversals: number, 
/**
 * The number of notifications that failed and will be tried again.
 */
failingNotifications: number, 
/**
 * The servers to which these notifications fail: the first ones by name, then the number of
 * the others.
 */
failingServers: Array<string>, 
/**
 * The number of payouts that API keys requested and that wait for approval.
 */
offersWaiting: number, 
/**
 * The number of payouts that staff requested and that wait for approval.
 */
ownOffersWaiting: number, 
/**
 * The number of payouts in state QUEUED.
 */
payoutsQueued: number, 
/**
 * The reason why approved payouts wait, without a remedy; absent if they wait only for the
 * next batch.
 */
senderWaitsFor: Telling | null, 
/**
 * The kind of `sender_waits_for`.
 */
senderWaitCause: WaitCause | null, 
/**
 * The reason why the sender is on hold, so that it signs nothing; absent if it is not on hold.
 */
senderHold: Telling | null, 
/**
 * The cause of the hold. `HOLD` and `HOLD_RESTORED` end when staff release the sender.
 * `RESTORED` ends by itself, and `RESTORE_STOPPED` after staff continue the look.
 */
senderHoldCause: WaitCause | null, 
/**
 * The transactions of another copy of the wallet that caused the hold, the oldest first. Only
 * the first ones are listed.
 */
senderHoldTransactions: Array<TwinItem>, 
/**
 * The number of all transactions that caused the hold.
 */
senderHoldTransactionsCount: number, 
/**
 * The balance of the wallet: the sum of the ledger.
 */
balance: BtcView, 
/**
 * The first stuck payouts.
 */
stuck: Array<StuckItem>, 
/**
 * The number of all stuck payouts.
 */
stuckPayouts: number, 
/**
 * The alarms about payouts that staff have not dismissed.
 */
alarms: Array<AlarmItem>, };

/**
 * One step in a payout's history.
 */
export type StepItem = { 
/**
 * The time, ISO 8601 with milliseconds.
 */
time: string, step: PayoutStep, 
/**
 * The person or API key that caused the step, if known.
 */
by: string | null, 
/**
 * The transaction that was stored or sent.
 */
btcTxId: string | null, 
/**
 * The reason of the steps `Failed` and `Expired`; absent if the offer expired by itself.
 */
reason: Telling | null, };

/**
 * Stops the look of a restored wallet. The wallet then gives no address until the look continues
 * or the wallet is restored again.
 */
export type StopRestore = Record<symbol, never>;

export type StuckItem = { payoutId: string, 
/**
 * The recipient's amount.
 */
amount: BtcView, address: string, reason: StuckReason, 
/**
 * The fee rate of its transaction, in satoshis per virtual byte, cut to 2 decimals.
 */
feeRate: string, 
/**
 * The fee rate that a new transaction would pay; absent if the backend has estimated none
 * since the start.
 */
feeRateWanted: string | null, 
/**
 * Whether its fee can be raised now.
 */
canBump: boolean, 
/**
 * The facts in sentences, without the remedy and without the last full stop.
 */
message: Telling, };

/**
 * The reason why a payout is stuck.
 */
export type StuckReason = "UNCONFIRMED" | "REFUSED" | "UNSEEN" | "RULED_OUT";

/**
 * The kind of record that a notification is about.
 */
export type SubjectKind = "payment" | "anomaly" | "payout";

/**
 * A whole table.
 */
export type Table = { 
/**
 * The lines, each with its end. The first line has the headings.
 */
text: string, 
/**
 * The number of lines below the headings.
 */
rows: number, };

export type TakingsDay = { sum: TakingsSum, 
/**
 * The sum's height in a chart, in thousandths of the chart's top.
 */
height: number, };

/**
 * The sum of some payments.
 */
export type TakingsSum = { 
/**
 * The number of payments.
 */
payments: number, 
/**
 * The sum of their prices.
 */
price: FiatView, 
/**
 * The sum of the coins that count for them, without what was paid too much.
 */
paid: BtcView, };

/**
 * The takings of some days, in each currency.
 */
export type TakingsView = { 
/**
 * The number of all payments that were ever created, in any state.
 */
paymentsCount: number, 
/**
 * The takings in the shop's currency. If there are none, those in the currency with the most
 * payments.
 */
main: CurrencyTakings, 
/**
 * The takings in the other currencies.
 */
others: Array<CurrencyTakings>, };

/**
 * The lines with one tax rate.
 */
export type TaxView = { perMille: number, 
/**
 * The sum without the tax.
 */
net: FiatView, tax: FiatView, 
/**
 * The sum with the tax.
 */
gross: FiatView, };

/**
 * A sentence for people: its code, its values, and its English text.
 */
export type Telling = { 
/**
 * The stable name of the sentence, such as `PAYOUT_LIMIT_DUST`.
 */
code: string, 
/**
 * The values of the sentence by their names.
 */
values: { [key in string]: TellingValue }, 
/**
 * The sentence in English.
 */
message: string, 
/**
 * The name of the argument that the sentence is about. The sentence then continues this name.
 */
field?: string, };

/**
 * A value of a sentence.
 */
export type TellingValue = string | { 
/**
 * The figure as in the sentence, such as `1,204.90`.
 */
sum: string, } | { 
/**
 * ISO 8601 with `Z`.
 */
time: string, } | Telling;

/**
 * Tests servers from a form before the settings are saved. Stores nothing.
 */
export type TestBackend = { 
/**
 * `core` or `electrum`.
 */
backend: string, 
/**
 * The servers' URLs, in the form of the setting `backendUrl`.
 */
backendUrl: string, 
/**
 * The node's cookie file, if the gateway signs in with one.
 */
backendCookieFile: string | null, 
/**
 * The user, if the gateway signs in with a password.
 */
backendUser: string | null, 
/**
 * The password; if absent, the stored password is used.
 */
backendPassword: BackendPassword | null, 
/**
 * The node's ZMQ address, in the form of the setting `backendZmq`.
 */
backendZmq: string | null, 
/**
 * Pinned certificates, in the form of the setting `backendCertificate`.
 */
backendCertificate: string | null, 
/**
 * The proxy, in the form of the setting `proxy`.
 */
proxy: string | null, };

/**
 * A transaction that pays a payment's address.
 */
export type TransactionItem = { btcTxId: string, 
/**
 * The sum of its outputs to the address.
 */
amount: BtcView, 
/**
 * The part of that sum that counts as paid.
 */
counted: BtcView, confirmations: number, 
/**
 * Whether it is in a block, in the mempool or in neither.
 */
position: TransactionPosition, 
/**
 * When a look first showed it, ISO 8601 with milliseconds.
 */
time: string, };

export type TransactionPosition = "mempool" | "block" | "missing" | "gone";

/**
 * A transaction that another copy of the wallet made.
 */
export type TwinItem = { txid: string, 
/**
 * The time of its block or of its entry into the mempool, ISO 8601.
 */
time: string, 
/**
 * Its outputs that do not pay this wallet.
 */
paid: Array<TwinOutput>, };

/**
 * An output that does not pay this wallet.
 */
export type TwinOutput = { 
/**
 * Absent for a script without an address.
 */
address: string | null, amount: BtcView, };

/**
 * Coins at a payment's address that do not count as paid.
 */
export type Uncounted = { 
/**
 * The sum of these coins.
 */
coins: BtcView, 
/**
 * The worth of that sum at the payment's rate.
 */
worth: FiatView, };

/**
 * Returns a setting to its default.
 */
export type UnsetSetting = { name: string, };

/**
 * A backup that would restore this wallet.
 */
export type VerifiedBackup = { 
/**
 * Always true: a backup that would not restore is an error.
 */
ok: boolean, 
/**
 * When the backup began, ISO 8601.
 */
madeAt: string, 
/**
 * The version of the program that made it.
 */
program: string, };

/**
 * Checks that a backup would restore this installation's wallet.
 */
export type VerifyBackup = { 
/**
 * The absolute path of the backup.
 */
file: string, 
/**
 * If absent, the stored key of the nightly backups is used.
 */
passphrase: Passphrase | null, 
/**
 * Whether to try the stored key first, and the passphrase only if that key does not open the
 * backup.
 */
stored_first?: boolean, };

/**
 * Asks whether words would restore this wallet.
 */
export type VerifyWords = { words: Words, };

/**
 * A signed transaction of a payout.
 */
export type VersionItem = { btcTxId: string, 
/**
 * The position in the order of signing, from 1.
 */
number: number, 
/**
 * Whether it pays the payouts. If false, it abandons them and pays the coins back to this
 * wallet.
 */
pays: boolean, fee: BtcView, 
/**
 * In satoshis per virtual byte, cut to 2 decimals.
 */
feeRate: string, 
/**
 * Whether it is in a block, in the mempool or in neither.
 */
position: TransactionPosition, confirmations: number, 
/**
 * Whether a backend ever accepted it.
 */
accepted: boolean, 
/**
 * When it was stored, ISO 8601 with milliseconds. If the clock is changed before a node
 * accepts the transaction, this time is changed as well.
 */
time: string, };

/**
 * The cause for which an approved payout waits.
 */
export type WaitCause = "TURN" | "GATEWAY" | "HOLD" | "HOLD_RESTORED" | "RESTORED" | "RESTORE_STOPPED" | "KEYRING" | "COINS" | "BLOCK" | "SMALL_COINS" | "FEES" | "NO_ESTIMATE" | "CHAIN" | "NODE" | "OTHER_COPY" | "PAID_BY_COPY" | "GIVEN_UP" | "OTHER";

/**
 * Asks for the wallet's public descriptors. A person who has them sees every payment, but cannot
 * spend.
 */
export type WalletDescriptor = Record<symbol, never>;

/**
 * The public descriptors, with checksums. Sparrow, Specter, Liana and Bitcoin Core read them.
 */
export type WalletDescriptorView = { 
/**
 * One descriptor of both keychains.
 */
descriptor: string, 
/**
 * The descriptor of the addresses for customers.
 */
external: string, 
/**
 * The descriptor of change addresses.
 */
internal: string, 
/**
 * The QR code of `descriptor`, a whole SVG document.
 */
qrSvg: string, };

/**
 * New words from which no wallet has been made yet.
 */
export type WalletDraftView = { 
/**
 * The id of the draft, for `confirmWallet` and `discardDraft`.
 */
draftId: string, 
/**
 * The words, separated by spaces.
 */
words: Words, 
/**
 * The places of the two words that the person must repeat, counted from 1.
 */
asked: [number, number], 
/**
 * The facts to write down beside the words.
 */
sheet: SheetView, };

/**
 * Asks for the wallet's sums.
 */
export type WalletInfo = { 
/**
 * The ISO code of the currency of `balanceWorth`; the first of the setting `currencies` if
 * absent.
 */
currency: string | null, };

/**
 * The wallet's sums.
 */
export type WalletInfoView = { 
/**
 * The sum of the ledger: the confirmed coins of customers, minus the payouts that are SENT.
 */
balance: BtcView, 
/**
 * The worth of `balance`, rounded half-even; absent without a fresh rate.
 */
balanceWorth: FiatView | null, 
/**
 * The coins that a payout could spend now, without those that are not worth their fee at the
 * present fee rate.
 */
spendable: BtcView, 
/**
 * The inputs of our own unconfirmed transactions, each coin once. The change of these
 * transactions may be in `spendable` already.
 */
locked: BtcView, 
/**
 * The confirmations after which a customer's coin is in `spendable`.
 */
spendConfirmations: number, 
/**
 * Unconfirmed coins of customers.
 */
pending: BtcView, 
/**
 * Coinbase outputs with fewer than 100 confirmations, which cannot be spent yet. The balance
 * includes them.
 */
immature: BtcView, 
/**
 * `bip84` or `bip86`.
 */
addressType: string, 
/**
 * `bitcoin`, `testnet4`, `signet` or `regtest`.
 */
network: string, 
/**
 * The length of the longest run of addresses without a coin that is followed by an address
 * with a coin.
 */
longestUnused: number, 
/**
 * The gap limit that another wallet program needs to find all coins.
 */
gapLimit: number, 
/**
 * The derivation index of the next external address.
 */
nextIndex: number, 
/**
 * The progress of a restored wallet's look through the chain; absent if the wallet was not
 * restored, or the look has ended.
 */
restore: RestoreView | null, 
/**
 * The output of `tillgate wallet info --json`.
 */
record: string, };

/**
 * Asks for a page of labels of transactions, addresses and coins, in the format of BIP329.
 */
export type WalletLabels = { 
/**
 * The field `next` of the previous page; absent for the first page.
 */
after: LabelsPlace | null, 
/**
 * The number of outputs on a page, from 1 to 1000; 1000 if absent.
 */
limit: number | null, };

/**
 * A page of labels.
 */
export type WalletLabelsView = { 
/**
 * One label for each transaction, address and coin.
 */
items: Array<Label>, 
/**
 * The value of `after` for the next page; absent on the last page.
 */
next: LabelsPlace | null, };

/**
 * The kind of a warning. For each kind but [`Other`](WarningKind::Other) the panel may have its
 * own sentence.
 */
export type WarningKind = "BACKUP_PASSPHRASE" | "BACKUP_FAILED" | "BACKUP_FOLDER" | "BACKUP_LATE" | "NODE_OFF" | "NODE_ALONE" | "OLD_BLOCK" | "BLOCKS_ONLY" | "UNREPORTED" | "ZMQ" | "KEYRING" | "GIVEN_UP" | "RESTORE_FOUND_NOTHING" | "OTHER";

/**
 * Why a payment is INVALID.
 */
export type WhyInvalid = "SHORT_PAID" | "OVERPAID" | "REVERSED" | "WITHDRAWN";

/**
 * The words of a wallet, from or for a person. They are never logged, and wiped when dropped.
 */
export type Words = string;

/**
 * Whether words would restore this wallet.
 */
export type WordsVerifiedView = { fits: boolean, 
/**
 * The result as a sentence, with the reason if the words would not restore the wallet.
 */
message: string, };

/** The names of the values of each sentence of the gateway, by the sentence's code. */
export const VALUES = {
  /** the chain has not been watched yet: check the Bitcoin backend and try again */
  ACCEPT_CHAIN_NOT_WATCHED: [],
  /** only {would} BTC would be accepted now, less than the {shown} BTC that you saw: look at the payment again */
  ACCEPT_LESS: ["would", "shown"],
  /** there is no payment {_0} */
  ACCEPT_NO_SUCH_PAYMENT: ["_0"],
  /** this payment has no coins to accept */
  ACCEPT_REFUSAL_NO_COINS: [],
  /** a refund of this payment's coins is under way */
  ACCEPT_REFUSAL_REFUNDING: [],
  /** only an UNDERPAID, EXPIRED or INVALID payment can be accepted */
  ACCEPT_REFUSAL_WRONG_STATE: [],
  /** has the checksum of another kind of address (Bech32m instead of Bech32): ask the recipient for a new one */
  ADDRESS_REFUSAL_BECH32M_INSTEAD_OF_BECH32: [],
  /** has the checksum of another kind of address (Bech32 instead of Bech32m): ask the recipient for a new one */
  ADDRESS_REFUSAL_BECH32_INSTEAD_OF_BECH32M: [],
  /** may hold no blanks: give the address alone, without spaces and line breaks */
  ADDRESS_REFUSAL_BLANKS: [],
  /** has a typing error (its checksum does not fit): copy the address anew */
  ADDRESS_REFUSAL_CHECKSUM: [],
  /** is empty: give the Bitcoin address to pay */
  ADDRESS_REFUSAL_EMPTY: [],
  /** is of the Lightning network, which this gateway does not pay: give a Bitcoin address */
  ADDRESS_REFUSAL_LIGHTNING: [],
  /** mixes capitals with small letters: copy the address anew, because a letter may be wrong */
  ADDRESS_REFUSAL_MIXED_CASE: [],
  /** must be a Bitcoin address like {_0} */
  ADDRESS_REFUSAL_NO_ADDRESS: ["_0"],
  /** is a Taproot address whose key is no point of the curve, so that nobody can spend it: ask for a new one */
  ADDRESS_REFUSAL_OFF_THE_CURVE: [],
  /** is an address of {found}; payouts go to addresses like {wanted} here: ask the recipient for one */
  ADDRESS_REFUSAL_OTHER_NETWORK: ["found", "wanted"],
  /** is pay-to-anchor, which anybody can spend: ask the recipient for an address of their own */
  ADDRESS_REFUSAL_PAY_TO_ANCHOR: [],
  /** is a bitcoin: URI: give the address alone, without bitcoin: and without what follows a question mark */
  ADDRESS_REFUSAL_URI: [],
  /** has a witness program of a length that its version does not have: ask the recipient for a new address */
  ADDRESS_REFUSAL_WITNESS_PROGRAM: [],
  /** has witness version {_0}, which nobody can spend safely yet: ask the recipient for another kind of address */
  ADDRESS_REFUSAL_WITNESS_VERSION: ["_0"],
  /** could mean two prices: write it without marks between thousands, like 1234.50 */
  AMBIGUOUS: [],
  /** must be a decimal number with a point and no comma, like 10.00, or 0.001 in Bitcoin */
  AMOUNT_NOT_A_NUMBER: [],
  /** must be more than 0 */
  AMOUNT_NOT_POSITIVE: [],
  /** may have no decimals */
  AMOUNT_NO_DECIMALS: [],
  /** is too large: check its digits */
  AMOUNT_TOO_LARGE: [],
  /** may have at most {_0} decimals */
  AMOUNT_TOO_MANY_DECIMALS: ["_0"],
  /** the backend answers, its best block is {height} */
  ANSWERS: ["height"],
  /** the payout is beyond the limits of payouts */
  APPROVE_LIMIT: [],
  /** this payout is {_0} and waits for no approval{_0_2} */
  APPROVE_NOT_PENDING: ["_0", "_0_2"],
  /** there is no payout {_0} */
  APPROVE_NO_SUCH_PAYOUT: ["_0"],
  /** the offer has expired: ask for a new payout, at the rate of that moment, with a new Idempotency-Key if the request had one */
  APPROVE_OFFER_EXPIRED: [],
  /** the offer has ended ({_0}): ask staff before you request the payout again */
  APPROVE_OFFER_REJECTED: ["_0"],
  /** another copy of this wallet paid {amountSats} BTC to {address}, in transaction {txid}, which was not known at the request: reject this offer, and ask again only if that was for something else */
  APPROVE_PAID_BEFORE: ["amountSats", "address", "txid"],
  /** an earlier refund sent these coins back after all: reject this offer, and dismiss the anomaly */
  APPROVE_REFUNDED_BEFORE: [],
  /** the coins that this payout would send back are gone, or have too few confirmations again: approve it later; once the offer has lapsed the anomaly is open again */
  APPROVE_REFUND_COINS_GONE: [],
  /** must be a colour like #1d6f42 */
  ARGUMENT_FAULT_COLOR: [],
  /** must be an ISO 4217 code, like USD */
  ARGUMENT_FAULT_CURRENCY: [],
  /** must have from {least} to {most} entries */
  ARGUMENT_FAULT_ENTRIES: ["least", "most"],
  /** must be from {least} to {most} sat/vB */
  ARGUMENT_FAULT_FEE_RATE: ["least", "most"],
  /** must be at least {least} sat/vB now: the Bitcoin backend refuses less */
  ARGUMENT_FAULT_LOW_RATE: ["least"],
  /** must have 1 to {most} characters and no control character */
  ARGUMENT_FAULT_NAME: ["most"],
  /** say what to change: the daily limit, the minimum, or both */
  ARGUMENT_FAULT_NO_LIMIT: [],
  /** must be one of the currencies of your prices */
  ARGUMENT_FAULT_NO_PRICES: [],
  /** must be the `next` of the previous page */
  ARGUMENT_FAULT_PLACE: [],
  /** must be from {least} to {most} */
  ARGUMENT_FAULT_RANGE: ["least", "most"],
  /** must name a server, like {example} */
  ARGUMENT_FAULT_SERVER: ["example"],
  /** must be a time like 2026-01-12T12:06:20Z, or a date like 2026-01-12 */
  ARGUMENT_FAULT_TIME: [],
  /** must be 12 or 24 */
  ARGUMENT_FAULT_WORD_COUNT: [],
  /** the Bitcoin backend refused it: {words}. It names a fee of {fee} BTC */
  BACKEND_REFUSAL_NAMES_FEE: ["words", "fee"],
  /** the Bitcoin backend refused it: {words} */
  BACKEND_REFUSAL_REFUSED: ["words"],
  /** the Bitcoin backend refused it, because a block holds another transaction that spends its coins */
  BACKEND_REFUSAL_RULED_OUT: [],
  /** the sandbox cannot be opened: {_0} */
  BACKEND_SANDBOX: ["_0"],
  /** the stored key of backups is unreadable: replace it with `tillgate backup --set-passphrase` */
  BACKUP_BAD_STORED_KEY: [],
  /** another backup is still being made or checked: try again later */
  BACKUP_BUSY: [],
  /** the backup is damaged: bytes were changed or are missing, and no part of it is used; take another backup */
  BACKUP_DAMAGED: [],
  /** the database in the backup is damaged ({_0}): take another backup */
  BACKUP_DAMAGED_DATABASE: ["_0"],
  /** the database is damaged ({_0}), so it is not backed up: restore the last good backup */
  BACKUP_DAMAGED_SOURCE: ["_0"],
  /** {_0} exists, and a backup never overwrites a file: name another file */
  BACKUP_EXISTS: ["_0"],
  /** {action} {path} failed: {source} */
  BACKUP_FILE: ["action", "path", "source"],
  /** opening the backup needs more memory or time than Tillgate's backups do: the file was changed */
  BACKUP_GREEDY: [],
  /** the backup was interrupted, because the gateway stops */
  BACKUP_INTERRUPTED: [],
  /** the key could not be derived from the passphrase: {_0} */
  BACKUP_KEY: ["_0"],
  /** the backup has a format that this version does not know: install a newer Tillgate */
  BACKUP_NEWER_FORM: [],
  /** this is not a backup of Tillgate: name the right file */
  BACKUP_NOT_A_BACKUP: [],
  /** {_0} is not the absolute path of a file */
  BACKUP_NOT_A_FILE: ["_0"],
  /** {_0} is not a folder: name a folder */
  BACKUP_NOT_A_FOLDER: ["_0"],
  /** the path {_0} is not text in UTF-8: name another path */
  BACKUP_NOT_TEXT: ["_0"],
  /** no folder for backups is set: name a file, or set a folder with `tillgate settings set backupFolder FOLDER` */
  BACKUP_NO_FOLDER: [],
  /** the key that signs notifications is missing: make a new one first (`tillgate hmac-key rotate`) */
  BACKUP_NO_HMAC_KEY: [],
  /** no passphrase is stored for backups: store one with `tillgate backup --set-passphrase` */
  BACKUP_NO_PASSPHRASE: [],
  /** a backup needs {neededMb} MB on the disk of {folder}, and {freeMb} MB are free: make room */
  BACKUP_NO_ROOM: ["neededMb", "folder", "freeMb"],
  /** file must be the absolute path of a backup, and there is none at {_0}: check the spelling, and that its disk is connected */
  BACKUP_NO_SUCH_FILE: ["_0"],
  /** there is no folder {_0}: make it, connect its disk, or name another folder (for nightly backups with the setting backupFolder) */
  BACKUP_NO_SUCH_FOLDER: ["_0"],
  /** this installation has no wallet yet that a backup could restore */
  BACKUP_NO_WALLET: [],
  /** the wallet's words are missing, and without them its coins could not be spent: restore the words first */
  BACKUP_NO_WORDS: [],
  /** {_0} holds this environment already, and a restore never overwrites it: name another --data-dir, or move that folder away */
  BACKUP_OCCUPIED: ["_0"],
  /** the backup is of the environment {found}, not of {wanted}: restore or check it there (on the command line with --environment {found}) */
  BACKUP_OTHER_ENVIRONMENT: ["found", "wanted"],
  /** {folder} is not the folder that was named, or its disk is not connected: the file {mark} that Tillgate wrote there is missing. Connect the disk; if it is the right folder nevertheless, name it again: `tillgate settings set backupFolder "{folder}"` */
  BACKUP_OTHER_FOLDER: ["folder", "mark"],
  /** the backup was made with a passphrase other than the stored one: enter its passphrase */
  BACKUP_OTHER_KEY: [],
  /** the backup is of another wallet than this installation's */
  BACKUP_OTHER_WALLET: [],
  /** the wallet's words do not belong to its database, so its coins could not be spent: restore the right words, or take another backup */
  BACKUP_OTHER_WORDS: [],
  /** the backup failed unexpectedly: see the log */
  BACKUP_PANICKED: [],
  /** the passphrase of a backup must have at least {_0} characters */
  BACKUP_SHORT_PASSPHRASE: ["_0"],
  /** the disk of the folder {_0} did not answer: check that it is connected, or name another folder */
  BACKUP_SILENT_DISK: ["_0"],
  /** the disks of several folders that were named earlier still do not answer: restart Tillgate, then name another folder */
  BACKUP_SILENT_DISKS: [],
  /** {action} failed: {source} */
  BACKUP_STREAM: ["action", "source"],
  /** no file can be written to the folder {folder} ({source}): let the user who runs Tillgate write there, or name another folder */
  BACKUP_TAKES_NO_FILES: ["folder", "source"],
  /** the backup does not open: the passphrase is wrong, or the file was changed */
  BACKUP_WRONG_PASSPHRASE: [],
  /** {_0} is no address at which Bitcoin Core publishes: set backendZmq to one like tcp://127.0.0.1:28332 */
  BAD_ADDRESS: ["_0"],
  /** the cookie file {path} is empty: restart the node, which writes it anew */
  BAD_COOKIE_EMPTY: ["path"],
  /** the folder {path} holds no cookie file of this network's node: start the node with server=1 in its bitcoin.conf, or set backendCookieFile; with rpcuser or rpcpassword a node writes no cookie, so set backendUser instead */
  BAD_COOKIE_NOT_IN_FOLDER: ["path"],
  /** {path} is no cookie file of Bitcoin Core ({why}): set backendCookieFile to the file .cookie of the node */
  BAD_COOKIE_NO_COOKIE: ["path", "why"],
  /** the node's cookie file {path} cannot be read ({error}): start the node with server=1 in its bitcoin.conf, or set backendCookieFile; with rpcuser or rpcpassword a node writes no cookie, so set backendUser instead */
  BAD_COOKIE_UNREADABLE: ["path", "error"],
  /** the certificates that this system trusts cannot be read: {_0} */
  BAD_NODE_CERTIFICATES: ["_0"],
  /** {amountSats} satoshis to {script} are dust: nodes relay {leastSats} or more */
  BAD_PAYEE_DUST: ["amountSats", "script", "leastSats"],
  /** a transaction without a payee was requested */
  BAD_PAYEE_NOBODY: [],
  /** the script {_0} is not of a type that can be paid */
  BAD_PAYEE_SCRIPT: ["_0"],
  /** the amounts come to more than 21 million bitcoin */
  BAD_PAYEE_TOO_MUCH: [],
  /** no secure connections can be made: {_0} */
  BAD_SERVER_TLS: ["_0"],
  /** {_0} is no address of an Electrum server: set backendUrl to one like ssl://electrum.example:50002 */
  BAD_SERVER_URL: ["_0"],
  /** {_0} is no address of a Bitcoin Core node: set backendUrl to one like http://127.0.0.1:8332 */
  BAD_URL: ["_0"],
  /** each word is in the list, but the checksum is wrong: one word was written down wrong, or two changed places */
  BAD_WORDS_CHECKSUM: [],
  /** a wallet has 12, 15, 18, 21 or 24 words, and {_0} were given */
  BAD_WORDS_COUNT: ["_0"],
  /** this is a descriptor, not words: restore it in a program that reads descriptors, and send the coins to a new wallet of Tillgate */
  BAD_WORDS_DESCRIPTOR: [],
  /** these are the words of an Electrum seed, which makes other keys than BIP39's: restore it in Electrum, and send its coins to a new wallet of Tillgate */
  BAD_WORDS_ELECTRUM: [],
  /** this is an extended key (like xprv or xpub), not words: restore it in a program that reads such keys, and send the coins to a new wallet of Tillgate */
  BAD_WORDS_EXTENDED_KEY: [],
  /** word {_0} is not in the list of BIP39's English words: look at its spelling */
  BAD_WORDS_NOT_IN_LIST: ["_0"],
  /** these are {_0} words, and only English words are read: restore them in a program that knows {_0} words, and send the coins to a new wallet of Tillgate */
  BAD_WORDS_OTHER_LANGUAGE: ["_0"],
  /** the first {_0} words are a wallet's, and a word follows: a passphrase (25th word) is not supported; restore the wallet in a program that takes it, and send the coins to a new wallet of Tillgate */
  BAD_WORDS_PASSPHRASE: ["_0"],
  /** these are the digits of a SeedQR: let the device that shows it show the words, and type the words */
  BAD_WORDS_SEED_QR: [],
  /** {_0} words are a share of SLIP39 (Trezor's Shamir backup), not BIP39's words: restore the shares in a device or program that reads them, and send the coins to a new wallet of Tillgate */
  BAD_WORDS_SLIP39: ["_0"],
  /** must be an address of the sandbox's network (regtest), like bcrt1q… */
  BODY_FAULT_ADDRESS: [],
  /** must be a decimal number like 0.00100000 */
  BODY_FAULT_BTC: [],
  /** contradicts "broadcast": "{_0}" */
  BODY_FAULT_CONTRADICTS: ["_0"],
  /** is not the code of a known currency */
  BODY_FAULT_CURRENCY: [],
  /** must be true or false */
  BODY_FAULT_FLAG: [],
  /** is not possible: {_0} */
  BODY_FAULT_IMPOSSIBLE: ["_0"],
  /** is required, because nothing remains to be paid of this payment */
  BODY_FAULT_NOTHING_REMAINS: [],
  /** is allowed only with "toCustomer": false */
  BODY_FAULT_ONLY_TO_OTHERS: [],
  /** must be a decimal number like 65000.00, or null */
  BODY_FAULT_RATE: [],
  /** must be a number from 0 to {most} with at most 3 decimals */
  BODY_FAULT_THOUSANDTHS: ["most"],
  /** must be a whole number from {least} to {most} */
  BODY_FAULT_WHOLE: ["least", "most"],
  /** it conflicts with the mempool: {_0} */
  BROADCAST_REFUSAL_CONFLICT: ["_0"],
  /** input {outpoint} is a coinbase that can be spent from block {fromHeight} */
  BROADCAST_REFUSAL_IMMATURE_COINBASE: ["outpoint", "fromHeight"],
  /** input {outpoint} was spent in the chain by {spender} */
  BROADCAST_REFUSAL_INPUT_SPENT: ["outpoint", "spender"],
  /** it is not valid: {_0} */
  BROADCAST_REFUSAL_INVALID: ["_0"],
  /** it is locked: {_0} */
  BROADCAST_REFUSAL_LOCKED: ["_0"],
  /** input {_0} is missing: its transaction is neither in the chain nor in the mempool */
  BROADCAST_REFUSAL_MISSING_INPUTS: ["_0"],
  /** it would not be relayed: {_0} */
  BROADCAST_REFUSAL_POLICY: ["_0"],
  /** it was refused: {_0} */
  BROADCAST_REFUSAL_REFUSED: ["_0"],
  /** it conflicts with the mempool and pays {feeSats} satoshis; a replacement must pay at least {minSats} */
  BROADCAST_REFUSAL_REPLACEMENT_FEE_TOO_LOW: ["feeSats", "minSats"],
  /** the script or signature of input {input} is not valid */
  BROADCAST_REFUSAL_SCRIPT_INVALID: ["input"],
  /** the sandbox is set not to answer broadcasts */
  BROADCAST_REFUSAL_UNANSWERED: [],
  /** the call was interrupted */
  CALL_INTERRUPTED: [],
  /** the request is not valid */
  CALL_INVALID: [],
  /** this path accepts only {_0} */
  CALL_METHOD_NOT_ALLOWED: ["_0"],
  /** there is no such path */
  CALL_NO_SUCH_PATH: [],
  /** coins were seen for this payment: wait for its deadline, then decide on the coins */
  CANCEL_COINS_SEEN: [],
  /** this payment is {_0}: only a payment that is NEW can be cancelled */
  CANCEL_NOT_NEW: ["_0"],
  /** there is no payment {_0} */
  CANCEL_NO_SUCH_PAYMENT: ["_0"],
  /** the time of this payment is over: it closes by itself once the chain shows that no coins came, a day after its deadline at the latest */
  CANCEL_TIME_OVER: [],
  /** the gateway catches up with the chain: block {seenHeight} of {tipHeight} ({fromHeight} %) */
  CATCHING_UP: ["seenHeight", "tipHeight", "fromHeight"],
  /** has expired */
  CERTIFICATE_FAULT_EXPIRED: [],
  /** is not valid yet; check this machine's clock */
  CERTIFICATE_FAULT_NOT_VALID_YET: [],
  /** is for another name */
  CERTIFICATE_FAULT_OTHER_NAME: [],
  /** was revoked by its authority */
  CERTIFICATE_FAULT_REVOKED: [],
  /** is self-signed, and not by an authority that this machine trusts */
  CERTIFICATE_FAULT_SELF_SIGNED: [],
  /** was issued by an authority that this machine does not know, or the server leaves out the certificate in between */
  CERTIFICATE_FAULT_UNKNOWN_ISSUER: [],
  /** cannot be used for a server */
  CERTIFICATE_FAULT_UNUSABLE: [],
  /** the Bitcoin backend cannot be asked: {_0} */
  CHAIN_DOWN: ["_0"],
  /** another copy of this wallet is in use: it gave a customer the address of index {index}, to which transaction {txid} of {at} pays {amount} BTC */
  COPY_IN_USE_GAVE_ADDRESS: ["index", "txid", "at", "amount"],
  /** another copy of this wallet is in use: it made transaction {txid} of {at}, which pays {paid} */
  COPY_IN_USE_PAID: ["txid", "at", "paid"],
  /** another copy of this wallet may be in use: transaction {txid} of {at} pays {amount} BTC to the change address of index {index}, which this copy has not used */
  COPY_IN_USE_PAID_CHANGE: ["txid", "at", "amount", "index"],
  /** another copy of this wallet is in use: it made transaction {txid} of {at}, which pays this wallet alone */
  COPY_IN_USE_PAID_ITSELF: ["txid", "at"],
  /** the request is not valid */
  CREATE_INVALID: [],
  /** this Idempotency-Key was used with another request */
  CREATE_KEY_REUSED: [],
  /** the data directory {path} is in use already, by another Tillgate{process}: stop it first, or name another --data-dir */
  DATA_DIR_IN_USE: ["path", "process"],
  /** {action} {path} failed: {source} */
  DATA_DIR_IO: ["action", "path", "source"],
  /** there is no data directory {path}: check --data-dir and --environment; `tillgate serve` makes a new one */
  DATA_DIR_MISSING: ["path"],
  /** this user has no home folder to keep data in: name a folder with --data-dir */
  DATA_DIR_NO_HOME: [],
  /** the disk is nearly full: new records and resends are refused; everything else continues */
  DISK_NEARLY_FULL: [],
  /** this anomaly is {_0} and waits for no decision */
  DISMISS_NOT_OPEN: ["_0"],
  /** there is no anomaly {_0} */
  DISMISS_NO_SUCH_ANOMALY: ["_0"],
  /** a dismissal needs a reason of 1 to {reasonMax} characters, without line breaks */
  DISMISS_REASON: ["reasonMax"],
  /** {first}; {next} */
  DOWN_BOTH: ["first", "next"],
  /** the sandbox is built in and asks no server: choose another network first, before there is a wallet (`tillgate settings set network regtest`, or signet or testnet4) */
  DOWN_BUILT_IN: [],
  /** the node is catching up, it has block {blocks} of {headers} */
  DOWN_CATCHING_UP: ["blocks", "headers"],
  /** the certificate of the server at {host} {fault}. If it is your server, and its certificate has this SHA-256, pin it: `tillgate settings set backendCertificate {found}` */
  DOWN_CERTIFICATE: ["host", "fault", "found"],
  /** the node at {host} answers, but it refuses the cookie: set backendCookieFile to the file of this node */
  DOWN_COOKIE_REFUSED: ["host"],
  /** the node is downloading the chain, it has block {blocks} of {headers} */
  DOWN_DOWNLOADING: ["blocks", "headers"],
  /** the node at {host} answered 403 Forbidden to {methods}: in its bitcoin.conf, rpcallowip must name this machine's address, and rpcwhitelist, if it is set, every call of the gateway (the page about the network lists them) */
  DOWN_FORBIDDEN: ["host", "methods"],
  /** no secure connection to the server at {host}: {fault} */
  DOWN_INSECURE: ["host", "fault"],
  /** the {who} at {host} did not answer in time */
  DOWN_LATE: ["who", "host"],
  /** the server at {host} did not answer in time (if it speaks no TLS at this port, set backendUrl to tcp://{host}) */
  DOWN_LATE_OVER_TLS: ["host"],
  /** the {who}'s best block {height} has less work behind it than the known block {watched}: it is behind, or lost blocks, and must catch up first (for another chain on purpose, name another --data-dir; if a stranger made up that block, `tillgate wallet restore --birthday DATE` starts again from the wallet's words) */
  DOWN_LESS_WORK: ["who", "height", "watched"],
  /** the node is loading its mempool */
  DOWN_LOADING_MEMPOOL: [],
  /** {why} (if it speaks TLS at this port, set backendUrl to ssl://{host}) */
  DOWN_MAYBE_TLS: ["why", "host"],
  /** no Bitcoin backend is set: set backendUrl to your node's address, like http://127.0.0.1:8332, and backendCookieFile or backendUser for the login */
  DOWN_NOT_SET: [],
  /** the server at {host} is no Bitcoin Core: {words} */
  DOWN_NO_CORE: ["host", "words"],
  /** backendUrl is set, but no credentials are: set backendCookieFile to the node's file .cookie, or backendUser and backendPassword */
  DOWN_NO_CREDENTIALS: [],
  /** no connection to the node at {host} ({why}): start the node with server=1 in its bitcoin.conf, and on another machine with rpcbind and rpcallowip too, or set backendUrl to where it answers */
  DOWN_NO_NODE: ["host", "why"],
  /** backendUser is set and its password is not: give it by `tillgate settings set backendPassword -` */
  DOWN_NO_PASSWORD: [],
  /** no connection to the server at {host} ({why}): see that it runs, or set backendUrl to where it answers */
  DOWN_NO_SERVER: ["host", "why"],
  /** the server at {host} speaks no TLS at this port: set backendUrl to the port of its TLS, or to tcp://{host} on your own machine or network */
  DOWN_NO_TLS: ["host"],
  /** the {who} at {host} cannot be asked: {why} */
  DOWN_NO_WAY: ["who", "host", "why"],
  /** {name}: {why} */
  DOWN_OF_SERVER: ["name", "why"],
  /** the server at {host} shows a certificate that is not the pinned one, nor of a public authority; somebody may be listening in. If you know that the server's certificate was renewed, pin the new one (with several servers, list all their certificates, separated by commas): `tillgate settings set backendCertificate {found}` */
  DOWN_OTHER_CERTIFICATE: ["host", "found"],
  /** the {who} is on {found}, and the setting network says {network}: set backendUrl to a {kind} of that network */
  DOWN_OTHER_NETWORK: ["who", "found", "network", "kind"],
  /** it is on the network that begins with block {genesis}, and the setting network says {network}: take it out of backendUrl */
  DOWN_OTHER_SERVERS_NETWORK: ["genesis", "network"],
  /** the node at {host} answers, but it refuses user and password: set backendUser and backendPassword right */
  DOWN_PASSWORD_REFUSED: ["host"],
  /** the node is still starting ({words}) */
  DOWN_STARTING: ["words"],
  /** a fee rate of {_0} sat/vB is far above any real rate: check it */
  DRAFT_FEE_RATE: ["_0"],
  /** these words are no longer kept: they were used, replaced by others, or shown more than 15 minutes ago; begin again, and write down the new ones */
  DRAFT_GONE: [],
  /** the coins that can be spent now come to {availableSats} BTC, and {neededSats} BTC are needed with the fee */
  DRAFT_NOT_ENOUGH: ["availableSats", "neededSats"],
  /** one transaction cannot spend so many small coins: the payout is too large for it */
  DRAFT_TOO_HEAVY: [],
  /** the coin {_0} is to be spent twice by one transaction */
  DRAFT_TWICE: ["_0"],
  /** earlier payouts wait for a block; this one follows them */
  DRAFT_WAITS_FOR_BLOCK: [],
  /** word {_0} does not match: look at what you wrote down */
  DRAFT_WRONG: ["_0"],
  /** the server closed the connection without an answer */
  FAILURE_CLOSED: [],
  /** no secure connection to {host}: {fault} */
  FAILURE_INSECURE: ["host", "fault"],
  /** {_0} */
  FAILURE_NO_WAY: ["_0"],
  /** {_0} */
  FAILURE_OTHER: ["_0"],
  /** it could not be sent in time: earlier payouts waited for a block */
  FAILURE_REASON_BLOCK: [],
  /** it was cancelled by staff */
  FAILURE_REASON_CANCELLED: [],
  /** it could not be sent in time: there were not enough coins */
  FAILURE_REASON_COINS: [],
  /** it could not be sent in time: the fees of the network were above the cap */
  FAILURE_REASON_FEES: [],
  /** it was cancelled, and the coins went back to the wallet */
  FAILURE_REASON_GIVEN_UP: [],
  /** it could not be sent in time: the keyring was locked or missing */
  FAILURE_REASON_KEYRING: [],
  /** it could not be sent in time: its transaction could not be made */
  FAILURE_REASON_OTHER: [],
  /** it was rejected by staff */
  FAILURE_REASON_REJECTED: [],
  /** it was rejected by staff: {reason} */
  FAILURE_REASON_REJECTED_FOR: ["reason"],
  /** another transaction spent its coins and has 6 confirmations: nothing was sent to the address */
  FAILURE_REASON_RULED_OUT: [],
  /** it could not be sent in time: it needs more coins than one transaction can spend */
  FAILURE_REASON_SMALL_COINS: [],
  /** it was withdrawn by staff */
  FAILURE_REASON_WITHDRAWN: [],
  /** it was withdrawn by staff: {reason} */
  FAILURE_REASON_WITHDRAWN_FOR: ["reason"],
  /** the server refuses connections */
  FAILURE_REFUSED: [],
  /** the server did not answer */
  FAILURE_SILENT: [],
  /** the server at {_0} speaks TLS at this port: write https:// in its address */
  FAILURE_SPEAKS_TLS: ["_0"],
  /** {_0} without coming to an answer */
  FAILURE_TOO_MUCH: ["_0"],
  /** the server cannot be reached from here */
  FAILURE_UNREACHABLE: [],
  /** may hold no control characters and no spaces at its ends */
  FAULT_BLANK_URL: [],
  /** may not be given together with btcAmount: give one of them */
  FAULT_BOTH_AMOUNTS: [],
  /** may hold no control characters but tabs and line breaks */
  FAULT_CONTROL_CHARACTERS: [],
  /** holds half a character: an escape like \ud83c needs its second half, like \udf89 */
  FAULT_HALF_CHARACTER: [],
  /** may hold no user name or password */
  FAULT_LOGIN: [],
  /** may have at most 2048 bytes */
  FAULT_LONG_URL: [],
  /** must be BTC or one of {_0} */
  FAULT_NOT_A_CURRENCY: ["_0"],
  /** must be one of {_0} */
  FAULT_NOT_ONE_OF: ["_0"],
  /** must be {_0}, which is the whole refund, or be left out */
  FAULT_NOT_THE_REFUND: ["_0"],
  /** or fiatAmount is required: give one of them */
  FAULT_NO_AMOUNT: [],
  /** must be a number, or a string that holds one */
  FAULT_NO_NUMBER: [],
  /** must be an object */
  FAULT_NO_OBJECT: [],
  /** is worth less than a satoshi: ask for more */
  FAULT_NO_SATOSHI: [],
  /** must be a string */
  FAULT_NO_STRING: [],
  /** must be a URL like https://shop.example/hook */
  FAULT_NO_URL: [],
  /** must be at {_0}: this API key may notify no other host */
  FAULT_OTHER_HOST: ["_0"],
  /** must begin with http:// or https:// */
  FAULT_OTHER_SCHEME: [],
  /** is one of this wallet's own: coins sent there would never leave it, give the recipient's address */
  FAULT_OWN_ADDRESS: [],
  /** is required */
  FAULT_REQUIRED: [],
  /** must be shorter: all texts and URLs of a payment may have {most} bytes together, and these have {inAll} */
  FAULT_TEXTS_TOO_LONG: ["most", "inAll"],
  /** may have at most {most} characters */
  FAULT_TOO_MANY_CHARACTERS: ["most"],
  /** the first look at the chain since the start has not ended */
  FIRST_LOOK: [],
  /** holds the character "{_0}", which no address has: give the address alone */
  FOREIGN_CHARACTER_ASCII: ["_0"],
  /** holds an invisible character, U+{_0}, which no address has: give the address alone */
  FOREIGN_CHARACTER_CONTROL: ["_0"],
  /** holds an invisible character, U+{code} ({name}), which no address has: give the address alone */
  FOREIGN_CHARACTER_NAMED: ["code", "name"],
  /** holds the character "{character}" (U+{code}), which no address has: give the address alone */
  FOREIGN_CHARACTER_OTHER: ["character", "code"],
  /** Bitcoin's main network */
  FOUND_NETWORK_MAIN: [],
  /** the regtest network */
  FOUND_NETWORK_REGTEST: [],
  /** a test network */
  FOUND_NETWORK_TEST: [],
  /** {count} {count_2} given up after three days of attempts: `tillgate deliveries list --failed` shows why, `tillgate deliveries resend` sends one again */
  GIVEN_UP: ["count", "count_2"],
  /** {count} {count_2} made after this backup */
  HELD_AFTER_SCAN_AFTER_BACKUP: ["count", "count_2"],
  /** the wallet was restored from its words, and the chain holds {count} {count_2} of this wallet */
  HELD_AFTER_SCAN_FOUND: ["count", "count_2"],
  /** {count} {count_2} signed, and neither in a block nor in the mempool: the same transaction is rebroadcast ({ids}) */
  HELD_AFTER_SCAN_MISSING: ["count", "count_2", "ids"],
  /** the wallet was restored from a backup, and the look found no transaction that was made after it; the last ones may not be in a block yet, so wait for a few blocks first */
  HELD_AFTER_SCAN_NONE_AFTER_BACKUP: [],
  /** the wallet was restored from its words */
  HELD_AFTER_SCAN_OF_WORDS: [],
  /** {count} {count_2} to addresses that this copy does not know */
  HELD_AFTER_SCAN_PAYMENTS: ["count", "count_2"],
  /** {count} {count_2} open here that the other copy may have refunded: compare before you refund */
  HELD_AFTER_SCAN_REFUNDABLE: ["count", "count_2"],
  /** the network's fee is more than the amount itself: pay more in one payout, or wait until fees have fallen */
  HIGH_FEE_ABOVE_AMOUNT: [],
  /** the network's fee is more than a tenth of the amount: pay more in one payout, or wait until fees have fallen */
  HIGH_FEE_ABOVE_TENTH: [],
  /** {first}; {next} */
  HOLD_REASON_BOTH: ["first", "next"],
  /** {first}; others; and {last} */
  HOLD_REASON_OTHERS: ["first", "last"],
  /** this copy of the wallet was restored, and has not looked through the whole chain yet for transactions of another copy; the sender continues by itself after that */
  HOLD_REASON_RESTORED: [],
  /** this copy of the wallet was restored, and its look through the chain for transactions of another copy was stopped before its end */
  HOLD_REASON_STOPPED: [],
  /** a key's name is 1 to 64 letters, digits or underscores */
  KEY_BAD_NAME: [],
  /** too many long lists are being read ({listsOfKeyMax} for an API key, {listsMax} in all): read one first */
  KEY_LIMIT_LISTS: ["listsOfKeyMax", "listsMax"],
  /** this API key has as many open payments as it may have ({most}): wait until one is paid or expires */
  KEY_LIMIT_OPEN_PAYMENTS: ["most"],
  /** this API key asks for payments, payouts and resends faster than it may ({perSecond} in a second): slow down */
  KEY_LIMIT_REQUESTS: ["perSecond"],
  /** a live key is named {_0} already: revoke it first, or choose another name */
  KEY_NAME_TAKEN: ["_0"],
  /** no live key is named {_0} */
  KEY_NO_SUCH_KEY: ["_0"],
  /** notifications wait, because their HMAC key cannot be read: {_0} */
  KEY_UNREAD: ["_0"],
  /** line {line} is not UTF-8: save the file as UTF-8. Nothing was imported */
  LABELS_FILE_NOT_UTF8: ["line"],
  /** line {line} is no JSON object ({error}): mend it, or export the labels as BIP329 (.jsonl) again. Nothing was imported */
  LABELS_FILE_NO_OBJECT: ["line", "error"],
  /** line {line} has no text `{member}`: mend it, or export the labels as BIP329 (.jsonl) again. Nothing was imported */
  LABELS_FILE_NO_TEXT: ["line", "member"],
  /** the file has more than {mebibytes} MiB: split it between two lines. Nothing was imported */
  LABELS_FILE_TOO_LARGE: ["mebibytes"],
  /** {path} cannot be read ({error}): nothing was imported */
  LABELS_FILE_UNREADABLE: ["path", "error"],
  /** the last good backup is of {at} */
  LAST_GOOD_AT: ["at"],
  /** there is no good backup yet */
  LAST_GOOD_NONE: [],
  /** the request is not valid */
  LIMIT_INVALID: [],
  /** Payout above daily limit: {availableSats} BTC are left of it until {until}. Ask for less, wait, or have the limit raised (the setting dailyLimitBtc) */
  LIMIT_REFUSAL_ABOVE_DAILY_LIMIT: ["availableSats", "until"],
  /** Payout below minimum: a payout is {minimumSats} BTC at least. Ask for more */
  LIMIT_REFUSAL_BELOW_MINIMUM: ["minimumSats"],
  /** Refund is dust: the network relays no output below {dustSats} BTC to this address. Dismiss the anomaly */
  LIMIT_REFUSAL_DUST: ["dustSats"],
  /** since {at} the backend shows another chain than before, or an older copy of it: it was scanned from the wallet's birth on, and payments become INVALID if their transactions stay missing */
  LOOK_WARNING_BEGUN_ANEW: ["at"],
  /** this machine's clock is {minutes} minutes ahead of the servers that tell exchange rates: set it right; payments are closed by those servers' time meanwhile */
  LOOK_WARNING_IS_AHEAD: ["minutes"],
  /** this machine's clock is behind the times of blocks or servers by {minutes} minutes or more: set it right, or payments are closed too late */
  LOOK_WARNING_IS_BEHIND: ["minutes"],
  /** the best block is {minutes} minutes old by this machine's clock, and no recent block was seen since the gateway started or the machine woke: if the clock is ahead, set it right; until a recent block comes, a payment is closed only once a block is later than its deadline, or a day after the deadline */
  LOOK_WARNING_MAY_BE_AHEAD: ["minutes"],
  /** the database holds times up to {until}, which are in the future: this machine's clock was ahead before the gateway started, or is behind now; set it right if it is wrong; payments with future times stay open until the deadline that customers were told; offers with future times have expired; payouts with future approvals are sent as soon as possible, and count in the daily limit until the day of their approval is over */
  LOOK_WARNING_STORED_AHEAD: ["until"],
  /** the median quote is out of range */
  MEDIAN_OUT_OF_RANGE: [],
  /** there is no payment {_0} */
  MISSING_PAYMENT: ["_0"],
  /** there is no transaction {_0} */
  MISSING_TRANSACTION: ["_0"],
  /** the payout is {_0}: {_1} */
  NAMED_RATE_NOT_WAITING: ["_0", "_1"],
  /** the payout cannot be sent now: {_0} */
  NAMED_RATE_OBSTACLE: ["_0"],
  /** the last backup to the folder of nightly backups failed, and is tried again in an hour: {why} ({lastGood}) */
  NIGHTLY_FAULT_FAILED: ["why", "lastGood"],
  /** no backup was made last night: {lastGood}; nightly backups need a running Tillgate */
  NIGHTLY_FAULT_LATE: ["lastGood"],
  /** no nightly backup is made, because no passphrase is set: `tillgate backup --set-passphrase` */
  NIGHTLY_FAULT_NO_PASSPHRASE: [],
  /** no transaction of the restored wallet was found. If it ever received coins, check four things: another address type than bip84 and bip86, which were both looked at; a passphrase (25th word), which is not supported; words of another program, like Electrum; and a birthday that is too late */
  NOTHING_FOUND: [],
  /** is not accepted */
  NOT_ACCEPTED: [],
  /** must hold the beginning of each day and the end of the last one, at most {daysMax} days */
  NOT_DAYS_COUNT: ["daysMax"],
  /** must hold times that ascend */
  NOT_DAYS_ORDER: [],
  /** must be from 1 to {weekDays}, and at most the number of days */
  NOT_DAYS_WEEK: ["weekDays"],
  /** there is no alarm about payout {_0} */
  NOT_FOUND_ALARM: ["_0"],
  /** there is no anomaly {_0} */
  NOT_FOUND_ANOMALY: ["_0"],
  /** there is no payment {_0} */
  NOT_FOUND_PAYMENT: ["_0"],
  /** there is no payout {_0} */
  NOT_FOUND_PAYOUT: ["_0"],
  /** there is no delivery, payment, anomaly or payout {_0} */
  NOT_FOUND_RECORD: ["_0"],
  /** must be at most {hostsMax} hosts like shop.example or 192.0.2.1, each without scheme, port and path */
  NOT_HOSTS: ["hostsMax"],
  /** permissions are shop, full, or a comma-separated list of payments.read, payments.create, payouts.read, payouts.create, payouts.approve */
  NOT_PERMISSIONS: [],
  /** the URL cannot be used */
  NOT_POSTED_BAD_URL: [],
  /** the server did not answer within {seconds} seconds */
  NOT_POSTED_LATE: ["seconds"],
  /** the server redirects ({_0}), and redirects are not followed: set the final URL */
  NOT_POSTED_REDIRECTS: ["_0"],
  /** the server answered {_0} */
  NOT_POSTED_STATUS: ["_0"],
  /** it is not known yet whether the address is the wallet's own: try again in a minute */
  NOT_READY_NOT_DERIVED: [],
  /** the wallet was restored, and has not looked through the whole chain yet for transactions of another copy */
  NOT_READY_NOT_LOOKED: [],
  /** the wallet is not set up */
  NOT_READY_NOT_MADE: [],
  /** another copy of the wallet may have given the chosen address to a customer: repeat the request for a new address */
  NOT_READY_SKIPPED: [],
  /** a payout whose transaction spends its change is being cancelled: wait until a block holds that transaction or its replacement, or cancel this payout as well */
  NOT_REPLACEABLE_CHANGE_GIVEN_UP: [],
  /** its transaction is in a block */
  NOT_REPLACEABLE_CONFIRMED: [],
  /** it is being cancelled already */
  NOT_REPLACEABLE_GIVEN_UP: [],
  /** its transaction spends the change of a payout that is being cancelled, and it is cancelled too */
  NOT_REPLACEABLE_GIVEN_UP_WITH: [],
  /** no transaction was signed for it yet */
  NOT_REPLACEABLE_NOTHING_STORED: [],
  /** it was never approved */
  NOT_REPLACEABLE_NOT_APPROVED: [],
  /** nothing more will be sent */
  NOT_REPLACEABLE_OVER: [],
  /** another copy of this wallet pays a payout of this transaction, or of an unconfirmed transaction before it: cancel this payout, then request the unpaid payouts again */
  NOT_REPLACEABLE_PAID_OTHERWISE: [],
  /** a block holds another transaction that spends its coins: no replacement can be mined */
  NOT_REPLACEABLE_RULED_OUT: [],
  /** it was paid by a transaction that was not made here */
  NOT_REPLACEABLE_SENT_ELSEWHERE: [],
  /** its offer is over: request it again */
  NOT_WAITING_EXPIRED: [],
  /** nothing more will be sent: request it again */
  NOT_WAITING_FAILED: [],
  /** it waits for approval: approve it first */
  NOT_WAITING_NOT_APPROVED: [],
  /** it was sent already: raise the fee of its transaction */
  NOT_WAITING_SENT: [],
  /** its transaction is signed already: raise the fee of that transaction */
  NOT_WAITING_SIGNED: [],
  /** the state of the Bitcoin chain cannot be stored: {_0} */
  NOT_WATCHED_NOT_STORED: ["_0"],
  /** the Bitcoin chain was never synchronised, or has not been watched for 10 minutes */
  NOT_WATCHED_SILENT: [],
  /** the operating system gave no random bytes */
  NO_ENTROPY: [],
  /** nothing is heard of the node at {url} ({why}): see that it runs with -zmqpubsequence set to this address, or unset backendZmq; meanwhile the node is asked each second, so that payments are seen a second later */
  NO_NOTICES: ["url", "why"],
  /** the sources disagree by more than 5 % */
  NO_RATE_DISAGREEMENT: [],
  /** the quote of {sourceName} jumped by more than 20 % in a minute, and no other source agrees yet */
  NO_RATE_JUMP: ["sourceName"],
  /** no source has a fresh quote */
  NO_RATE_NO_FRESH_QUOTE: [],
  /** too few sources have a fresh quote ({fresh} of the {wanted} that must agree) */
  NO_RATE_TOO_FEW: ["fresh", "wanted"],
  /** the request is not valid */
  OFFER_INVALID: [],
  /** this Idempotency-Key was used with another request */
  OFFER_KEY_REUSED: [],
  /** another copy of this wallet paid {amountSats} BTC to {address}, in transaction {txid}: ask again only if that was for something else */
  OFFER_PAID_BEFORE: ["amountSats", "address", "txid"],
  /** must be worth at most {value0} BTC: ask for less */
  OFFER_TOO_LARGE: ["value0"],
  /** Chinese */
  OTHER_LANGUAGE_CHINESE: [],
  /** Czech */
  OTHER_LANGUAGE_CZECH: [],
  /** French */
  OTHER_LANGUAGE_FRENCH: [],
  /** Italian */
  OTHER_LANGUAGE_ITALIAN: [],
  /** Japanese */
  OTHER_LANGUAGE_JAPANESE: [],
  /** Korean */
  OTHER_LANGUAGE_KOREAN: [],
  /** Portuguese */
  OTHER_LANGUAGE_PORTUGUESE: [],
  /** Spanish */
  OTHER_LANGUAGE_SPANISH: [],
  /** {before}, {next} */
  PAID_TO_AND: ["before", "next"],
  /** {before}, … */
  PAID_TO_MORE: ["before"],
  /** {amount} BTC ({payee}) */
  PAID_TO_ONE: ["amount", "payee"],
  /** must be worth at least {least} BTC */
  PRICE_REFUSAL_TOO_FEW_SATS: ["least"],
  /** must be worth at most {most} BTC (about {worth} {code} now) */
  PRICE_REFUSAL_TOO_LARGE: ["most", "worth", "code"],
  /** must be worth at most {most} BTC */
  PRICE_REFUSAL_TOO_MANY_SATS: ["most"],
  /** must be worth at least {least} BTC (about {worth} {code} now) */
  PRICE_REFUSAL_TOO_SMALL: ["least", "worth", "code"],
  /** the node has pruned all blocks below {first}, and the wallet began at block {birth}: let it download the chain again (-reindex) and keep blocks longer (-prune), or coins that came between these blocks are not seen */
  PRUNED: ["first", "birth"],
  /** no rate source answers: check that this computer reaches the internet */
  RATE_SOURCES_ALL_SILENT: [],
  /** the rate source {name} does not answer: {why} */
  RATE_SOURCES_SILENT: ["name", "why"],
  /** {silent} of {all} rate sources do not answer ({names}): check that this computer reaches the internet */
  RATE_SOURCES_SOME_SILENT: ["silent", "all", "names"],
  /** the rate source {name} strays from the others by more than 5 % and is left out of {currencies} */
  RATE_SOURCES_STRAYS: ["name", "currencies"],
  /** there is no fresh exchange rate for {currency}: {reason} */
  RATE_UNAVAILABLE: ["currency", "reason"],
  /** {refusal}: payout {payoutId} sends its coins back */
  REFUNDED_BY_PAYOUT: ["refusal", "payoutId"],
  /** the coins of this anomaly have just changed: look at it again, then refund it */
  REFUND_CHANGED: [],
  /** the coins of this anomaly are gone, or have less than {confirmations} confirmations: wait for them */
  REFUND_COINS_NOT_READY: ["confirmations"],
  /** this anomaly is {_0} and waits for no decision */
  REFUND_NOT_OPEN: ["_0"],
  /** there is no anomaly {_0} */
  REFUND_NO_SUCH_ANOMALY: ["_0"],
  /** another copy of this wallet paid {amountSats} BTC to this address, in transaction {txid}: if that was this refund, dismiss the anomaly; if it was for something else, confirm that the address is to be paid again */
  REFUND_PAID_BEFORE: ["amountSats", "txid"],
  /** payout {payoutId}, which is {state}, pays exactly {amountSats} BTC: if that is this refund, dismiss the anomaly; if it is for something else, confirm that the sum is to be sent again */
  REFUND_PAID_BY_PAYOUT: ["payoutId", "state", "amountSats"],
  /** nothing is left to send back: {returnedSats} BTC of this payment were sent back before, and the price of a paid payment is not refunded; dismiss the anomaly */
  REFUND_RETURNED_BEFORE: ["returnedSats"],
  /** these coins were taken back: there is nothing to refund, dismiss the anomaly instead */
  REFUND_REVERSED: [],
  /** The command failed. The log on standard error says why. */
  REFUSAL_COMMAND_FAILED: [],
  /** The customer's display can only show a payment. */
  REFUSAL_CUSTOMERS_DISPLAY: [],
  /** the database could not be read or written: try again */
  REFUSAL_DATABASE: [],
  /** {path} cannot be written ({error}). Free some space, or move old files. */
  REFUSAL_FILE_NOT_SAVED: ["path", "error"],
  /** Tillgate could not start here: {why} */
  REFUSAL_GATEWAY_DOWN: ["why"],
  /** Another Tillgate serves this data directory, at {api}. Use its own window, or the command line. To work in this window, stop it and choose “Try again”. ({why}) */
  REFUSAL_GATEWAY_ELSEWHERE: ["api", "why"],
  /** The gateway failed. Its log on standard error says why. */
  REFUSAL_GATEWAY_FAILED: [],
  /** The gateway opens its database. */
  REFUSAL_GATEWAY_OPENING: [],
  /** The gateway was stopped. */
  REFUSAL_GATEWAY_STOPPED: [],
  /** something failed inside Tillgate: its log says more */
  REFUSAL_INTERNAL: [],
  /** This desktop has no browser set up. Copy the page's address instead. */
  REFUSAL_NO_BROWSER: [],
  /** This desktop has no mail program set up. Copy the page's address instead. */
  REFUSAL_NO_MAIL_PROGRAM: [],
  /** This payment has no page that a browser can open. Check the setting publicUrl. */
  REFUSAL_NO_PAGE: [],
  /** The desktop did not open a second window. Use the view in this window. */
  REFUSAL_NO_SECOND_WINDOW: [],
  /** there is no wallet yet: `tillgate wallet create` makes one, `tillgate wallet restore` restores one */
  REFUSAL_NO_WALLET: [],
  /** The command is for the environment {_0}, which does not run in this window. */
  REFUSAL_OTHER_ENVIRONMENT: ["_0"],
  /** the password could not be stored: {_0} */
  REFUSAL_PASSWORD_NOT_STORED: ["_0"],
  /** this payout is {_0}: only an offer that waits for approval can be rejected */
  REJECT_NOT_PENDING: ["_0"],
  /** there is no payout {_0} */
  REJECT_NO_SUCH_PAYOUT: ["_0"],
  /** a reason has at most {reasonMax} characters, without line breaks */
  REJECT_REASON: ["reasonMax"],
  /** the sender now holds for another reason: {_0}; read it, then release the sender again */
  RELEASE_ANOTHER: ["_0"],
  /** the sender cannot be released: {_0} */
  RELEASE_NOT_LOOKED: ["_0"],
  /** transaction {_0}, made by another copy of this wallet, is in the mempool: wait until a block holds it, or until it drops out */
  RELEASE_TWIN_WAITS: ["_0"],
  /** the fee is now {feeSats} BTC, more than the {agreedSats} BTC that were agreed to: check it again */
  REPLACE_ABOVE_AGREED: ["feeSats", "agreedSats"],
  /** the replacement must pay {needed} sat/vB, above the allowed maximum of {cap} sat/vB */
  REPLACE_ABOVE_CAP: ["needed", "cap"],
  /** the fee would be {feeSats} BTC, more than the {paysSats} BTC that the transaction pays out */
  REPLACE_ABOVE_PAYOUT: ["feeSats", "paysSats"],
  /** the sender is on hold: {_0} */
  REPLACE_HELD: ["_0"],
  /** the sender is on hold: {_0} */
  REPLACE_NOT_LOOKED: ["_0"],
  /** there is no payout {_0} */
  REPLACE_NO_SUCH_PAYOUT: ["_0"],
  /** the transaction cannot be replaced now: {_0} */
  REPLACE_OBSTACLE: ["_0"],
  /** {_0} payouts share the transaction or spend its change, and all would be cancelled: {_0_2} */
  REPLACE_SHARED: ["_0", "_0_2"],
  /** the payout changed meanwhile: look at it again */
  REPLACE_STALE: [],
  /** the payout is {_0}: {_1} */
  REPLACE_STATE: ["_0", "_1"],
  /** nothing is signed until a look at the chain shows the payments of other copies of the wallet: {_0} */
  REPLACE_UNSEEN: ["_0"],
  /** the disk was full, and the reserve of {reserve} was freed for acts of staff: make room for a new reserve */
  RESERVE_FREED: ["reserve"],
  /** {keysMax} HMAC keys are in use, because a replaced key signs for another 24 hours: the next can be made at {_0} */
  ROTATE_TOO_MANY: ["keysMax", "_0"],
  /** transaction {_0} is in a block already; a reorganisation could undo that */
  SANDBOX_ALREADY_CONFIRMED: ["_0"],
  /** an output of {amountSats} sat is too small: the network relays none below {minSats} sat */
  SANDBOX_AMOUNT_TOO_SMALL: ["amountSats", "minSats"],
  /** {count} blocks cannot be mined in one call: at most {max}, and at least 1 */
  SANDBOX_BLOCK_COUNT: ["count", "max"],
  /** the customer has {availableSats} satoshis in confirmed coins and needs {neededSats}: mine a block to confirm its change, or request less */
  SANDBOX_CANNOT_PAY: ["availableSats", "neededSats"],
  /** the clock cannot be moved forward by {seconds} s */
  SANDBOX_CLOCK_OUT_OF_RANGE: ["seconds"],
  /** the next block's time would have to be {neededS} s, too far from the clock's {clockS} s: move the sandbox's clock forward */
  SANDBOX_CLOCK_TOO_FAR_BEHIND: ["neededS", "clockS"],
  /** the sandbox's file is damaged: {_0} */
  SANDBOX_DAMAGED: ["_0"],
  /** the operating system gave no random bytes */
  SANDBOX_ENTROPY: [],
  /** a fee rate of {rateSatVb} sat/vB is out of range: from {min} to {max} */
  SANDBOX_FEE_RATE: ["rateSatVb", "min", "max"],
  /** the sandbox's file could not be created: {_0} */
  SANDBOX_FILE: ["_0"],
  /** the block breaks the rules of consensus: {_0} */
  SANDBOX_INVALID_BLOCK: ["_0"],
  /** the sandbox's file has schema version {found}, this program knows versions up to {supported}: use the newer program */
  SANDBOX_NEWER_SCHEMA: ["found", "supported"],
  /** the file is an SQLite database, but not a sandbox's */
  SANDBOX_NOT_A_SANDBOX: [],
  /** transaction {_0} is not in the mempool any more */
  SANDBOX_NOT_IN_MEMPOOL: ["_0"],
  /** transaction {_0} does not spend the customer's own coins, so the customer cannot replace it */
  SANDBOX_NOT_THE_CUSTOMERS: ["_0"],
  /** a payment cannot be made in {parts} parts: at most {max}, and at least 1 */
  SANDBOX_PART_COUNT: ["parts", "max"],
  /** one transaction cannot pay {payees} scripts: at most {max}, and at least 1 */
  SANDBOX_PAYEE_COUNT: ["payees", "max"],
  /** transaction {_0} pays only the customer's own addresses */
  SANDBOX_PAYS_NOBODY_ELSE: ["_0"],
  /** the mempool refused the customer's transaction: {_0} */
  SANDBOX_REFUSED: ["_0"],
  /** the last {depth} blocks cannot be replaced: {max} blocks were mined since the sandbox was created */
  SANDBOX_REORG_DEPTH: ["depth", "max"],
  /** the sandbox's file could not be read or written: {_0} */
  SANDBOX_STORAGE: ["_0"],
  /** transaction {_0} is not known to the sandbox */
  SANDBOX_UNKNOWN_TRANSACTION: ["_0"],
  /** {_0} */
  SECRET: ["_0"],
  /** the pass was interrupted */
  SEND_INTERRUPTED: [],
  /** backend is {backend}, and {url} is not the URL of such a server: set both at once, like backend={backend} backendUrl={example} */
  SETTING_BACKEND_URL: ["backend", "url", "example"],
  /** {_0} is fixed since the wallet was made: another value needs a new installation (another --data-dir) */
  SETTING_FIXED: ["_0"],
  /** fixedRates must be empty in production: rates come from rateSources there */
  SETTING_FIXED_RATES_IN_PRODUCTION: [],
  /** feeFloorSatVb may not be above feeCapSatVb, and would be {floor} above {cap}: change both at once, like feeFloorSatVb=5 feeCapSatVb=50 */
  SETTING_FLOOR_ABOVE_CAP: ["floor", "cap"],
  /** minPayoutBtc may not be above dailyLimitBtc, and would be {minimum} above {daily}, so that no payout could be made; lower the one or raise the other, both at once if need be */
  SETTING_MINIMUM_ABOVE_DAILY: ["minimum", "daily"],
  /** {name} must begin with a scheme: put {schemes} in front */
  SETTING_NO_SCHEME: ["name", "schemes"],
  /** {url} can be reached through Tor alone: set proxy too, like proxy=socks5h://127.0.0.1:9050 */
  SETTING_ONION_WITHOUT_PROXY: ["url"],
  /** {name} is given by {by} at the start of the gateway: change it there */
  SETTING_OVERRIDDEN: ["name", "by"],
  /** {_0} is named twice: name each setting once */
  SETTING_TWICE: ["_0"],
  /** there is no setting {_0}: `tillgate settings list` shows all */
  SETTING_UNKNOWN: ["_0"],
  /** {name} must be {form} */
  SETTING_VALUE: ["name", "form"],
  /** birthday must be the height of a block, or a date like 2024-05-31, and not in the future */
  SETUP_BIRTHDAY: [],
  /** there is a wallet already, and an environment never has another: for a second wallet name another --data-dir */
  SETUP_EXISTS: [],
  /** the gap must be from 1 to {_0} */
  SETUP_GAP: ["_0"],
  /** the program is stopping: start it again, and look whether the wallet was made */
  SETUP_INTERRUPTED: [],
  /** there is no scan of a restored wallet to stop or to continue */
  SETUP_NOT_LOOKING: [],
  /** the block of a birthday's date is looked up by the Bitcoin backend, which does not answer ({_0}): set the backend first, or name a height */
  SETUP_NO_HEIGHT: ["_0"],
  /** there are no words to make a wallet from: `tillgate wallet create` makes them */
  SETUP_NO_WORDS: [],
  /** these words belong to another wallet than this installation's: for a second wallet name another --data-dir */
  SETUP_OTHER_WALLET: [],
  /** {_0} holds other words for this installation, of a wallet whose making was interrupted: `tillgate wallet create` shows and uses them; to restore these words name another --data-dir */
  SETUP_OTHER_WORDS: ["_0"],
  /** the node has pruned all blocks below {first}, but the wallet's coins are searched from block {from} on: let the node download the chain again (-reindex) without pruning, use another backend, or name a later birthday if you are sure */
  SETUP_PRUNED: ["first", "from"],
  /** input {_0} cannot be signed: the transaction does not fit its coins */
  SIGN_INPUT: ["_0"],
  /** the words in the secret store are not those of this wallet: its descriptors in the database come from other words. Put the words of this wallet back, from your backup */
  SIGN_WRONG_WORDS: [],
  /** needs a Bitcoin server that knows which fees are usual: try again in some hours */
  SMALL_SALES_OBSTACLE_NO_ESTIMATE: [],
  /** needs a Bitcoin server that shows payments before a block holds them: choose another server */
  SMALL_SALES_OBSTACLE_NO_MEMPOOL: [],
  /** the coins of anomaly {anomalyId} of payment {paymentId} changed after you decided on it */
  STAFF_WARNING_DECIDED_ANOMALY_CHANGED: ["anomalyId", "paymentId"],
  /** another transaction tries to spend the coins of transaction {txid}, which pays confirmed payment {paymentId} */
  STAFF_WARNING_DOUBLE_SPEND_ATTEMPT: ["txid", "paymentId"],
  /** payout {payoutId} had FAILED, but was sent after all: if you paid it in another way meanwhile, it is paid twice */
  STAFF_WARNING_FAILED_PAYOUT_WAS_SENT: ["payoutId"],
  /** payout {payoutId} was paid twice, and at least one of the transactions was made by another installation: if that is another copy of this wallet, stop it, and ask the payee to return one of the two */
  STAFF_WARNING_PAYOUT_PAID_TWICE: ["payoutId"],
  /** payout {payoutId} was sent by another copy of this wallet: if that copy still runs, stop it; if it paid something else, request the payout again */
  STAFF_WARNING_PAYOUT_SENT_BY_COPY: ["payoutId"],
  /** the Bitcoin backend does not report all transactions of the restored wallet's {isChange} of index {index}, because they are too many: its coins may be missing; a node of your own reports all of them, and the wallet can then be restored again */
  STAFF_WARNING_TOO_LONG: ["isChange", "index"],
  /** transaction {txid} was not made here, but spends coins of this wallet or pays to an address that was never given: another copy of the wallet is in use; no payout is sent until you release the sender */
  STAFF_WARNING_TWIN_WALLET: ["txid"],
  /** the Bitcoin node relays no transactions: a payment is seen once a block holds it, and none is accepted unconfirmed; start the node without -blocksonly */
  STANDS_STILL_BLOCKS_ONLY: [],
  /** the Bitcoin node has no connections to other nodes, so it hears of no payments: check the node's internet connection, and its options connect and proxy; until then a payment closes only a day after its deadline */
  STANDS_STILL_NO_CONNECTIONS: [],
  /** the backend's best block is {minutes} minutes old, so the backend may not hear of payments: check the internet connection of your node, or set another server as backendUrl; check this machine's clock too; until then a payment closes only a day after its deadline */
  STANDS_STILL_OLD_BLOCK: ["minutes"],
  /** the network of the Bitcoin node is switched off, so it hears of no payments: switch it on with `bitcoin-cli setnetworkactive true`; until then a payment closes only a day after its deadline */
  STANDS_STILL_SWITCHED_OFF: [],
  /** the database holds an unreadable value in {_0}: restore the last backup */
  STORE_BAD_VALUE: ["_0"],
  /** the gateway is shutting down */
  STORE_CLOSED: [],
  /** nothing was stored: {_0} */
  STORE_COMMIT_FAILED: ["_0"],
  /** the database is damaged ({_0}): restore the last backup */
  STORE_CORRUPT: ["_0"],
  /** the disk that holds the database is full: make room on it */
  STORE_DISK_FULL: [],
  /** {action} failed: {source} */
  STORE_IO: ["action", "source"],
  /** the database is locked by another process: close the program that uses it */
  STORE_LOCKED: [],
  /** the database {file} has schema version {found}, newer than this program's {known}: install the newer Tillgate again */
  STORE_NEWER_SCHEMA: ["file", "found", "known"],
  /** {file} is not a Tillgate database: move it away, or name another --data-dir */
  STORE_NOT_OURS: ["file"],
  /** no more files can be opened: raise the limit of files that a program may open (ulimit -n, LimitNOFILE) */
  STORE_OUT_OF_FILES: [],
  /** the database cannot be written: check the permissions of its folder and whether it is mounted read-only */
  STORE_READ_ONLY: [],
  /** the database failed: {_0} */
  STORE_SQLITE: ["_0"],
  /** too many database reads run at this moment: try again */
  STORE_TOO_MANY_READS: [],
  /** It is being cancelled */
  STUCK_PAYS_CANCELLED: [],
  /** It pays {rate} sat/vB; the present fee rate is {wanted} sat/vB */
  STUCK_PAYS_LESS: ["rate", "wanted"],
  /** No higher fee helps: too many unconfirmed transactions belong to it, and a block must hold some of them first */
  STUCK_PAYS_NO_FEE_HELPS: [],
  /** It pays {rate} sat/vB */
  STUCK_PAYS_RATE: ["rate"],
  /** the Bitcoin backend refused the transaction of payout {id} of {amount} BTC to {address}: {words}. It is offered again after each block. {pays} */
  STUCK_SENTENCE_REFUSED: ["id", "amount", "address", "words", "pays"],
  /** payout {id} of {amount} BTC to {address} can never arrive: block {height} holds another transaction that spends its coins. The payout fails once that block has {finalConfirmations} confirmations; then request a new payout */
  STUCK_SENTENCE_RULED_OUT: ["id", "amount", "address", "height", "finalConfirmations"],
  /** the Bitcoin backend refused the transaction of payout {id} of {amount} BTC to {address}, because another transaction spends its coins. It is offered again after each block. {pays} */
  STUCK_SENTENCE_SPENT: ["id", "amount", "address", "pays"],
  /** payout {id} of {amount} BTC to {address} was sent {hours} {hours_2} ago and is in no block. {pays} */
  STUCK_SENTENCE_UNCONFIRMED: ["id", "amount", "address", "hours", "hours_2", "pays"],
  /** the Bitcoin backend took the transaction of payout {id} of {amount} BTC to {address} at {at}, and its mempool does not show it. It is offered again after each block. A node with -privatebroadcast shows it once another node sends it back. {pays} */
  STUCK_SENTENCE_UNSEEN: ["id", "amount", "address", "at", "pays"],
  /** the test of this server failed: see the log */
  TESTED_FAILED: [],
  /** the server did not answer within {seconds} s: check that it runs, and that this machine can reach it */
  TESTED_LATE: ["seconds"],
  /** the backend answers, its best block is {height}, which is {hours} h old: check that the server is connected to other nodes, and that this machine's clock is right */
  TESTED_STALE: ["height", "hours"],
  /** its certificate {_0} */
  TLS_FAULT_CERTIFICATE: ["_0"],
  /** it offers neither TLS 1.2 nor TLS 1.3 with a usable cipher */
  TLS_FAULT_NOTHING_IN_COMMON: [],
  /** it speaks no TLS at this port */
  TLS_FAULT_NO_TLS: [],
  /** {_0} */
  TLS_FAULT_OTHER: ["_0"],
  /** the server sent more than {_0} KiB */
  TOO_MUCH: ["_0"],
  /** the URL cannot be used */
  UNFETCHED_BAD_URL: [],
  /** the system's certificates cannot be read: {_0} */
  UNFETCHED_CERTIFICATES: ["_0"],
  /** the server compressed its answer, and compressed answers are not read */
  UNFETCHED_COMPRESSED: [],
  /** the answer was cut off */
  UNFETCHED_CUT_OFF: [],
  /** the server did not answer within {seconds} seconds */
  UNFETCHED_LATE: ["seconds"],
  /** the server redirects ({_0}), and redirects are not followed */
  UNFETCHED_REDIRECTS: ["_0"],
  /** the server answered {_0} */
  UNFETCHED_STATUS: ["_0"],
  /** the answer has no {_0} */
  UNREADABLE_MISSING: ["_0"],
  /** the answer is not the JSON that was expected: {_0} */
  UNREADABLE_NOT_JSON: ["_0"],
  /** the answer's {what} {why} */
  UNREADABLE_NUMBER: ["what", "why"],
  /** the answer is not about Bitcoin */
  UNREADABLE_OTHER_ASSET: [],
  /** the source reports: "{_0}" */
  UNREADABLE_REPORTED: ["_0"],
  /** the server does not report the transactions of the addresses of payments {named} and {more} more, because they are too many: their coins are not seen, and their deadline closes nothing; set another server as backendUrl, or use a node of your own */
  UNREPORTED_MANY: ["named", "more"],
  /** the server does not report the transactions of the address of payment {_0}, because they are too many: its coins are not seen, and its deadline closes nothing; set another server as backendUrl, or use a node of your own */
  UNREPORTED_ONE: ["_0"],
  /** the server does not report the transactions of the addresses of payments {_0}, because they are too many: their coins are not seen, and their deadline closes nothing; set another server as backendUrl, or use a node of your own */
  UNREPORTED_SEVERAL: ["_0"],
  /** {path} is a symbolic link, and Tillgate does not follow links to its data: find out who made it and remove it, or name another --data-dir */
  UNTRUSTED_LINK: ["path"],
  /** {path} belongs to another user (uid {uid}), who could forge its content: run Tillgate as that user, or name a --data-dir of your own */
  UNTRUSTED_OF_ANOTHER: ["path", "uid"],
  /** everybody may write in {path}: close it with chmod o-w {path}, or name another --data-dir */
  UNTRUSTED_OPEN_TO_ALL: ["path"],
  /** {path} is one file under several names (hard links), and a write by Tillgate would change it under all names: copy it, remove this name, and put the copy in its place */
  UNTRUSTED_SEVERAL_NAMES: ["path"],
  /** looking at {path} failed: {source} */
  UNTRUSTED_UNREADABLE: ["path", "source"],
  /** the coins that can be spent now come to {spendable} BTC, and the approved payouts that wait need {needed} BTC with the fee */
  WAITS_ALL_NEED: ["spendable", "needed"],
  /** coins changed during signing; a new transaction is made */
  WAITS_COINS_CHANGED: [],
  /** another copy of this wallet made transaction {txid} (noticed {noticedAt}), which pays {amount} BTC to {address} and is in no block: the payout waits until a block holds that transaction or rules it out */
  WAITS_COPY_PAYS: ["txid", "noticedAt", "amount", "address"],
  /** the network asks for {estimate} sat/vB now; payouts pay {cap} at most */
  WAITS_FEES_ABOVE_CAP: ["estimate", "cap"],
  /** it is being cancelled: after 6 blocks, in about an hour, it has failed, or it was sent after all */
  WAITS_GIVEN_UP: [],
  /** the sender is on hold: {_0} */
  WAITS_HELD: ["_0"],
  /** the keyring is locked, as a fault that was set in the sandbox */
  WAITS_LOCKED_IN_SANDBOX: [],
  /** signing took so long that the chain may have changed; the transaction is made again */
  WAITS_LOOKED_TOO_LONG_AGO: [],
  /** the Bitcoin backend has not reported the state of all coins yet; it is asked again */
  WAITS_NOT_COVERED: [],
  /** a signed transaction did not pass its check: {_0} */
  WAITS_NOT_PASSED: ["_0"],
  /** the chain is not watched: {_0} */
  WAITS_NOT_WATCHED: ["_0"],
  /** no gateway is running */
  WAITS_NO_GATEWAY: [],
  /** it is signed, but no node has accepted it yet: it is broadcast again after each block */
  WAITS_NO_NODE: [],
  /** no payout waits for a transaction any more */
  WAITS_NO_PAYOUT: [],
  /** the wallet is not set up */
  WAITS_NO_WALLET: [],
  /** the wallet's words are not in {place}: `tillgate wallet restore` puts them back */
  WAITS_NO_WORDS: ["place"],
  /** it is not broadcast, because another copy of this wallet pays it, or pays a payout of the same or an earlier transaction */
  WAITS_OTHER_COPY: [],
  /** another copy of this wallet pays this payout, and replacing its transaction costs {feeSats} satoshis, more than the payout: it waits for the end of that transaction */
  WAITS_REPLACING_COSTS: ["feeSats"],
  /** the coins that can be spent now come to {spendable} BTC, and this payout needs {needed} BTC with the fee */
  WAITS_THIS_NEEDS: ["spendable", "needed"],
  /** it is sent at about {at} */
  WAITS_TURN: ["at"],
  /** the wallet's descriptor in the database is unreadable: restore the last backup */
  WALLET_BAD_DESCRIPTOR: [],
  /** the wallet's words in the secret store are not a BIP39 mnemonic: restore them from your backup */
  WALLET_BAD_MNEMONIC: [],
  /** no address can be derived at index {_0} */
  WALLET_NO_ADDRESS: ["_0"],
  /** the thread that derives addresses could not be started: {_0} */
  WALLET_THREAD: ["_0"],
  /** the wallet was restored from a database that knows block {knownHeight}, but the best block of the backend is {tipHeight}: the look through the chain starts once the backend has caught up */
  WATCH_BEHIND_BACKUP: ["knownHeight", "tipHeight"],
  /** the look was interrupted */
  WATCH_INTERRUPTED: [],
  /** the wallet was restored with a birthday above the best block, {tipHeight}: the look through the chain starts once the backend has block {birthHeight}; if the birthday is wrong, restore the wallet once more with another */
  WATCH_NOT_BORN: ["tipHeight", "birthHeight"],
  /** this data directory belongs to the network that begins with block {known}, but the backend is on the network that begins with block {found}: correct the backend's settings, or name another --data-dir */
  WATCH_OTHER_NETWORK: ["known", "found"],
  /** the restored wallet's look through the chain was stopped: resume it, or restore the wallet once more */
  WATCH_STOPPED: [],
} as const;

/** The names of the values of each sentence, as types. */
export type Sentences = { [Code in keyof typeof VALUES]: (typeof VALUES)[Code][number] };
