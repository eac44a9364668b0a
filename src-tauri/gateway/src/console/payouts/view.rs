//! Payouts as the panel and the command line show them. Reads through the store's own queries, formats, and decides
//! nothing.

mod shown;

use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use tillgate_domain::payout;
use ts_rs::TS;

pub(super) use shown::Shown;

use crate::console::btc::BtcView;
use crate::console::certificates::CertificateView;
use crate::console::deliveries::DeliveryItem;
use crate::console::payouts::estimate::{AnomalyAlike, PaidBefore};
use crate::console::payouts::fee_rate::rate_shown;
use crate::console::payouts::steps::{self, StepItem};
use crate::console::payouts::stuck::StuckItem;
use crate::console::states::{PayoutState, TransactionPosition, WaitCause};
use crate::console::sums::FiatView;
use crate::gateway::Gateway;
use crate::notifications::outbox::OutboxError;
use crate::payouts::{ApproveError, limit_now, may_approve, open_anomaly_of};
use crate::sender::{ReplaceError, SendError, may_abandon, may_bump};
use crate::store::batches::VersionRow;
use crate::store::payout_lists::PayoutFilter;
use crate::store::payouts::PayoutRow;
use crate::store::{Reader, StoreError};

/// Deliveries shown with one payout; `deliveries list` shows more.
const DELIVERIES_OF_PAYOUT: u32 = 100;

/// A payout in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct PayoutItem {
    /// The payout's id.
    pub payout_id: String,
    /// Where the payout stands.
    pub state: PayoutState,
    /// Where the coins go.
    pub address: String,
    /// What the recipient gets.
    pub amount: BtcView,
    /// Its worth.
    pub worth: FiatView,
    /// The ISO code of the currency that it is told in.
    pub currency: String,
    /// The network's fee as it was offered.
    pub fee: BtcView,
    /// Its share of the fee that was paid; absent before it is SENT by a transaction of ours.
    pub fee_paid: Option<BtcView>,
    /// Amount and offered fee.
    pub total: BtcView,
    /// The worth of both.
    pub total_worth: FiatView,
    /// The rate of all its arithmetic, with 4 decimals.
    pub rate: String,
    /// The rate for people.
    pub rate_shown: String,
    /// What it is for.
    pub comment: Option<String>,
    /// Who asked for it: an API key's name, or `cli:…` or `panel:…`.
    pub requested_by: String,
    /// Whether a shop's program asked for it, not a person.
    pub requested_by_shop: bool,
    /// Who approved it.
    pub approved_by: Option<String>,
    /// When it was asked for, ISO 8601.
    pub creation_time: String,
    /// When the offer ends, ISO 8601.
    pub expiration_time: String,
    /// When it was approved.
    pub approval_time: Option<String>,
    /// When it was sent.
    pub sent_time: Option<String>,
    /// The transaction that pays it.
    pub btc_tx_id: Option<String>,
    /// Whether another copy of the wallet made that transaction.
    #[serde(default)]
    pub made_elsewhere: bool,
    /// The confirmations of that.
    pub confirmations: u32,
    /// Why it FAILED.
    pub failure_reason: Option<String>,
    /// When it FAILED.
    pub failed_time: Option<String>,
    /// Whether the coins did not suffice when it was asked for.
    pub balance_short: bool,
    /// The anomaly whose coins it sends back.
    pub anomaly_id: Option<String>,
    /// Whether it is QUEUED or SENT, and its newest transaction gives it up: FAILED once that is deep enough, or sent all the
    /// same.
    pub being_given_up: bool,
    /// Why it is not sent yet, or not over, a sentence without a remedy; absent unless it is QUEUED or being given up.
    pub waits_for: Option<String>,
    /// What kind of thing that is.
    pub wait_cause: Option<WaitCause>,
    /// That it does not arrive, and why; absent where nothing speaks against it.
    #[serde(default)]
    pub stuck: Option<StuckItem>,
    /// The Payout record of `/v2`: JSON, its numbers as they are.
    pub record: String,
}

/// One payout, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct PayoutView {
    /// What the list tells of it.
    #[serde(flatten)]
    pub item: PayoutItem,
    /// What the rate was made of; absent where it was not stored.
    pub certificate: Option<CertificateView>,
    /// Where its notifications go.
    pub notification_url: Option<String>,
    /// The transactions that were signed for it, the oldest first.
    pub versions: Vec<VersionItem>,
    /// The other payouts that share its transaction.
    pub shares_with: Vec<SharingItem>,
    /// What happened to it, the oldest first.
    pub history: Vec<StepItem>,
    /// Attempts to notify, newest first.
    pub deliveries: Vec<DeliveryItem>,
    /// Another payout to the same address: the newest that is approved or sent, else the newest offer; absent unless this one
    /// is NEW.
    pub paid_before: Option<PaidBefore>,
    /// The newest OPEN anomaly of exactly this sum: the payout may be meant as its refund. Absent unless this one is NEW and no
    /// refund.
    pub anomaly_alike: Option<AnomalyAlike>,
    /// That the network's fee is high beside the amount, a sentence; absent where it is not, and once it is sent.
    pub fee_warning: Option<String>,
    /// What would be left of the day's limit after its approval; absent unless it is NEW and within the limit.
    pub limit_left_after: Option<BtcView>,
    /// Whether it may be approved now.
    pub can_approve: Possible,
    /// Whether its transaction may be replaced by one with a higher fee now.
    pub can_bump: Possible,
    /// Whether it may be given up now, with those that share its transaction.
    pub can_abandon: Possible,
}

/// A signed transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct VersionItem {
    /// The transaction's id.
    pub btc_tx_id: String,
    /// Counts from 1, in the order of signing.
    pub number: u32,
    /// Whether it pays the payouts; else it gives them up and pays ourselves.
    pub pays: bool,
    /// Its fee.
    pub fee: BtcView,
    /// In satoshis for a virtual byte, cut to 2 decimals.
    pub fee_rate: String,
    /// Where it stands.
    pub position: TransactionPosition,
    /// How many confirmations it has.
    pub confirmations: u32,
    /// Whether a backend ever took it.
    pub accepted: bool,
    /// When it was signed and stored, ISO 8601 with milliseconds; moved with a clock that was set before any node took it.
    pub time: String,
}

/// A payout that shares a transaction with another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct SharingItem {
    /// The payout's id.
    pub payout_id: String,
    /// Where it stands.
    pub state: PayoutState,
    /// Where its coins go.
    pub address: String,
    /// What its recipient gets.
    pub amount: BtcView,
}

/// Whether something may be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct Possible {
    /// Whether it may.
    pub possible: bool,
    /// Why not, a sentence.
    pub why_not: Option<String>,
}

impl PayoutView {
    /// The payout of this id; `None` where there is none.
    pub fn find(gateway: &Gateway, reader: &Reader<'_>, id: &Id) -> Result<Option<Self>, StoreError> {
        let Some(row) = reader.payout(id)? else { return Ok(None) };
        let pages_base = gateway.pages_base();
        let shown = Shown::of(gateway, reader, &pages_base)?;
        let (versions, sharing) = match row.batch_seq {
            Some(batch_seq) => (reader.versions(batch_seq)?, reader.payouts_of_batch(batch_seq)?),
            None => (Vec::new(), Vec::new()),
        };
        let settings = gateway.settings.snapshot();
        let now = gateway.clock.now();
        let left_after = match row.state {
            payout::PayoutState::New => limit_now(reader, &settings, now)?.available_sats.checked_sub(row.amount_sats),
            payout::PayoutState::Expired
            | payout::PayoutState::Queued
            | payout::PayoutState::Sent
            | payout::PayoutState::Failed => None,
        };
        Ok(Some(Self {
            item: shown.item(&row)?,
            certificate: reader.rate_of_payout(row.seq)?.map(CertificateView::from),
            paid_before: paid_before(reader, &row)?.as_ref().map(PaidBefore::from),
            anomaly_alike: anomaly_alike(reader, &row)?,
            fee_warning: fee_warning(&row).map(ToOwned::to_owned),
            limit_left_after: left_after.map(BtcView::of_sats),
            notification_url: row.notification_url.clone(),
            history: steps::history(&row, &versions),
            versions: versions.iter().map(|version| VersionItem::of(version, shown.tip_height)).collect(),
            shares_with: sharing.iter().filter(|one| one.id != row.id).map(SharingItem::from).collect(),
            deliveries: reader.deliveries_of(id, DELIVERIES_OF_PAYOUT)?.iter().map(DeliveryItem::from).collect(),
            can_approve: Possible::approve(may_approve(reader, &row, &settings, now))?,
            can_bump: Possible::replace(may_bump(reader, &row))?,
            can_abandon: Possible::replace(may_abandon(reader, &row))?,
        }))
    }
}

impl VersionItem {
    pub(super) fn of(version: &VersionRow, tip_height: u32) -> Self {
        Self {
            btc_tx_id: version.txid.to_string(),
            number: version.number,
            pays: version.pays,
            fee: BtcView::of_sats(version.fee_sats),
            fee_rate: rate_shown(version.fee_sats, version.vsize),
            position: version.position.into(),
            confirmations: version.position.confirmations(tip_height),
            accepted: version.accepted_at.is_some(),
            time: version.created_at.iso_millis(),
        }
    }
}

impl From<&PayoutRow> for SharingItem {
    fn from(row: &PayoutRow) -> Self {
        Self {
            payout_id: row.id.to_string(),
            state: row.state.into(),
            address: row.address.clone(),
            amount: BtcView::of_sats(row.amount_sats),
        }
    }
}

impl Possible {
    fn approve(judged: Result<(), ApproveError>) -> Result<Self, StoreError> {
        match judged {
            Ok(()) => Ok(Self::yes()),
            Err(ApproveError::Outbox(OutboxError::Store(error))) => Err(error),
            Err(ApproveError::Limit(refusals)) => {
                let sentences: Vec<String> = refusals.iter().map(ToString::to_string).collect();
                Ok(Self::not(&sentences.join("; ")))
            }
            Err(error) => Ok(Self::not(&error)),
        }
    }

    fn replace(judged: Result<(), ReplaceError>) -> Result<Self, StoreError> {
        match judged {
            Ok(()) => Ok(Self::yes()),
            Err(ReplaceError::Send(SendError::Store(error))) => Err(error),
            Err(error) => Ok(Self::not(&error)),
        }
    }

    const fn yes() -> Self {
        Self { possible: true, why_not: None }
    }

    fn not(why: &impl ToString) -> Self {
        Self { possible: false, why_not: Some(why.to_string()) }
    }
}

/// What people should know of a fee before they pay it.
fn fee_warning(row: &PayoutRow) -> Option<&'static str> {
    let is_sent = match row.state {
        payout::PayoutState::New | payout::PayoutState::Queued => row.batch_seq.is_some(),
        payout::PayoutState::Expired | payout::PayoutState::Sent | payout::PayoutState::Failed => true,
    };
    if is_sent || row.network_fee_sats.saturating_mul(10) <= row.amount_sats {
        return None;
    }
    Some(if row.network_fee_sats > row.amount_sats {
        "the network's fee is more than the amount itself: pay more at once, or wait until fees have fallen"
    } else {
        "the network's fee is more than a tenth of the amount: pay more at once, or wait until fees have fallen"
    })
}

/// How many payouts are approved and not sent.
pub(in crate::console) fn queued(reader: &Reader<'_>) -> Result<u64, StoreError> {
    reader.payouts_count(&PayoutFilter { states: vec![payout::PayoutState::Queued], ..PayoutFilter::default() })
}

/// The OPEN anomaly that an offer may be meant to refund.
fn anomaly_alike(reader: &Reader<'_>, row: &PayoutRow) -> Result<Option<AnomalyAlike>, StoreError> {
    if row.state != payout::PayoutState::New || row.anomaly.is_some() {
        return Ok(None);
    }
    Ok(open_anomaly_of(reader, row.amount_sats)?.as_ref().map(AnomalyAlike::from))
}

/// Another payout to the address of an offer, which may be the same bill twice.
fn paid_before(reader: &Reader<'_>, row: &PayoutRow) -> Result<Option<PayoutRow>, StoreError> {
    if row.state != payout::PayoutState::New {
        return Ok(None);
    }
    for states in [vec![payout::PayoutState::Queued, payout::PayoutState::Sent], vec![payout::PayoutState::New]] {
        let filter = PayoutFilter { states, script: Some(row.script.clone()), ..PayoutFilter::default() };
        // Two, because one of them may be the offer itself.
        if let Some(other) = reader.payouts(&filter, 2, 0)?.into_iter().find(|other| other.seq != row.seq) {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
