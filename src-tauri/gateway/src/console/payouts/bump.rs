//! Raising the fee of a payout's transaction: what that would cost, and doing it.

use bitcoin::FeeRate;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::fee_rate::rate_shown;
use super::view::{PayoutView, VersionItem};
use super::{FEE_RATES, show};
use crate::console::ask::{Ask, Asker, id};
use crate::console::btc::BtcView;
use crate::console::error::CommandError;
use crate::console::sums::FiatView;
use crate::funds;
use crate::sender::{BumpFee, ReplaceError, bump_fee};
use crate::store::Reader;

/// Replaces a payout's transaction, or the last one along its change, by one with a higher fee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct BumpPayout {
    /// The payout's id.
    pub payout_id: String,
    /// In whole satoshis for a virtual byte; absent for the estimate.
    #[serde(default)]
    pub fee_rate: Option<u32>,
}

/// Tells what a higher fee would come to. Nothing is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct EstimateBump {
    /// The payout's id.
    pub payout_id: String,
    /// In whole satoshis for a virtual byte; absent for the estimate.
    #[serde(default)]
    pub fee_rate: Option<u32>,
}

/// A payout whose fee was raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct BumpedView {
    /// The payout.
    #[serde(flatten)]
    pub payout: PayoutView,
    /// The transaction that was signed: the payout's own, or the last one along its change, which pulls it along.
    pub replacement: VersionItem,
    /// Whether it pays more than the rate that was given, because nodes take no less.
    pub is_least: bool,
}

/// What a higher fee would come to, where the replacement is as large as what it replaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct BumpEstimateView {
    /// The fee that is paid now.
    pub fee_now: BtcView,
    /// The fee that would be paid in place of it.
    pub fee: BtcView,
    /// Its worth in the payout's currency, rounded up; absent without a rate.
    pub worth: Option<FiatView>,
    /// In satoshis for a virtual byte, cut to 2 decimals.
    pub fee_rate: String,
    /// Whether that is more than the rate that was given, because nodes take no less.
    pub is_least: bool,
    /// The highest rate without a person's word for it: `feeCapSatVb`.
    pub cap: u32,
    /// Whether the rate is above that.
    pub above_cap: bool,
    /// In whole satoshis for a virtual byte, rounded up: what has to be given where it is above the cap.
    pub needed: u32,
    /// Whether the fee is higher than the payout's amount.
    pub above_amount: bool,
}

impl Ask for BumpPayout {
    type Answer = BumpedView;

    async fn answer(self, by: &Asker<'_>) -> Result<BumpedView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        check_rate(self.fee_rate)?;
        let bumped = by.app.sender.bump(payout_id, self.fee_rate, by.actor, &by.app.watcher).await?;
        let find = move |reader: &Reader<'_>| Ok((reader.version(&bumped)?, reader.tip_height()?));
        let (version, tip_height) = by.read(move |_, reader| find(reader)).await?;
        let version = version.ok_or_else(CommandError::internal)?;
        Ok(BumpedView {
            payout: show(by, payout_id).await?,
            replacement: VersionItem::of(&version, tip_height),
            is_least: is_least(self.fee_rate, version.fee_sats, version.vsize),
        })
    }
}

impl Ask for EstimateBump {
    type Answer = BumpEstimateView;

    async fn answer(self, by: &Asker<'_>) -> Result<BumpEstimateView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        check_rate(self.fee_rate)?;
        let gateway = by.gateway();
        let settings = gateway.settings.snapshot();
        let rate = funds::fee_rate(gateway, &settings).await;
        let wanted = self.fee_rate.map_or(rate.capped(), FeeRate::from_sat_per_vb_u32);
        let (row, fee) = gateway.store.read(|reader| {
            let row = reader.payout(&payout_id)?.ok_or(ReplaceError::NoSuchPayout(payout_id))?;
            let fee = bump_fee(reader, &row, wanted)?;
            Ok::<_, ReplaceError>((row, fee))
        })?;
        let BumpFee { now_sats, fee_sats, vsize } = fee;
        let needed = fee_sats.div_ceil(vsize.max(1));
        let book_rate = gateway.rates.rate_for(row.currency, gateway.clock.now()).ok();
        let worth_minor = book_rate.and_then(|stored| stored.rate.sats_to_minor_ceil(fee_sats, row.currency));
        Ok(BumpEstimateView {
            fee_now: BtcView::of_sats(now_sats),
            fee: BtcView::of_sats(fee_sats),
            worth: worth_minor.map(|minor| FiatView::of(minor, row.currency)),
            fee_rate: rate_shown(fee_sats, vsize),
            is_least: is_least(self.fee_rate, fee_sats, vsize),
            cap: settings.fee_cap_sat_vb,
            above_cap: needed > rate.cap.to_sat_per_vb_ceil(),
            needed: u32::try_from(needed).unwrap_or(u32::MAX),
            above_amount: fee_sats > row.amount_sats,
        })
    }
}

fn check_rate(fee_rate: Option<u32>) -> Result<(), CommandError> {
    match fee_rate {
        Some(rate) if !FEE_RATES.contains(&rate) => {
            Err(CommandError::invalid("feeRate", &"must be from 1 to 10000 sat/vB"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether a fee is above the rate that was given, by more than its rounding.
fn is_least(given: Option<u32>, fee_sats: u64, vsize: u64) -> bool {
    given.is_some_and(|given| fee_sats > u64::from(given).saturating_mul(vsize))
}

#[cfg(test)]
mod tests {
    use tillgate_domain::id::Id;

    use super::*;
    use crate::console::actor::Actor;
    use crate::console::command::ask;
    use crate::testing::World;

    async fn estimate(world: &World, id: &Id, fee_rate: Option<u32>) -> BumpEstimateView {
        let asked = EstimateBump { payout_id: id.to_string(), fee_rate };
        ask(&world.app, asked, &Actor::command_line()).await.unwrap()
    }

    #[tokio::test]
    async fn the_fee_that_is_named_before_a_bump_is_the_fee_that_is_paid() {
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
            let asked = BumpPayout { payout_id: id.to_string(), fee_rate };
            let bumped = ask(&world.app, asked, &Actor::command_line()).await.unwrap();
            // Of the transaction that is replaced the size is known; a signature may come out a byte shorter than is reckoned.
            let off = bumped.replacement.fee.sats.abs_diff(told.fee.sats);
            assert!(off * 100 <= told.fee.sats.unsigned_abs(), "{fee_rate:?}: {off} of {:?}", told.fee);
            assert_eq!((bumped.is_least, told.is_least), (fee_rate == Some(1), fee_rate == Some(1)));
            assert!(!told.above_cap && !told.above_amount && told.fee_now.sats < told.fee.sats);
        }
        let dear = estimate(&world, &id, Some(10_000)).await;
        assert!(dear.above_cap && dear.above_amount, "{dear:?}");
    }
}
