//! Backends without an estimate of the fee rate: a new node, one with -blocksonly, a server that
//! answers -1.

use std::sync::Arc;

use bitcoin::FeeRate;
use tillgate_chain::NodeFeeRates;
use tillgate_domain::payment::PaymentState::{Confirmed, Unconfirmed};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_sandbox::FaultsPatch;

use crate::funds;
use crate::gateway::WaitCause;
use crate::settings::Act;
use crate::testing::World;
use crate::testing::stage::{Backend, Stage};

/// The quiet time before a payment is accepted without a confirmation: longer than a busy machine
/// takes.
const QUIET_SECONDS: u32 = 300;

/// Sets the backend's estimate, in sat/vB; 0 for none.
fn estimate(world: &World, sat_vb: u64) {
    world
        .sandbox()
        .set_faults(FaultsPatch { fee_rate_sat_vb: Some(Some(sat_vb)), ..FaultsPatch::default() })
        .unwrap();
}

async fn put(world: &World, name: &str, value: &str) {
    let act = Act { actor: "cli", at: world.gateway.time.now() };
    world.gateway.settings.set(&world.gateway.store, name, value, act).await.unwrap();
}

#[tokio::test]
async fn a_backend_names_its_estimate_and_its_minimum() {
    for backend in [Backend::Core, Backend::Electrum, Backend::Sandbox] {
        let stage = Stage::new(backend).await;
        let rate = FeeRate::from_sat_per_vb_u32;
        for (set, estimate) in [(Some(37), Some(37)), (Some(0), None), (None, Some(2))] {
            let faults = FaultsPatch { fee_rate_sat_vb: Some(set), ..FaultsPatch::default() };
            stage.world().sandbox().set_faults(faults).unwrap();
            let chain = Arc::clone(&stage.world().gateway.backend.chain);
            let named =
                tokio::task::spawn_blocking(move || chain.fee_rates(6)).await.unwrap().unwrap();
            let (estimate, one) = (estimate.map(rate), rate(1));
            assert_eq!(
                named,
                NodeFeeRates { estimate, minimum: one, increment: one },
                "{backend:?}"
            );
        }
    }
}

#[tokio::test]
async fn without_an_estimate_nothing_is_accepted_unconfirmed() {
    for backend in [Backend::Core, Backend::Electrum, Backend::Sandbox] {
        let stage = Stage::new(backend).await;
        let world = stage.world();
        for (told, state) in [(2, Confirmed), (0, Unconfirmed)] {
            estimate(world, told);
            let policy = PolicySettings {
                zero_conf_up_to: PriceBound::usd(100),
                zero_conf_quiet_seconds: QUIET_SECONDS,
                ..PolicySettings::default()
            };
            let payment = world.payment_under(policy).await;
            world.pay(&payment, payment.payment.amount_sats).await;
            world.pass_ms(i64::from(QUIET_SECONDS + 1) * 1_000).await;
            assert_eq!(world.state(&payment), state, "{backend:?}, estimate {told}");
        }
    }
}

#[tokio::test]
async fn without_an_estimate_payouts_wait_until_a_rate_is_set() {
    for backend in [Backend::Core, Backend::Electrum, Backend::Sandbox] {
        let stage = Stage::new(backend).await;
        let world = stage.world();
        world.make_wallet().await;
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, 1_000_000);
        world.mine(2).await;
        estimate(world, 0);
        let payout = world.approved_payout(200_000).await;
        world.pass_ms(31_000).await;
        world.pass_sender().await;
        assert_eq!(world.payout_state(&payout), PayoutState::Queued, "{backend:?}");
        let wait = world.gateway.sending.waits_for().unwrap();
        assert_eq!(wait.cause, WaitCause::NoEstimate, "{backend:?}: {wait:?}");
        world.pass_ms(25 * 3_600_000).await;
        world.pass_sender().await;
        assert_eq!(
            world.payout_state(&payout),
            PayoutState::Queued,
            "{backend:?}: no attempt was made"
        );
        put(world, "feeFallbackSatVb", "7").await;
        world.pass_sender().await;
        let version = world
            .gateway
            .store
            .read(|reader| reader.version(&world.txid_of(&payout)))
            .unwrap()
            .unwrap();
        // A signature may be shorter than the fee allows for, which saves one virtual byte.
        let spare = version.fee_sats - 7 * version.vsize;
        assert!([0, 7].contains(&spare), "{backend:?}: {version:?}");
    }
}

#[tokio::test]
async fn offers_use_fallback_or_last_estimate_or_floor() {
    let stage = Stage::new(Backend::Sandbox).await;
    let world = stage.world();
    for (told, fallback, wanted) in
        [(0, "0", 1), (0, "9", 9), (33, "9", 33), (0, "0", 33), (0, "1000", 200)]
    {
        estimate(world, told);
        put(world, "feeFallbackSatVb", fallback).await;
        let offered = funds::fee_rate(&world.gateway, &world.gateway.settings.snapshot()).await;
        assert_eq!(offered.estimate, FeeRate::from_sat_per_vb_u32(wanted), "{told}, {fallback}");
    }
}
