//! What commands answer. Money comes as `{sats, text}` or as text: nothing is computed with it
//! outside the gateway. Times are ISO 8601 texts.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::format_btc_signed;
use ts_rs::TS;

/// An amount of Bitcoin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct BtcView {
    /// Whole satoshis; negative for a difference.
    #[ts(type = "number")]
    pub sats: i64,
    /// `0.03444190`.
    pub text: String,
}

impl BtcView {
    /// The view of so many satoshis.
    #[must_use]
    pub fn of(sats: i64) -> Self {
        Self { sats, text: format_btc_signed(sats) }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// All that match.
    #[ts(type = "number")]
    pub items_count: u64,
}

/// A payment in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRow {
    /// Its id.
    pub payment_id: String,
    /// `NEW`, …
    pub state: String,
    /// What was asked.
    pub amount: BtcView,
    /// What counts.
    pub paid: BtcView,
    /// The price, `10.00`.
    pub fiat_amount: String,
    /// ISO code.
    pub currency: String,
    /// The API key's name.
    pub label: String,
    /// For the customer.
    pub message: String,
    /// The shop's own reference.
    pub merchant_transaction_id: String,
    /// ISO 8601.
    pub creation_time: String,
    /// ISO 8601.
    pub expiration_time: String,
    /// OPEN anomalies of it.
    pub open_anomalies: u32,
}

/// One payment, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct PaymentView {
    /// What the list shows.
    #[serde(flatten)]
    pub row: PaymentRow,
    /// Where to pay.
    pub address: String,
    /// The rate of its arithmetic.
    pub exchange_rate: String,
    /// BIP21, whole.
    pub payment_address: String,
    /// The hosted page.
    pub payment_page_url: String,
    /// What is still to pay; negative when overpaid.
    pub remaining: BtcView,
    /// What is paid, in fiat.
    pub paid_fiat: String,
    /// Confirmations that its coins need.
    pub confirmations_wanted: u32,
    /// The QR code of address and amount, an SVG document.
    pub qr_svg: String,
    /// When it was first CONFIRMED.
    pub payment_time: Option<String>,
    /// Where its notifications go.
    pub notification_url: Option<String>,
    /// Where its anomalies' notifications go.
    pub anomaly_notification_url: Option<String>,
    /// Whether staff may accept the coins that came.
    pub acceptable: bool,
    /// What the sandbox's customer could pay; absent outside the sandbox.
    pub sandbox_amounts: Option<SandboxAmounts>,
    /// All transactions that pay its address, counting or not.
    pub transactions: Vec<TransactionRow>,
    /// Its changes, oldest first.
    pub history: Vec<HistoryRow>,
    /// Attempts to notify, newest first.
    pub deliveries: Vec<DeliveryRow>,
    /// Its anomalies, newest first.
    pub anomalies: Vec<AnomalyRow>,
}

/// Sums that the panel's sandbox buttons offer for one payment, so that nothing is computed there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct SandboxAmounts {
    /// What remains; absent where nothing does.
    pub exact: Option<BtcView>,
    /// Half of what remains; absent where that would be dust.
    pub part: Option<BtcView>,
    /// What remains and half the amount on top.
    pub too_much: BtcView,
}

impl SandboxAmounts {
    /// What to offer for a payment of `amount_sats` of which `remaining_sats` are still to pay
    /// (negative when overpaid), where an output below `dust_sats` is not relayed.
    #[must_use]
    pub fn of(amount_sats: i64, remaining_sats: i64, dust_sats: i64) -> Self {
        let owed = remaining_sats.max(0);
        let half = owed / 2;
        Self {
            exact: (owed > 0).then(|| BtcView::of(owed.max(dust_sats))),
            part: (half >= dust_sats).then(|| BtcView::of(half)),
            too_much: BtcView::of(owed.saturating_add((amount_sats / 2).max(dust_sats))),
        }
    }
}

/// A transaction that pays a payment's address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct TransactionRow {
    /// Its id.
    pub btc_tx_id: String,
    /// All that it pays to the address.
    pub amount: BtcView,
    /// What of it counts.
    pub counted: BtcView,
    /// Confirmations.
    pub confirmations: u32,
    /// `mempool`, `block`, `missing` or `gone`.
    pub position: String,
    /// When it was first seen.
    pub time: String,
}

/// One change of a payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct HistoryRow {
    /// When.
    pub time: String,
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// What counted after.
    pub paid: BtcView,
    /// What led to it: `created`, `chain`, `time`, `staff`.
    pub cause: String,
}

/// One attempt to deliver a notification, or a notification that waits for its first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryRow {
    /// Its id.
    pub delivery_id: String,
    /// The notification's id, as its `webhook-id` tells.
    pub notification_id: String,
    /// `payment`, `anomaly` or `payout`.
    pub subject_kind: String,
    /// The record's id.
    pub subject_id: String,
    /// Where to.
    pub url: String,
    /// 1 is the first.
    pub attempt: u32,
    /// ISO 8601 with milliseconds.
    pub time: String,
    /// How long it took.
    #[ts(type = "number")]
    pub duration_ms: i64,
    /// The server's answer.
    pub status_code: Option<u16>,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// The first KiB of the answer.
    pub answer: Option<String>,
    /// `WAITING`, `DELIVERED`, `SUPERSEDED` or `GIVEN_UP`: the notification's state.
    pub notification_state: String,
    /// When it is tried again.
    pub next_attempt_time: Option<String>,
}

/// An anomaly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct AnomalyRow {
    /// Its id.
    pub anomaly_id: String,
    /// Its payment.
    pub payment_id: String,
    /// `LATE_PAYMENT`, …
    pub anomaly_type: String,
    /// The coins concerned.
    pub paid: BtcView,
    /// Their worth when observed.
    pub fiat_amount: String,
    /// ISO code.
    pub currency: String,
    /// ISO 8601.
    pub time: String,
    /// A sentence for people.
    pub message: String,
    /// `OPEN`, `REFUNDING`, `REFUNDED`, `ACCEPTED`, `DISMISSED`.
    pub resolution: String,
    /// Why it was dismissed.
    pub dismissal_reason: Option<String>,
    /// Its transactions.
    pub btc_tx_ids: Vec<String>,
}

/// An API key; its secret is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct KeyRow {
    /// Its name: the user name of Basic authentication.
    pub name: String,
    /// `payments.read`, …
    pub permissions: Vec<String>,
    /// Its payments need no `notificationUrl`.
    pub notification_url_optional: bool,
    /// ISO 8601.
    pub created: String,
    /// ISO 8601, once revoked.
    pub revoked: Option<String>,
}

/// A key just made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// Its secret, told this once.
    pub secret: String,
    /// `payments.read`, …
    pub permissions: Vec<String>,
}

/// An HMAC key just made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct NewHmacKey {
    /// `whsec_…`, told this once.
    pub key: String,
}

/// What a resend did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Resent {
    /// Notifications queued; 0 where there is nothing to tell or no URL.
    pub queued: u32,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SettingRow {
    /// Its name.
    pub name: String,
    /// Its value now.
    pub value: String,
    /// Its default in this environment.
    pub default: String,
    /// What it does, a sentence.
    pub about: String,
}

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// `test` or `production`.
    pub environment: String,
    /// The program's version.
    pub version: String,
    /// Whether a gateway serves the API (a command line without one opens the data itself).
    pub serving: bool,
    /// The API's address, when serving.
    pub api: Option<String>,
    /// Where the payment pages are, when serving.
    pub pages: Option<String>,
    /// The environment's clock, ISO 8601.
    pub clock: String,
    /// Height of the best block seen.
    pub chain_height: u32,
    /// When the chain was last looked at; absent before the first look.
    pub chain_looked_at: Option<String>,
    /// Why the last look failed, if it did.
    pub chain_error: Option<String>,
    /// The rates of this moment.
    pub rates: Vec<RateRow>,
    /// Payments that are NEW, UNDERPAID or UNCONFIRMED.
    #[ts(type = "number")]
    pub open_payments: u64,
    /// Anomalies that wait for a decision.
    #[ts(type = "number")]
    pub open_anomalies: u64,
    /// Notifications that wait.
    #[ts(type = "number")]
    pub waiting_notifications: u64,
    /// Whether notifications are signed.
    pub hmac_key: bool,
    /// Whether the backend is the built-in sandbox.
    pub sandbox: bool,
    /// Where secrets lie.
    pub secrets: String,
    /// What staff should know at once, sentences.
    pub warnings: Vec<String>,
}

/// A rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct RateRow {
    /// ISO code.
    pub currency: String,
    /// Units for one Bitcoin.
    pub rate: String,
    /// Whether it may be used.
    pub fresh: bool,
}

/// What `doctor` found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct DoctorView {
    /// Whether all is well.
    pub ok: bool,
    /// One line for each thing looked at.
    pub checks: Vec<CheckRow>,
}

/// One thing that `doctor` looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct CheckRow {
    /// `keyring`, `chain`, `rates`, `clock`, `disk`, `ports`, `permissions`, `database`.
    pub name: String,
    /// Whether it is well.
    pub ok: bool,
    /// What was found, and what to do.
    pub message: String,
}

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
#[error("{message}")]
pub struct CommandError {
    /// Stable, for programs: `NOT_FOUND`, `VALIDATION_FAILED`, …
    pub error_type: String,
    /// For people, with the remedy.
    pub message: String,
    /// The argument at fault.
    pub field: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUST: i64 = 294;

    fn sums(amounts: &SandboxAmounts) -> (Option<i64>, Option<i64>, i64) {
        (amounts.exact.as_ref().map(|b| b.sats), amounts.part.as_ref().map(|b| b.sats), amounts.too_much.sats)
    }

    #[test]
    fn the_sandbox_offers_what_remains_half_of_it_and_more_than_it() {
        assert_eq!(sums(&SandboxAmounts::of(10_001, 10_001, DUST)), (Some(10_001), Some(5_000), 15_001));
        assert_eq!(sums(&SandboxAmounts::of(10_000, 4_000, DUST)), (Some(4_000), Some(2_000), 9_000));
    }

    #[test]
    fn the_sandbox_never_offers_dust() {
        assert_eq!(sums(&SandboxAmounts::of(10_000, 100, DUST)), (Some(DUST), None, 5_100));
        assert_eq!(sums(&SandboxAmounts::of(10_000, 0, DUST)), (None, None, 5_000));
        assert_eq!(sums(&SandboxAmounts::of(400, -100, DUST)), (None, None, DUST));
    }
}
