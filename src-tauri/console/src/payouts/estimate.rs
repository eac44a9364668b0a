//! Estimates a payout for a form that is being filled in.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tillgate_domain::money::format_btc;
use tillgate_domain::payout::PayoutState;
use tillgate_gateway::anomalies::refund_sats;
use tillgate_gateway::payouts::{Preview, PreviewRequest, preview};
use tillgate_store::anomalies::AnomalyRow;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::twins::PaidByTwin;
use tillgate_told::{Telling, Told as _};
use ts_rs::TS;

use super::typed::{plain_btc, plain_fiat, typed};
use crate::ask::{Ask, Asker, id};
use crate::btc::BtcView;
use crate::error::CommandError;
use crate::sums::FiatView;

/// Estimates a payout. Nothing is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EstimatePayout {
    /// The amount in BTC, as typed so far. At most one of the two amounts may be given.
    #[serde(default)]
    pub btc_amount: Option<String>,
    /// The amount in `currency`, as typed so far.
    #[serde(default)]
    pub fiat_amount: Option<String>,
    /// The ISO code of the currency.
    pub currency: String,
    /// The recipient's address, as typed so far.
    #[serde(default)]
    pub address: Option<String>,
    /// The anomaly that the payout refunds. Its coins are then the amount.
    #[serde(default)]
    pub anomaly_id: Option<String>,
}

/// An estimated payout. A value that is unknown or wrong is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EstimateView {
    /// The recipient's amount.
    pub amount: Option<BtcView>,
    /// The amount's worth.
    pub worth: Option<FiatView>,
    /// The fee of a transaction for this payout alone.
    pub fee: Option<BtcView>,
    /// The worth of `fee`: the difference of `total_worth` and `worth`.
    #[serde(default)]
    pub fee_worth: Option<FiatView>,
    /// The fee rate of a transaction signed now, in whole satoshis per virtual byte, rounded up.
    pub fee_rate: String,
    /// The sum of amount and fee.
    pub total: Option<BtcView>,
    pub total_worth: Option<FiatView>,
    /// The exchange rate, with 4 decimals.
    pub rate: Option<String>,
    /// The exchange rate for people.
    pub rate_shown: Option<String>,
    /// The fault of the address, with the remedy.
    pub address_problem: Option<Telling>,
    /// The fault of the amount, with the remedy.
    pub amount_problem: Option<Telling>,
    /// The reason why there is no rate.
    pub rate_problem: Option<Telling>,
    /// The newest NEW, QUEUED or SENT payout to the same address. A payout of the same amount is
    /// preferred.
    pub paid_before: Option<PaidBefore>,
    /// A payment to the same address by another copy of the wallet. With it the request needs
    /// `again`, whatever the amount.
    #[serde(default)]
    pub paid_by_copy: Option<PaidByCopy>,
    /// The newest OPEN anomaly of exactly this amount. The payout may be meant as its refund.
    pub anomaly_alike: Option<AnomalyAlike>,
    /// Whether the spendable coins are too few for this payout and the approved ones that are not
    /// signed yet.
    pub balance_short: bool,
    /// Whether the coins that are left would not pay the same fee once more. Then its fee cannot be
    /// raised later.
    #[serde(default)]
    pub takes_all_coins: bool,
    /// The highest amount that the coins and the daily limit allow now; zero if it is below the
    /// minimum.
    pub most: BtcView,
}

/// An earlier payout to the same address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PaidBefore {
    pub payout_id: String,
    pub state: PayoutState,
    /// The recipient's amount.
    pub amount: BtcView,
    /// When it was requested, ISO 8601.
    pub time: String,
}

/// A payment to the same address by another copy of the wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PaidByCopy {
    /// The other copy's transaction.
    pub btc_tx_id: String,
    /// Sum of its outputs to the address.
    pub amount: BtcView,
    /// When it was made, ISO 8601.
    pub time: String,
}

/// An OPEN anomaly of the same amount as a payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnomalyAlike {
    pub anomaly_id: String,
    pub payment_id: String,
    /// The shop's own reference of the payment.
    pub merchant_transaction_id: String,
}

impl Ask for EstimatePayout {
    type Answer = EstimateView;

    async fn answer(self, by: &Asker<'_>) -> Result<EstimateView, CommandError> {
        // A typed amount that could mean two prices is reported like any other wrong amount.
        let (fiat_amount, ambiguous) =
            match typed(self.fiat_amount).map(|text| plain_fiat(&self.currency, text)) {
                Some(Ok(plain)) => (Some(Cow::Owned(plain)), None),
                Some(Err(error)) => (None, error.told.into_iter().next()),
                None => (None, None),
            };
        let refund = self.anomaly_id.map(|text| id("anomalyId", &text)).transpose()?;
        let (refund_amount, refund_problem) =
            match refund.map(|anomaly| refund_sats(by.gateway(), anomaly)) {
                Some(Ok(sats)) => (Some(format_btc(sats)), None),
                Some(Err(refused)) => (None, Some(refused.telling())),
                None => (None, None),
            };
        let request = PreviewRequest {
            btc_amount: refund_amount
                .or_else(|| typed(self.btc_amount).map(plain_btc))
                .map(Cow::Owned),
            fiat_amount,
            currency: Cow::Owned(self.currency),
            address: typed(self.address).map(Cow::Owned),
            is_refund: refund.is_some(),
        };
        by.refresh_rates_if_unserved().await?;
        let preview = preview(by.gateway(), request)
            .await?
            .map_err(|wrong| CommandError::of_field_errors(&wrong))?;
        let mut view = EstimateView::from(preview);
        view.amount_problem = ambiguous.or(refund_problem).or(view.amount_problem);
        Ok(view)
    }
}

impl From<Preview> for EstimateView {
    fn from(preview: Preview) -> Self {
        let fiat = |minor| FiatView::from_minor(minor, preview.currency);
        let fee_minor = preview
            .fiat_total_minor
            .zip(preview.fiat_minor)
            .map(|(total, amount)| total.saturating_sub(amount));
        let total_sats = preview.amount_sats.zip(preview.network_fee_sats);
        Self {
            amount: preview.amount_sats.map(BtcView::from_sats),
            worth: preview.fiat_minor.map(fiat),
            fee: preview.network_fee_sats.map(BtcView::from_sats),
            fee_worth: fee_minor.map(fiat),
            fee_rate: preview.fee_rate.to_sat_per_vb_ceil().to_string(),
            total: total_sats.map(|(amount_sats, fee_sats)| {
                BtcView::from_sats(amount_sats.saturating_add(fee_sats))
            }),
            total_worth: preview.fiat_total_minor.map(fiat),
            rate: preview.rate.map(|rate| rate.format()),
            rate_shown: preview.rate.map(|rate| rate.show()),
            address_problem: preview.address_problem,
            amount_problem: preview.amount_problem,
            rate_problem: preview.rate_problem,
            paid_before: preview.paid_before.as_ref().map(PaidBefore::from),
            paid_by_copy: preview.paid_by_copy.map(PaidByCopy::from),
            anomaly_alike: preview.anomaly_alike.as_ref().map(AnomalyAlike::from),
            balance_short: preview.balance_short,
            takes_all_coins: preview.takes_all_coins,
            most: BtcView::from_sats(preview.most_sats),
        }
    }
}

impl From<&AnomalyRow> for AnomalyAlike {
    fn from(row: &AnomalyRow) -> Self {
        Self {
            anomaly_id: row.anomaly.id.to_string(),
            payment_id: row.payment_id.to_string(),
            merchant_transaction_id: row.merchant_transaction_id.clone(),
        }
    }
}

impl From<PaidByTwin> for PaidByCopy {
    fn from(paid: PaidByTwin) -> Self {
        Self {
            btc_tx_id: paid.txid.to_string(),
            amount: BtcView::from_sats(paid.amount_sats),
            time: paid.made_at.iso_seconds(),
        }
    }
}

impl From<&PayoutRow> for PaidBefore {
    fn from(row: &PayoutRow) -> Self {
        Self {
            payout_id: row.id.to_string(),
            state: row.state,
            amount: BtcView::from_sats(row.amount_sats),
            time: row.created_at.iso_seconds(),
        }
    }
}
