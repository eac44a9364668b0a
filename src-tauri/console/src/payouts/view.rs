//! Payouts as the panel and the command line show them. This code only queries and formats.

mod item;
mod items;

use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_told::{Telling, Told};
use ts_rs::TS;

pub use item::PayoutItem;
pub use items::PayoutItems;

use tillgate_gateway::funds::fee_rate_known;
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::notifications::outbox::OutboxError;
use tillgate_gateway::payouts::{
    ApproveError, limit_now, may_approve, open_anomaly_of, takes_all_coins,
};
use tillgate_gateway::sender::{
    NamedRateError, ReplaceError, SendError, may_abandon, may_bump, may_send,
};
use tillgate_store::batches::VersionRow;
use tillgate_store::payout_lists::PayoutFilter;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};

use crate::ask::Asker;
use crate::btc::BtcView;
use crate::certificates::CertificateView;
use crate::deliveries::DeliveryItem;
use crate::error::CommandError;
use crate::payouts::estimate::{AnomalyAlike, PaidBefore};
use crate::payouts::fee_rate::rate_shown;
use crate::payouts::steps::{self, StepItem};
use crate::refusal::NotFound;
use crate::transaction_position::TransactionPosition;

/// Most deliveries shown with one payout; `deliveries list` shows more.
const DELIVERIES_OF_PAYOUT: u32 = 100;

/// One payout with all details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PayoutView {
    /// The payout's item in the list.
    #[serde(flatten)]
    pub item: PayoutItem,
    /// The quotes from which the exchange rate was computed; absent if they were not stored.
    pub certificate: Option<CertificateView>,
    pub notification_url: Option<String>,
    /// The labels that staff imported for its address, its transactions and their outputs.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The transactions signed for it, the oldest first.
    pub versions: Vec<VersionItem>,
    /// The other payouts that share its transaction.
    pub shares_with: Vec<SharingItem>,
    /// Its history, the oldest step first.
    pub history: Vec<StepItem>,
    /// The attempts to send its notifications, newest first.
    pub deliveries: Vec<DeliveryItem>,
    /// Another payout to the same address: the newest QUEUED or SENT payout, otherwise the newest
    /// offer. Present only while this payout is NEW.
    pub paid_before: Option<PaidBefore>,
    /// The newest OPEN anomaly of exactly this amount, because this payout may be meant as its
    /// refund. Present only while this payout is NEW and not a refund.
    pub anomaly_alike: Option<AnomalyAlike>,
    /// A warning that the network fee is more than a tenth of the amount; absent once a transaction
    /// is signed.
    pub fee_warning: Option<Telling>,
    /// The part of the daily limit that its approval would leave. Present only while it is NEW and
    /// within the limit.
    pub limit_left_after: Option<BtcView>,
    /// Whether the coins that its approval leaves would not pay the same fee once more. Then its
    /// fee cannot be raised later. False unless it is NEW.
    #[serde(default)]
    pub takes_all_coins: bool,
    /// Whether it may be approved now.
    pub can_approve: Possible,
    /// Whether staff may send it now at a fee rate of their own.
    pub can_send: Possible,
    /// Whether its fee can be raised now.
    pub can_bump: Possible,
    /// Whether it can be abandoned now, together with the payouts that share its transaction.
    pub can_abandon: Possible,
}

/// A signed transaction of a payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VersionItem {
    pub btc_tx_id: String,
    /// The position in the order of signing, from 1.
    pub number: u32,
    /// Whether it pays the payouts. If false, it abandons them and pays the coins back to this
    /// wallet.
    pub pays: bool,
    pub fee: BtcView,
    /// In satoshis per virtual byte, cut to 2 decimals.
    pub fee_rate: String,
    /// Whether it is in a block, in the mempool or in neither.
    pub position: TransactionPosition,
    pub confirmations: u32,
    /// Whether a backend ever accepted it.
    pub accepted: bool,
    /// When it was stored, ISO 8601 with milliseconds. If the clock is changed before a node
    /// accepts the transaction, this time is changed as well.
    pub time: String,
}

/// A payout that shares a transaction with another payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SharingItem {
    pub payout_id: String,
    pub state: PayoutState,
    pub address: String,
    /// The recipient's amount.
    pub amount: BtcView,
}

/// Whether a command is possible now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Possible {
    pub possible: bool,
    /// The reason why the command is not possible, in a sentence.
    pub why_not: Option<Telling>,
}

impl PayoutView {
    /// The view of the payout with this id; `None` if the id is unknown.
    pub fn find(
        gateway: &Gateway,
        reader: &Reader<'_>,
        id: &Id,
    ) -> Result<Option<Self>, StoreError> {
        let Some(row) = reader.payout(id)? else { return Ok(None) };
        let pages_base = gateway.pages_base();
        let items = PayoutItems::load(gateway, reader, &pages_base)?;
        let (versions, sharing) = match row.batch_seq {
            Some(batch_seq) => (reader.versions(batch_seq)?, reader.payouts_of_batch(batch_seq)?),
            None => (Vec::new(), Vec::new()),
        };
        let txids: Vec<_> = versions.iter().map(|version| version.txid).collect();
        let settings = gateway.settings.snapshot();
        let now = gateway.time.now();
        let left_after = match row.state {
            PayoutState::New => {
                limit_now(reader, &settings, now)?.available_sats.checked_sub(row.amount_sats)
            }
            PayoutState::Expired
            | PayoutState::Queued
            | PayoutState::Sent
            | PayoutState::Failed => None,
        };
        Ok(Some(Self {
            item: items.item(&row)?,
            certificate: reader.rate_of_payout(row.seq)?.map(CertificateView::from),
            paid_before: paid_before(reader, &row)?.as_ref().map(PaidBefore::from),
            anomaly_alike: anomaly_alike(reader, &row)?,
            fee_warning: fee_warning(&row).map(|warning| warning.telling()),
            limit_left_after: left_after.map(BtcView::from_sats),
            takes_all_coins: row.state == PayoutState::New && {
                let fee_rate = fee_rate_known(gateway, &settings);
                takes_all_coins(
                    reader,
                    gateway,
                    &settings,
                    fee_rate,
                    (row.amount_sats, row.network_fee_sats),
                )?
            },
            notification_url: row.notification_url.clone(),
            labels: reader.labels_of_payout(row.seq, &row.address, &txids)?,
            history: steps::history(&row, &versions),
            versions: versions
                .iter()
                .map(|version| VersionItem::from_row(version, items.tip_height))
                .collect(),
            shares_with: sharing
                .iter()
                .filter(|one| one.id != row.id)
                .map(SharingItem::from)
                .collect(),
            deliveries: reader
                .deliveries_of(id, DELIVERIES_OF_PAYOUT)?
                .iter()
                .map(DeliveryItem::from)
                .collect(),
            can_approve: Possible::approve(may_approve(reader, &row, &settings, now))?,
            can_send: Possible::send(may_send(reader, &row))?,
            can_bump: Possible::replace(may_bump(reader, &row))?,
            can_abandon: Possible::replace(may_abandon(reader, &row))?,
        }))
    }
}

impl VersionItem {
    pub fn from_row(version: &VersionRow, tip_height: u32) -> Self {
        Self {
            btc_tx_id: version.txid.to_string(),
            number: version.number,
            pays: version.pays,
            fee: BtcView::from_sats(version.fee_sats),
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
            state: row.state,
            address: row.address.clone(),
            amount: BtcView::from_sats(row.amount_sats),
        }
    }
}

impl Possible {
    fn approve(judged: Result<(), ApproveError>) -> Result<Self, StoreError> {
        match judged {
            Ok(()) => Ok(Self::yes()),
            Err(ApproveError::Outbox(OutboxError::Store(error))) => Err(error),
            Err(ApproveError::Limit(refusals)) => {
                let first = refusals.first().map(Told::telling);
                Ok(Self { possible: false, why_not: first })
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

    fn send(judged: Result<(), NamedRateError>) -> Result<Self, StoreError> {
        match judged {
            Err(NamedRateError::Other(error)) => Self::replace(Err(error)),
            Err(error) => Ok(Self::not(&error)),
            Ok(()) => Ok(Self::yes()),
        }
    }

    const fn yes() -> Self {
        Self { possible: true, why_not: None }
    }

    fn not(why: &impl Told) -> Self {
        Self { possible: false, why_not: Some(why.telling()) }
    }
}

pub async fn show(by: &Asker<'_>, id: Id) -> Result<PayoutView, CommandError> {
    let found = by.read(move |gateway, reader| PayoutView::find(gateway, reader, &id)).await?;
    found.ok_or_else(|| CommandError::not_found(&NotFound::Payout(id)))
}

/// A warning about a high fee.
#[derive(Debug, thiserror::Error, Told)]
pub enum HighFee {
    #[error(
        "the network's fee is more than the amount itself: pay more in one payout, or wait until fees have fallen"
    )]
    AboveAmount,
    #[error(
        "the network's fee is more than a tenth of the amount: pay more in one payout, or wait until fees have fallen"
    )]
    AboveTenth,
}

/// The warning about a high fee; `None` once a transaction is signed.
fn fee_warning(row: &PayoutRow) -> Option<HighFee> {
    let is_sent = match row.state {
        PayoutState::New | PayoutState::Queued => row.batch_seq.is_some(),
        PayoutState::Expired | PayoutState::Sent | PayoutState::Failed => true,
    };
    if is_sent || row.network_fee_sats.saturating_mul(10) <= row.amount_sats {
        return None;
    }
    Some(if row.network_fee_sats > row.amount_sats {
        HighFee::AboveAmount
    } else {
        HighFee::AboveTenth
    })
}

/// The number of payouts in state QUEUED.
pub fn queued(reader: &Reader<'_>) -> Result<u64, StoreError> {
    reader.payouts_count(&PayoutFilter {
        states: vec![PayoutState::Queued],
        ..PayoutFilter::default()
    })
}

/// The newest OPEN anomaly of the same amount as an offer. The offer may be meant as its refund.
fn anomaly_alike(reader: &Reader<'_>, row: &PayoutRow) -> Result<Option<AnomalyAlike>, StoreError> {
    if row.state != PayoutState::New || row.anomaly.is_some() {
        return Ok(None);
    }
    Ok(open_anomaly_of(reader, row.amount_sats)?.as_ref().map(AnomalyAlike::from))
}

/// Another payout to the address of an offer. Both may pay the same bill.
fn paid_before(reader: &Reader<'_>, row: &PayoutRow) -> Result<Option<PayoutRow>, StoreError> {
    if row.state != PayoutState::New {
        return Ok(None);
    }
    for states in [vec![PayoutState::Queued, PayoutState::Sent], vec![PayoutState::New]] {
        let filter =
            PayoutFilter { states, script: Some(row.script.clone()), ..PayoutFilter::default() };
        // Two rows are read, because one may be the offer itself.
        if let Some(other) =
            reader.payouts(&filter, 2, 0)?.into_iter().find(|other| other.seq != row.seq)
        {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
