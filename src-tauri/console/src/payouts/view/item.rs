//! A payout as lists show it.

use serde::{Deserialize, Serialize};
use tillgate_domain::payout::PayoutState;
use tillgate_gateway::gateway::WaitCause;
use tillgate_told::Telling;
use ts_rs::TS;

use crate::btc::BtcView;
use crate::payouts::stuck::StuckItem;
use crate::sums::FiatView;

/// A payout in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PayoutItem {
    /// 40 hexadecimal digits.
    pub payout_id: String,
    /// NEW, QUEUED, SENT, EXPIRED or FAILED.
    pub state: PayoutState,
    /// The recipient's address.
    pub address: String,
    /// The recipient's amount.
    pub amount: BtcView,
    /// The amount's worth.
    pub worth: FiatView,
    /// The ISO code of the payout's currency.
    pub currency: String,
    /// The network fee that the offer named.
    pub fee: BtcView,
    /// The worth of `fee`: the difference of `total_worth` and `worth`. Absent in the answer of an
    /// older gateway.
    pub fee_worth: Option<FiatView>,
    /// The payout's share of the fee that was paid; absent until a transaction of this copy of the
    /// wallet made it SENT.
    pub fee_paid: Option<BtcView>,
    /// The sum of `amount` and `fee`.
    pub total: BtcView,
    pub total_worth: FiatView,
    /// The payout's exchange rate, with 4 decimals.
    pub rate: String,
    /// The exchange rate for people.
    pub rate_shown: String,
    /// The requester's note.
    pub comment: Option<String>,
    /// The requester: an API key's name, `cli:…` or `panel:…`.
    pub requested_by: String,
    /// Whether an API key requested it, and not a person.
    pub requested_by_shop: bool,
    /// The approver: an API key's name, `cli:…` or `panel:…`.
    pub approved_by: Option<String>,
    /// When it was requested, ISO 8601.
    pub creation_time: String,
    /// When the offer expires, ISO 8601.
    pub expiration_time: String,
    /// When it was approved, ISO 8601.
    pub approval_time: Option<String>,
    /// When it became SENT, ISO 8601.
    pub sent_time: Option<String>,
    /// The id of the transaction that pays it.
    pub btc_tx_id: Option<String>,
    /// Whether another copy of the wallet made that transaction.
    #[serde(default)]
    pub made_elsewhere: bool,
    /// The number of confirmations of that transaction.
    pub confirmations: u32,
    /// The reason why it FAILED, or why staff ended the offer.
    pub failure_reason: Option<Telling>,
    /// When it became FAILED, ISO 8601.
    pub failed_time: Option<String>,
    /// Whether the coins were too few at the time of the request.
    pub balance_short: bool,
    /// The id of the anomaly that it refunds.
    pub anomaly_id: Option<String>,
    /// Whether it was abandoned, and it is not decided yet whether it FAILED or was sent after all.
    pub being_given_up: bool,
    /// The reason why it waits, without a remedy. Absent unless it is QUEUED or `being_given_up`.
    pub waits_for: Option<Telling>,
    /// The kind of that reason.
    pub wait_cause: Option<WaitCause>,
    /// The reason why it is stuck; absent if it is not stuck.
    #[serde(default)]
    pub stuck: Option<StuckItem>,
    /// The Payout record of `/v2`: JSON with exact numbers.
    pub record: String,
}
