//! Raises the fee of a payout's transaction, and estimates the new fee.

use serde::{Deserialize, Serialize};
use tillgate_gateway::sender::{Agreed, ReplacementFee, bump_fee};
use ts_rs::TS;

use super::fee_rate::{check_rate, rate_shown, worth};
use super::replaced::{RefusalView, Replaced};
use super::view::{PayoutView, VersionItem, show};
use crate::ask::{Ask, Asker, id};
use crate::btc::BtcView;
use crate::error::CommandError;
use crate::refusal::NotFound;
use crate::sums::FiatView;

/// Replaces a payout's transaction by one with a higher fee. If its change is spent, the last
/// transaction of that chain of change is replaced instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BumpPayout {
    pub payout_id: String,
    /// In whole satoshis per virtual byte; if absent, the backend's estimate is used.
    #[serde(default)]
    pub fee_rate: Option<u32>,
    /// Whether the fee may exceed the sum that the transaction pays out.
    #[serde(default)]
    pub force: bool,
    /// The highest fee that a person agreed to, in satoshis; absent if no fee was shown.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub fee_at_most_sats: Option<u64>,
}

/// Estimates the fee of a bump. Nothing is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EstimateBump {
    pub payout_id: String,
    /// In whole satoshis per virtual byte; if absent, the backend's estimate is used.
    #[serde(default)]
    pub fee_rate: Option<u32>,
}

/// A payout whose fee was raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BumpedView {
    #[serde(flatten)]
    pub payout: PayoutView,
    /// The new transaction. If the payout's change is spent, it replaces the last transaction of
    /// that chain of change, and its fee lifts the whole package.
    pub replacement: VersionItem,
    /// Whether the fee is above the requested rate, because nodes would refuse a lower one.
    pub is_least: bool,
    /// The backend's refusal of the replacement; absent if the backend accepted it or did not
    /// answer.
    pub refusal: Option<RefusalView>,
}

/// The fee of a bump, computed with the present coins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BumpEstimateView {
    /// The fee of the transaction to replace.
    pub fee_now: BtcView,
    /// The fee of the replacement.
    pub fee: BtcView,
    /// The worth of `fee` in the payout's currency, rounded up; absent without a rate.
    pub worth: Option<FiatView>,
    /// The rate of `fee` in satoshis per virtual byte, cut to 2 decimals.
    pub fee_rate: String,
    /// Whether `fee` is above the requested rate, because nodes would refuse a lower one.
    pub is_least: bool,
    /// The setting `feeCapSatVb`: the highest rate of a bump that names no rate.
    pub cap: u32,
    /// Whether the rate of `fee` is above the cap.
    pub above_cap: bool,
    /// The rate of `fee` in whole satoshis per virtual byte, rounded up. A bump above the cap must
    /// name this rate.
    pub needed: u32,
    /// The sum that the transaction pays out.
    pub pays: BtcView,
    /// Whether `fee` is higher than `pays`. The bump must then be forced.
    pub above_pays: bool,
}

impl Ask for BumpPayout {
    type Answer = BumpedView;

    async fn answer(self, by: &Asker<'_>) -> Result<BumpedView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        check_rate(self.fee_rate)?;
        let agreed = Agreed { is_forced: self.force, fee_sats: self.fee_at_most_sats };
        let (sender, watcher) = (&by.app.sender, &by.app.watcher);
        let txid =
            sender.bump_agreed(payout_id, self.fee_rate, agreed, (by.actor, watcher)).await?;
        let Replaced { row, item, refusal } = Replaced::load(by, txid).await?;
        Ok(BumpedView {
            payout: show(by, payout_id).await?,
            replacement: item,
            is_least: is_least(self.fee_rate, row.fee_sats, row.vsize),
            refusal,
        })
    }
}

impl Ask for EstimateBump {
    type Answer = BumpEstimateView;

    async fn answer(self, by: &Asker<'_>) -> Result<BumpEstimateView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        check_rate(self.fee_rate)?;
        let gateway = by.gateway();
        let fee = bump_fee(&by.app.gateway, payout_id, self.fee_rate).await?;
        let ReplacementFee { now_sats, fee_sats, vsize, pays_sats, .. } = fee;
        let row = by.read(move |_, reader| reader.payout(&payout_id)).await?;
        let row = row.ok_or_else(|| CommandError::not_found(&NotFound::Payout(payout_id)))?;
        let cap = gateway.settings.snapshot().fee_cap_sat_vb;
        let needed = fee_sats.div_ceil(vsize.max(1));
        Ok(BumpEstimateView {
            fee_now: BtcView::from_sats(now_sats),
            fee: BtcView::from_sats(fee_sats),
            worth: worth(gateway, fee_sats, row.currency),
            fee_rate: rate_shown(fee_sats, vsize),
            is_least: is_least(self.fee_rate, fee_sats, vsize),
            cap,
            above_cap: needed > u64::from(cap),
            needed: u32::try_from(needed).unwrap_or(u32::MAX),
            pays: BtcView::from_sats(pays_sats),
            above_pays: fee_sats > pays_sats,
        })
    }
}

/// Whether a fee is above the fee at the requested rate.
fn is_least(given: Option<u32>, fee_sats: u64, vsize: u64) -> bool {
    given.is_some_and(|given| fee_sats > u64::from(given).saturating_mul(vsize))
}

#[cfg(test)]
mod tests {
    use tillgate_domain::id::Id;

    use super::*;
    use crate::actor::Actor;
    use crate::command::ask;
    use crate::payouts::{AbandonPayout, EstimateAbandon};
    use tillgate_gateway::testing::World;

    async fn estimate(world: &World, id: &Id, fee_rate: Option<u32>) -> BumpEstimateView {
        let asked = EstimateBump { payout_id: id.to_string(), fee_rate };
        ask(&world.app, asked, &Actor::command_line()).await.unwrap()
    }

    #[tokio::test]
    async fn a_bump_pays_the_estimated_fee() {
        let world = World::new().await;
        world.make_wallet().await;
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, 1_000_000);
        world.mine(2).await;
        let id = world.approved_payout(20_000).await;
        world.pass_ms(31_000).await;
        world.pass_sender().await;
        for fee_rate in [Some(9), Some(1), None] {
            let told = estimate(&world, &id, fee_rate).await;
            let payout_id = id.to_string();
            let asked = BumpPayout { payout_id, fee_rate, force: false, fee_at_most_sats: None };
            let bumped = ask(&world.app, asked, &Actor::command_line()).await.unwrap();
            assert_eq!(bumped.replacement.fee, told.fee);
            assert_eq!(
                (bumped.is_least, told.is_least),
                (fee_rate == Some(1), fee_rate == Some(1))
            );
            assert!(!told.above_cap && !told.above_pays && told.fee_now.sats < told.fee.sats);
        }
        let dear = estimate(&world, &id, Some(300)).await;
        assert!(dear.above_cap && dear.above_pays && dear.pays.sats == 20_000, "{dear:?}");
    }

    #[tokio::test]
    async fn a_fee_above_the_agreed_one_is_refused() {
        let world = World::new().await;
        world.make_wallet().await;
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, 1_000_000);
        world.mine(2).await;
        let id = world.approved_payout(20_000).await;
        world.pass_ms(31_000).await;
        world.pass_sender().await;
        let payout_id = || id.to_string();
        let fee_sats = u64::try_from(estimate(&world, &id, Some(9)).await.fee.sats).unwrap();
        let bump = |most: u64| {
            let payout_id = payout_id();
            let asked = BumpPayout {
                payout_id,
                fee_rate: Some(9),
                force: false,
                fee_at_most_sats: Some(most),
            };
            let app = &world.app;
            async move { ask(app, asked, &Actor::command_line()).await }
        };
        assert_eq!(bump(fee_sats - 1).await.unwrap_err().error_type, "FEE_CHANGED");
        bump(fee_sats).await.unwrap();
        let told =
            ask(&world.app, EstimateAbandon { payout_id: payout_id() }, &Actor::command_line())
                .await
                .unwrap();
        let fee = told.fee.unwrap();
        assert_eq!(told.payouts.len(), 1);
        let give_up = |most: i64| {
            let most = u64::try_from(most).ok();
            let asked =
                AbandonPayout { payout_id: payout_id(), all: false, fee_at_most_sats: most };
            let app = &world.app;
            async move { ask(app, asked, &Actor::command_line()).await }
        };
        assert_eq!(give_up(fee.sats - 1).await.unwrap_err().error_type, "FEE_CHANGED");
        assert_eq!(give_up(fee.sats).await.unwrap().replacement.unwrap().fee, fee);
    }

    #[tokio::test]
    async fn a_bump_that_adds_a_coin_pays_the_estimated_fee() {
        let world = World::new().await;
        world.make_wallet().await;
        for _ in 0..2 {
            let payment = world.payment_to_wallet().await;
            world.customer_pays(&payment, 1_000_000);
        }
        world.mine(2).await;
        let id = world.approved_payout(990_000).await;
        world.pass_ms(31_000).await;
        world.pass_sender().await;
        let told = estimate(&world, &id, Some(100)).await;
        let asked = serde_json::from_value(
            serde_json::json!({ "payoutId": id.to_string(), "feeRate": 100 }),
        )
        .unwrap();
        let bumped = ask::<BumpPayout>(&world.app, asked, &Actor::command_line()).await.unwrap();
        assert_eq!(bumped.replacement.fee.sats, told.fee.sats);
    }
}
