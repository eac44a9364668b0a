//! Abandons a payout, and estimates the fee of doing so.

use serde::{Deserialize, Serialize};
use tillgate_gateway::sender::{Agreed, abandon_fee};
use tillgate_store::{Reader, StoreError};
use ts_rs::TS;

use super::fee_rate::worth;
use super::replaced::{RefusalView, Replaced};
use super::view::{PayoutView, SharingItem, VersionItem, show};
use crate::ask::{Ask, Asker, id};
use crate::btc::BtcView;
use crate::error::CommandError;
use crate::sums::FiatView;

/// Abandons a payout. If its transaction was signed, a replacement pays the coins back to this
/// wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AbandonPayout {
    pub payout_id: String,
    /// Whether payouts that share its transaction, or spend its change, may be abandoned with it.
    #[serde(default)]
    pub all: bool,
    /// The highest fee that a person agreed to, in satoshis; absent if no fee was shown.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub fee_at_most_sats: Option<u64>,
}

/// Estimates the fee of abandoning a payout, and lists all payouts concerned. Nothing is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EstimateAbandon {
    pub payout_id: String,
}

/// The result of abandoning a payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AbandonedView {
    /// The payout after the command. It is FAILED if nothing was signed for it.
    #[serde(flatten)]
    pub payout: PayoutView,
    /// The transaction that pays the coins back to this wallet; absent if nothing was signed for
    /// the payout.
    pub replacement: Option<VersionItem>,
    /// The backend's refusal of the replacement; absent if the backend accepted it or did not
    /// answer.
    pub refusal: Option<RefusalView>,
}

/// The fee of abandoning a payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AbandonEstimateView {
    /// The fee of the replacement; absent if nothing was signed, because then no fee is due.
    pub fee: Option<BtcView>,
    /// The fee's worth in the payout's currency, rounded up; absent without a rate.
    pub worth: Option<FiatView>,
    /// All payouts that are abandoned together, including the one that was named.
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
            Some(txid) => Some(Replaced::load(by, txid).await?),
            None => None,
        };
        let (replacement, refusal) =
            replaced.map(|replaced| (replaced.item, replaced.refusal)).unzip();
        Ok(AbandonedView {
            payout: show(by, payout_id).await?,
            replacement,
            refusal: refusal.flatten(),
        })
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
        let worth = fee
            .as_ref()
            .zip(currency)
            .and_then(|(fee, currency)| worth(by.gateway(), fee.fee_sats, currency));
        Ok(AbandonEstimateView {
            fee: fee.map(|fee| BtcView::from_sats(fee.fee_sats)),
            worth,
            payouts: payouts.iter().map(SharingItem::from).collect(),
        })
    }
}
