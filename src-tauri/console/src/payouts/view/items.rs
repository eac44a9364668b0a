//! Makes the items of payouts in lists, all from one snapshot.

use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;
use tillgate_gateway::funds::is_given_up;
use tillgate_gateway::gateway::{Gateway, Wait};
use tillgate_gateway::records::Snapshot;
use tillgate_gateway::sender::{Payable, is_held_back, payable};
use tillgate_gateway::settlement::twins::UnminedTwins;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};

use super::item::PayoutItem;
use crate::btc::BtcView;
use crate::payouts::stuck::StuckItem;
use crate::payouts::waiting::{Queue, Standing};
use crate::sums::FiatView;

/// The facts that the items of all payouts share.
pub struct PayoutItems<'a> {
    gateway: &'a Gateway,
    snapshot: Snapshot<'a>,
    pub tip_height: u32,
    queue: Queue,
    twins: UnminedTwins,
}

impl<'a> PayoutItems<'a> {
    pub fn load(
        gateway: &'a Gateway,
        reader: &'a Reader<'a>,
        pages_base: &'a str,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            gateway,
            snapshot: Snapshot::new(reader, gateway.installation, pages_base),
            tip_height: reader.tip_height()?,
            queue: Queue::load(gateway, reader)?,
            twins: UnminedTwins::load(reader)?,
        })
    }

    pub fn item(&self, row: &PayoutRow) -> Result<PayoutItem, StoreError> {
        let currency = row.currency;
        let being_given_up = self.being_given_up(row)?;
        let standing = Standing {
            is_being_given_up: being_given_up,
            is_held_back: self.is_held_back(row)?,
            copy_pays: self.copy_pays(row)?,
        };
        let (wait_cause, waits_for) =
            self.queue.why(row, standing).map(|Wait { cause, reason }| (cause, reason)).unzip();
        Ok(PayoutItem {
            payout_id: row.id.to_string(),
            state: row.state,
            address: row.address.clone(),
            amount: BtcView::from_sats(row.amount_sats),
            worth: FiatView::from_minor(row.fiat_minor, currency),
            currency: currency.code().to_owned(),
            fee: BtcView::from_sats(row.network_fee_sats),
            fee_paid: (row.booked_fee_sats != 0)
                .then(|| BtcView::from_signed_sats(row.booked_fee_sats.saturating_neg())),
            total: BtcView::from_sats(row.amount_sats.saturating_add(row.network_fee_sats)),
            fee_worth: Some(FiatView::from_minor(
                row.fiat_total_minor.saturating_sub(row.fiat_minor),
                currency,
            )),
            total_worth: FiatView::from_minor(row.fiat_total_minor, currency),
            rate: row.rate.format(),
            rate_shown: row.rate.show(),
            comment: row.comment.clone(),
            requested_by: row.requested_by.clone(),
            requested_by_shop: row.key_id.is_some(),
            approved_by: row.approved_by.clone(),
            creation_time: row.created_at.iso_seconds(),
            expiration_time: row.expires_at.iso_seconds(),
            approval_time: row.approved_at.map(Timestamp::iso_seconds),
            sent_time: row.sent_at.map(Timestamp::iso_seconds),
            btc_tx_id: row.txid.map(|txid| txid.to_string()),
            made_elsewhere: self.made_elsewhere(row)?,
            confirmations: self.confirmations(row)?,
            failure_reason: row.failure_reason.clone(),
            failed_time: row.failed_at.map(Timestamp::iso_seconds),
            balance_short: row.balance_short,
            anomaly_id: row.anomaly.map(|(_, id)| id.to_string()),
            being_given_up,
            waits_for,
            wait_cause,
            stuck: StuckItem::of_payout(self.gateway, self.snapshot.reader, row)?,
            record: self.snapshot.payout(row),
        })
    }

    fn made_elsewhere(&self, row: &PayoutRow) -> Result<bool, StoreError> {
        match row.txid.filter(|_| row.state == PayoutState::Sent) {
            Some(txid) => Ok(self.snapshot.reader.version(&txid)?.is_none()),
            None => Ok(false),
        }
    }

    fn confirmations(&self, row: &PayoutRow) -> Result<u32, StoreError> {
        let reader = self.snapshot.reader;
        let Some(txid) = &row.txid else { return Ok(0) };
        let position = match reader.version(txid)? {
            Some(version) => Some(version.position),
            None => reader.twin(txid)?.map(|twin| twin.position),
        };
        Ok(position.map_or(0, |position| position.confirmations(self.tip_height)))
    }

    /// Whether the transaction of an approved payout must not be broadcast, because another copy of
    /// the wallet paid one of the transaction's payouts.
    fn is_held_back(&self, row: &PayoutRow) -> Result<bool, StoreError> {
        match row.txid.filter(|_| row.state == PayoutState::Queued) {
            Some(txid) => is_held_back(self.snapshot.reader, &txid),
            None => Ok(false),
        }
    }

    /// The reason why no transaction is signed for a payout that another copy of the wallet may
    /// pay.
    fn copy_pays(&self, row: &PayoutRow) -> Result<Option<Wait>, StoreError> {
        if row.state != PayoutState::Queued || row.batch_seq.is_some() {
            return Ok(None);
        }
        match payable(self.snapshot.reader, &self.twins, row)? {
            Payable::Waits(why) => Ok(Some(why)),
            Payable::Spending(_) => Ok(None),
        }
    }

    /// Whether a payout was abandoned and is not decided yet. Its newest transaction, or an
    /// ancestor of it, then pays the coins back to this wallet, and no transaction that pays the
    /// payout is confirmed.
    fn being_given_up(&self, row: &PayoutRow) -> Result<bool, StoreError> {
        let is_over = match row.state {
            PayoutState::Queued | PayoutState::Sent => false,
            PayoutState::New | PayoutState::Expired | PayoutState::Failed => true,
        };
        let Some(batch_seq) = row.batch_seq.filter(|_| !is_over) else { return Ok(false) };
        let versions = self.snapshot.reader.versions(batch_seq)?;
        // A payout that another copy of this wallet sent is not being abandoned.
        let is_ours =
            row.txid.is_none_or(|txid| versions.iter().any(|version| version.txid == txid));
        let is_paid = versions
            .iter()
            .any(|version| version.pays && version.position.confirmations(self.tip_height) > 0);
        let Some(newest) = versions.last().filter(|_| is_ours && !is_paid) else {
            return Ok(false);
        };
        Ok(!newest.pays || is_given_up(self.snapshot.reader, &newest.txid)?)
    }
}
