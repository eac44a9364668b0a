//! Sends one waiting payout at a fee rate that staff name, and estimates the fee.

use bitcoin::FeeRate;
use serde::{Deserialize, Serialize};
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::sender::{Agreed, NamedRateFee, named_rate_fee};
use ts_rs::TS;

use super::fee_rate::{check_rate, rate_shown, worth};
use super::replaced::{RefusalView, Replaced};
use super::view::{PayoutView, VersionItem, show};
use crate::ask::{Ask, Asker, id};
use crate::btc::BtcView;
use crate::error::CommandError;
use crate::refusal::{ArgumentFault, NotFound};
use crate::sums::FiatView;

/// Sends an approved payout that waits, in a transaction of its own. The rate may be above the
/// setting `feeCapSatVb`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SendPayout {
    pub payout_id: String,
    /// In whole satoshis per virtual byte.
    pub fee_rate: u32,
    /// Whether the fee may exceed the payout's amount.
    #[serde(default)]
    pub force: bool,
    /// The highest fee that a person agreed to, in satoshis; absent if no fee was shown.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub fee_at_most_sats: Option<u64>,
}

/// Estimates the fee of sending a waiting payout at this rate. Nothing is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EstimateSend {
    pub payout_id: String,
    /// In whole satoshis per virtual byte.
    pub fee_rate: u32,
}

/// A payout that was sent at a named rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SentAloneView {
    #[serde(flatten)]
    pub payout: PayoutView,
    pub transaction: VersionItem,
    /// The backend's refusal of the transaction; absent if the backend accepted it or did not
    /// answer.
    pub refusal: Option<RefusalView>,
}

/// The fee of sending a waiting payout at a named rate, computed with the present coins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SendEstimateView {
    pub fee: BtcView,
    /// The worth of `fee` in the payout's currency, rounded up; absent without a rate.
    pub worth: Option<FiatView>,
    /// The rate of `fee` in satoshis per virtual byte, cut to 2 decimals. It is above the named
    /// rate if `fee` also pays for unconfirmed transactions below.
    pub fee_rate: String,
    /// The setting `feeCapSatVb`.
    pub cap: u32,
    /// Whether the named rate is above the cap.
    pub above_cap: bool,
    /// The payout's amount.
    pub pays: BtcView,
    /// Whether `fee` is higher than `pays`. The order must then be forced.
    pub above_pays: bool,
}

impl Ask for SendPayout {
    type Answer = SentAloneView;

    async fn answer(self, by: &Asker<'_>) -> Result<SentAloneView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        let fee_rate = named(by.gateway(), self.fee_rate)?;
        let agreed = Agreed { is_forced: self.force, fee_sats: self.fee_at_most_sats };
        let (sender, watcher) = (&by.app.sender, &by.app.watcher);
        let txid = sender.send_at_rate(payout_id, fee_rate, agreed, (by.actor, watcher)).await?;
        let Replaced { item, refusal, .. } = Replaced::load(by, txid).await?;
        Ok(SentAloneView { payout: show(by, payout_id).await?, transaction: item, refusal })
    }
}

impl Ask for EstimateSend {
    type Answer = SendEstimateView;

    async fn answer(self, by: &Asker<'_>) -> Result<SendEstimateView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        let gateway = by.gateway();
        let fee_rate = named(gateway, self.fee_rate)?;
        let NamedRateFee { fee_sats, vsize, pays_sats } =
            named_rate_fee(&by.app.gateway, payout_id, fee_rate).await?;
        let row = by.read(move |_, reader| reader.payout(&payout_id)).await?;
        let row = row.ok_or_else(|| CommandError::not_found(&NotFound::Payout(payout_id)))?;
        let cap = gateway.settings.snapshot().fee_cap_sat_vb;
        Ok(SendEstimateView {
            fee: BtcView::from_sats(fee_sats),
            worth: worth(gateway, fee_sats, row.currency),
            fee_rate: rate_shown(fee_sats, vsize),
            cap,
            above_cap: self.fee_rate > cap,
            pays: BtcView::from_sats(pays_sats),
            above_pays: fee_sats > pays_sats,
        })
    }
}

/// The rate that a person named, if it is within the bounds and the backend's node takes it.
fn named(gateway: &Gateway, sat_vb: u32) -> Result<FeeRate, CommandError> {
    check_rate(Some(sat_vb))?;
    let rate = FeeRate::from_sat_per_vb_u32(sat_vb);
    match gateway.fee_rates_known() {
        Some(known) if rate < known.rates.minimum => {
            let least = known.rates.minimum.to_sat_per_vb_ceil();
            Err(CommandError::invalid("feeRate", &ArgumentFault::LowRate { least }))
        }
        Some(_) | None => Ok(rate),
    }
}

#[cfg(test)]
mod tests {
    use tillgate_domain::id::Id;
    use tillgate_sandbox::FaultsPatch;

    use super::*;
    use crate::actor::Actor;
    use crate::command::ask;
    use crate::doctor::Doctor;
    use crate::payouts::ShowPayout;
    use crate::status::Status;
    use tillgate_gateway::gateway::WaitCause;
    use tillgate_gateway::testing::World;

    /// A payout that waits, because the backend has no estimate.
    async fn waiting() -> (World, Id) {
        let world = World::new().await;
        world.make_wallet().await;
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, 1_000_000);
        world.mine(2).await;
        world
            .sandbox()
            .set_faults(FaultsPatch { fee_rate_sat_vb: Some(Some(0)), ..FaultsPatch::default() })
            .unwrap();
        let id = world.approved_payout(200_000).await;
        world.pass_ms(31_000).await;
        world.pass_sender().await;
        (world, id)
    }

    async fn send(world: &World, id: &Id, fee_rate: u32) -> Result<SentAloneView, CommandError> {
        let asked = SendPayout {
            payout_id: id.to_string(),
            fee_rate,
            force: false,
            fee_at_most_sats: None,
        };
        ask(&world.app, asked, &Actor::command_line()).await
    }

    #[tokio::test]
    async fn payout_status_and_doctor_say_why_a_payout_waits() {
        let (world, id) = waiting().await;
        let by = Actor::command_line();
        let shown = ask(&world.app, ShowPayout { payout_id: id.to_string() }, &by).await.unwrap();
        assert_eq!(shown.item.wait_cause, Some(WaitCause::NoEstimate));
        assert!(
            shown.can_send.possible
                && shown.item.waits_for.unwrap().message.contains("no estimate")
        );
        let status = ask(&world.app, Status {}, &by).await.unwrap();
        assert_eq!(status.sender_wait_cause, Some(WaitCause::NoEstimate));
        let doctor = ask(&world.app, Doctor {}, &by).await.unwrap();
        let told = doctor.checks.iter().find(|check| check.name == "payouts").unwrap();
        assert!(
            !told.ok
                && told.message.contains("feeFallbackSatVb")
                && told.message.contains("payouts send ID")
        );
    }

    #[tokio::test]
    async fn a_payout_pays_the_fee_that_was_estimated() {
        let (world, id) = waiting().await;
        let asked = EstimateSend { payout_id: id.to_string(), fee_rate: 250 };
        let told = ask(&world.app, asked, &Actor::command_line()).await.unwrap();
        assert!(told.above_cap && !told.above_pays && told.fee_rate == "250.00", "{told:?}");
        let sent = send(&world, &id, 250).await.unwrap();
        assert_eq!((&sent.transaction.fee, sent.refusal), (&told.fee, None));
        assert!(sent.transaction.accepted && sent.payout.shares_with.is_empty());
        let refused = send(&world, &id, 250).await.unwrap_err();
        assert_eq!(refused.error_type, "PAYOUT_NOT_WAITING");
    }

    #[tokio::test]
    async fn a_rate_out_of_bounds_names_its_field_and_the_bounds() {
        let (world, id) = waiting().await;
        for (fee_rate, bound) in [(0, "from 1 to 10000"), (10_001, "from 1 to 10000")] {
            let refused = send(&world, &id, fee_rate).await.unwrap_err();
            assert_eq!(refused.field.as_deref(), Some("feeRate"));
            assert!(refused.message.contains(bound), "{refused}");
        }
    }
}
