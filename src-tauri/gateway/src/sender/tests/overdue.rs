//! A payout fails only if an attempt that began after its time limit does not succeed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bitcoin::FeeRate;
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{Chain, ChainDown, NodeFeeRates};
use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::FaultsPatch;

use crate::testing::World;
use crate::testing::sending::world_with_coins;

const HOUR_MS: i64 = 3_600_000;

/// The sandbox's chain. It answers a question for a fee rate slowly, with a rate above every cap.
struct Slow {
    chain: Arc<dyn Chain>,
    /// Time that the first answer takes on the environment's clock, in milliseconds.
    takes_ms: AtomicI64,
    clock_offset_ms: Arc<AtomicI64>,
}

impl ChainWrapper for Slow {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn fee_rates(&self, _: u16) -> Result<NodeFeeRates, ChainDown> {
        self.clock_offset_ms.fetch_add(self.takes_ms.swap(0, Ordering::SeqCst), Ordering::SeqCst);
        let rate = FeeRate::from_sat_per_vb_u32(5_000);
        Ok(NodeFeeRates { estimate: Some(rate), minimum: rate, increment: rate })
    }
}

#[tokio::test]
async fn a_remembered_keyring_refusal_fails_no_overdue_payout() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.lock_keys(true);
    world.pass_ms(24 * HOUR_MS - 30_000).await;
    world.pass_sender().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued, "it is not overdue yet");
    world.lock_keys(false);
    world.pass_ms(40_000).await;
    world.pass_sender().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued, "the keyring was not asked since");
    assert!(
        world.gateway.sending.waits_for().is_some_and(|why| why.reason.message.contains("locked"))
    );
    world.pass_ms(30_000).await;
    world.pass_sender().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
}

#[tokio::test]
async fn an_attempt_begun_in_time_fails_no_payout_overdue_at_its_end() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    let clock_offset_ms = Arc::clone(&world.gateway.time.offset_ms);
    let world = world.with_chain(|chain| {
        Arc::new(Slow { chain, takes_ms: AtomicI64::new(HOUR_MS), clock_offset_ms })
    });
    world.pass_ms(24 * HOUR_MS - 300_000).await;
    world.pass_sender().await;
    assert_eq!(
        world.payout_state(&payout),
        PayoutState::Queued,
        "the attempt began before the time limit"
    );
    world.pass_sender().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Failed);
}

#[tokio::test]
async fn an_approval_time_in_the_future_is_due_at_once() {
    let world = world_with_coins(1).await;
    let offset_ms = &world.gateway.time.offset_ms;
    offset_ms.fetch_add(2 * HOUR_MS, Ordering::SeqCst);
    let payout = world.approved_payout(300_000).await;
    offset_ms.fetch_sub(2 * HOUR_MS, Ordering::SeqCst);
    world.pass_sender().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    world.check_ledger();
}

impl World {
    fn chain_is_down(&self, down: bool) {
        self.sandbox()
            .set_faults(FaultsPatch { chain_down: Some(down), ..FaultsPatch::default() })
            .unwrap();
    }
}

#[tokio::test]
async fn a_silent_chain_fails_no_payout_however_long_it_waits() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    let too_large = world.approved_payout(50_000_000).await;
    world.chain_is_down(true);
    world.advance_clock_ms(25 * HOUR_MS);
    world.pass_sender().await;
    assert!(
        world.gateway.sending.waits_for().unwrap().reason.message.contains("chain is not watched")
    );
    assert_eq!(world.payout_state(&payout), PayoutState::Queued);
    world.chain_is_down(false);
    world.pass_sender().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent, "the first attempt sends it");
    assert_eq!(world.payout_state(&too_large), PayoutState::Failed, "an attempt for it failed");
}

#[tokio::test]
async fn a_backend_that_names_no_fee_rate_fails_no_payout() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.pass_ms(25 * HOUR_MS).await;
    world.chain_is_down(true);
    world.pass_sender().await;
    assert!(world.gateway.sending.waits_for().unwrap().reason.message.contains("what fee"));
    assert_eq!(world.payout_state(&payout), PayoutState::Queued);
    world.chain_is_down(false);
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
}
