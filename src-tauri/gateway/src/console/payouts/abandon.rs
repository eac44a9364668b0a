//! Gives a payout up, and estimates the fee of that.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::bump::worth;
use super::replaced::{RefusalView, Replaced};
use super::view::{PayoutView, SharingItem, VersionItem, show};
use crate::console::ask::{Ask, Asker, id};
use crate::console::btc::BtcView;
use crate::console::error::CommandError;
use crate::console::sums::FiatView;
use crate::sender::{Agreed, abandon_fee};
use crate::store::{Reader, StoreError};

/// Gives a payout up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct AbandonPayout {
    /// The payout's id.
    pub payout_id: String,
    /// Whether payouts that share its transaction, or rest on it, may be given up with it.
    #[serde(default)]
    pub all: bool,
    /// The highest fee that a person agreed to, in satoshis; absent if no fee was shown.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub fee_at_most_sats: Option<u64>,
}

/// Tells the cost of giving a payout up, and all affected payouts. Nothing is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct EstimateAbandon {
    /// The payout's id.
    pub payout_id: String,
}

/// A payout that is being given up, or is FAILED already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct AbandonedView {
    /// The payout afterwards.
    #[serde(flatten)]
    pub payout: PayoutView,
    /// The transaction that pays the coins back; absent if none was signed for the payout.
    pub replacement: Option<VersionItem>,
    /// The backend's refusal of that transaction.
    pub refusal: Option<RefusalView>,
}

/// The cost of giving a payout up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct AbandonEstimateView {
    /// The fee; absent if nothing was signed, because then nothing is paid.
    pub fee: Option<BtcView>,
    /// The fee's worth in the payout's currency, rounded up; absent without a rate.
    pub worth: Option<FiatView>,
    /// All payouts that are given up together, including this one.
    pub payouts: Vec<SharingItem>,
}

impl Ask for AbandonPayout {
    type Answer = AbandonedView;

    async fn answer(self, by: &Asker<'_>) -> Result<AbandonedView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        let agreed = Agreed { is_forced: false, fee_sats: self.fee_at_most_sats };
        let (sender, watcher) = (&by.app.sender, &by.app.watcher);
        let txid = sender.abandon_agreed(payout_id, self.all, agreed, (by.actor, watcher)).await?;
        let replaced = match txid {
            Some(txid) => Some(Replaced::of(by, txid).await?),
            None => None,
        };
        let (replacement, refusal) = replaced.map(|replaced| (replaced.item, replaced.refusal)).unzip();
        Ok(AbandonedView { payout: show(by, payout_id).await?, replacement, refusal: refusal.flatten() })
    }
}

impl Ask for EstimateAbandon {
    type Answer = AbandonEstimateView;

    async fn answer(self, by: &Asker<'_>) -> Result<AbandonEstimateView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        let fee = abandon_fee(&by.app.gateway, payout_id).await?;
        let ids = fee.as_ref().map_or_else(|| vec![payout_id], |fee| fee.payouts.clone());
        let find = move |reader: &Reader<'_>| {
            let rows = ids.iter().filter_map(|id| reader.payout(id).transpose());
            rows.collect::<Result<Vec<_>, StoreError>>()
        };
        let payouts = by.read(move |_, reader| find(reader)).await?;
        let currency = payouts.iter().find(|row| row.id == payout_id).map(|row| row.currency);
        let worth = fee.as_ref().zip(currency).and_then(|(fee, currency)| worth(by.gateway(), fee.fee_sats, currency));
        Ok(AbandonEstimateView {
            fee: fee.map(|fee| BtcView::of_sats(fee.fee_sats)),
            worth,
            payouts: payouts.iter().map(SharingItem::from).collect(),
        })
    }
}
