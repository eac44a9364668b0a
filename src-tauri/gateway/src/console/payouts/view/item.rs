//! The view of one payout in lists.

use serde::{Deserialize, Serialize};
use tillgate_domain::payout::PayoutState;
use ts_rs::TS;

use crate::console::btc::BtcView;
use crate::console::payouts::stuck::StuckItem;
use crate::console::payouts::wait_cause::WaitCause;
use crate::console::sums::FiatView;

/// A payout in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct PayoutItem {
    /// The payout's id.
    pub payout_id: String,
    /// The payout's state.
    pub state: PayoutState,
    /// The recipient's address.
    pub address: String,
    /// The recipient's amount.
    pub amount: BtcView,
    /// The amount's worth.
    pub worth: FiatView,
    /// The ISO code of the payout's currency.
    pub currency: String,
    /// The offered network fee.
    pub fee: BtcView,
    /// Its share of the paid fee; absent before a transaction of ours made it SENT.
    pub fee_paid: Option<BtcView>,
    /// Amount and offered fee.
    pub total: BtcView,
    /// The worth of amount and fee.
    pub total_worth: FiatView,
    /// The exchange rate of all its arithmetic, with 4 decimals.
    pub rate: String,
    /// The exchange rate for people.
    pub rate_shown: String,
    /// The note about the payout.
    pub comment: Option<String>,
    /// The requester: an API key's name, or `cli:…` or `panel:…`.
    pub requested_by: String,
    /// Whether a shop's program requested it, not a person.
    pub requested_by_shop: bool,
    /// The approver.
    pub approved_by: Option<String>,
    /// Time of the request, ISO 8601.
    pub creation_time: String,
    /// End of the offer, ISO 8601.
    pub expiration_time: String,
    /// Time of the approval.
    pub approval_time: Option<String>,
    /// Time of sending.
    pub sent_time: Option<String>,
    /// The transaction that pays it.
    pub btc_tx_id: Option<String>,
    /// Whether another copy of the wallet made that transaction.
    #[serde(default)]
    pub made_elsewhere: bool,
    /// The confirmations of that transaction.
    pub confirmations: u32,
    /// The reason why it FAILED.
    pub failure_reason: Option<String>,
    /// Time of the failure.
    pub failed_time: Option<String>,
    /// Whether the coins were too few at the time of the request.
    pub balance_short: bool,
    /// The anomaly whose coins it sends back.
    pub anomaly_id: Option<String>,
    /// Whether it is QUEUED or SENT and its newest transaction gives it up. It is FAILED once that is deep enough,
    /// unless it is sent after all.
    pub being_given_up: bool,
    /// The reason why it is not sent yet, or not over, without a remedy. Absent unless it is QUEUED or being given up.
    pub waits_for: Option<String>,
    /// The kind of that reason.
    pub wait_cause: Option<WaitCause>,
    /// The reason why it does not arrive; absent if it should still arrive.
    #[serde(default)]
    pub stuck: Option<StuckItem>,
    /// The Payout record of `/v2`, as JSON with its exact numbers.
    pub record: String,
}
