//! Tests that after a stop or a sleep the sender looks at the chain before it signs or broadcasts:
//! another copy of the wallet may have paid meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bitcoin::Transaction;
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{Chain, ChainDown, NodeFeeRates};
use tillgate_domain::id::Id;
use tillgate_sandbox::BroadcastFault;

use crate::gateway::WaitCause;
use crate::sender::ReplaceError;
use crate::testing::World;
use crate::testing::sending::{check_paid_by_the_other_alone, world_with_coins};
use crate::testing::twins::twin_paying;

/// Number of looks. The blocks of [`mined_deep`] need fewer.
const PARTS: usize = 8;

/// The sandbox's chain on a machine that sleeps once while the backend is asked for a fee rate.
struct Asleep {
    chain: Arc<dyn Chain>,
    sleeps_ms: AtomicI64,
    clock_offset_ms: Arc<AtomicI64>,
}

impl ChainWrapper for Asleep {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        self.clock_offset_ms.fetch_add(self.sleeps_ms.swap(0, Ordering::SeqCst), Ordering::SeqCst);
        self.chain.fee_rates(blocks)
    }
}

/// A due payout that waits for the keyring, with coins and a look since its approval.
async fn waits_for_the_keyring() -> (World, Id) {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    world.lock_keys(true);
    world.pass_ms(31_000).await;
    // A look with a new tip stores its time.
    world.mine_and_pass(1).await;
    assert_eq!(world.gateway.sending.waits_for().unwrap().cause, WaitCause::Keyring);
    world.lock_keys(false);
    (world, payout)
}

/// Mines a transaction amid more blocks than one answer holds.
fn mined_deep(world: &World, tx: &Transaction) {
    let mine = || world.sandbox().mine(1_000, true, world.now_ms()).unwrap();
    mine();
    world.sandbox().mine_transactions(std::slice::from_ref(tx), world.now_ms()).unwrap();
    mine();
}

#[tokio::test]
async fn a_reopened_gateway_pays_nothing_before_it_read_all_blocks() {
    let (world, payout) = waits_for_the_keyring().await;
    let twin = twin_paying(&world, &payout);
    mined_deep(&world, &twin);
    let world = world.reopen().await;
    world.pass_sender().await;
    assert_eq!(
        world.payout(&payout).batch_seq,
        None,
        "a transaction was signed before a look after the stop"
    );
    let why = world.gateway.sending.waits_for().unwrap();
    assert!(why.cause == WaitCause::Chain && why.reason.message.contains("catches up"), "{why:?}");
    for _ in 0..PARTS {
        world.pass_sender().await;
    }
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn stored_transactions_wait_at_the_start_for_a_complete_look() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    world.broadcasts(BroadcastFault::Ok);
    assert!(
        world.payout(&payout).batch_seq.is_some() && world.outputs_of(&payout) == 0,
        "the transaction is stored, and no node has it"
    );
    let twin = twin_paying(&world, &payout);
    mined_deep(&world, &twin);
    let world = world.reopen().await;
    for _ in 0..PARTS {
        world.pass_sender().await;
        drop(world.app.watcher.look_soon().await);
    }
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn no_replacement_is_signed_before_the_chain_is_read() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    world.broadcasts(BroadcastFault::Ok);
    let twin = twin_paying(&world, &payout);
    mined_deep(&world, &twin);
    // The command `tillgate payouts bump` without a running gateway opens the files and looks
    // itself.
    let world = world.reopen().await;
    let (sender, watcher) = (&world.app.sender, &world.app.watcher);
    let refused = sender.bump(payout, Some(20), "cli:ann", watcher).await.unwrap_err();
    assert!(
        matches!(&refused, ReplaceError::Unseen(why) if why.message.contains("catches up")),
        "{refused:?}"
    );
    let refused = sender.abandon(payout, false, "cli:ann", watcher).await.unwrap_err();
    assert!(matches!(refused, ReplaceError::Unseen(_)), "{refused:?}");
    let mut refused = None;
    for _ in 0..PARTS {
        refused = Some(sender.bump(payout, Some(20), "cli:ann", watcher).await);
    }
    assert!(matches!(refused, Some(Err(ReplaceError::State(..)))), "{refused:?}");
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn after_the_machine_slept_a_bump_looks_at_the_chain_first() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    world.advance_clock_ms(3_600_000);
    let refused = world.app.sender.bump(payout, Some(20), "cli:ann", &world.app.watcher).await;
    // The look found the transaction in a block.
    assert!(
        matches!(refused, Err(ReplaceError::State(..))),
        "a transaction in a block was bumped: {refused:?}"
    );
    assert_eq!(world.outputs_of(&payout), 1);
}

#[tokio::test]
async fn a_look_precedes_every_signature_after_a_sleep() {
    let (world, payout) = waits_for_the_keyring().await;
    let twin = twin_paying(&world, &payout);
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    world.advance_clock_ms(3_600_000);
    world.pass_sender().await;
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn a_sleep_while_the_fee_rate_is_asked_for_needs_a_new_look() {
    let (world, payout) = waits_for_the_keyring().await;
    let clock_offset_ms = Arc::clone(&world.gateway.time.offset_ms);
    let sleeps_ms = AtomicI64::new(3_600_000);
    let twin = twin_paying(&world, &payout);
    let world = world.with_chain(|chain| Arc::new(Asleep { chain, sleeps_ms, clock_offset_ms }));
    world.app.sender.retry("cli:ann").await.unwrap();
    world.look().await;
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    world.pass_sender().await;
    assert_eq!(
        world.payout(&payout).batch_seq,
        None,
        "a transaction was signed before a look after the sleep"
    );
    check_paid_by_the_other_alone(&world, &payout, &twin);
}
