//! The look before a signature covers the spent coins and the next change address.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bitcoin::Transaction;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;

use crate::funds;
use crate::testing::World;
use crate::testing::by_script::ByScript;
use crate::testing::sending::{check_paid_by_the_other_alone, world_with_coins};
use crate::testing::twins::twin_spending;
use crate::wallet::spend::Payee;

/// Number of scripts that one look covers.
const FEW: usize = 5;

/// The gateway with a backend that covers this many scripts in a look.
fn asking(world: World, count: usize) -> (World, Arc<ByScript>) {
    let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
    let mut made = None;
    let world = world.with_chain(|chain| {
        let by_script = Arc::new(ByScript::new(chain, sandbox));
        by_script.asks.store(count, Ordering::SeqCst);
        made = Some(Arc::clone(&by_script));
        by_script
    });
    (world, made.unwrap())
}

/// A payment of the payout by another copy with the youngest coin. This copy would spend the
/// oldest.
fn paid_with_another_coin(world: &World, payout: &Id) -> Transaction {
    let settings = world.gateway.settings.snapshot();
    let coins =
        world.gateway.store.read(|reader| funds::spendable_coins(reader, &settings)).unwrap();
    let row = world.payout(payout);
    let payee = Payee { script: row.script, amount_sats: row.amount_sats };
    twin_spending(world, &[payee], coins.last().map(std::slice::from_ref).unwrap(), 3).unwrap()
}

#[tokio::test]
async fn a_fresh_payment_of_another_copy_is_seen_before_signing() {
    let (world, backend) = asking(world_with_coins(2).await, usize::MAX);
    let payout = world.approved_payout(300_000).await;
    world.look().await;
    let twin = paid_with_another_coin(&world, &payout);
    backend.asks.store(FEW, Ordering::SeqCst);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.advance_clock_ms(31_000);
    world.pass_sender().await;
    assert_eq!(
        world.payout_state(&payout),
        PayoutState::Queued,
        "the look did not find the twin's change"
    );
    assert!(world.gateway.store.read(|reader| reader.sender_hold()).unwrap().is_some());
    backend.asks.store(usize::MAX, Ordering::SeqCst);
    world.mine_and_pass(1).await;
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn a_payout_of_more_coins_than_a_look_covers_can_be_given_up() {
    let (world, backend) = asking(world_with_coins(30).await, usize::MAX);
    let payout = world.approved_payout(29_500_000).await;
    world.send().await;
    world.look().await;
    world.app.sender.abandon(payout, false, "cli:ann", &world.app.watcher).await.unwrap().unwrap();
    world.look().await;
    let inputs =
        world.gateway.store.read(|reader| reader.scripts_of_pending_batches(100)).unwrap().len();
    assert_eq!(inputs, 30);
    backend.asks.store(2 * FEW, Ordering::SeqCst);
    for confirmations in 1..=6 {
        assert_eq!(world.payout_state(&payout), PayoutState::Sent, "{confirmations}");
        world.mine(1).await;
        for _ in 0..6 {
            world.look().await;
        }
    }
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Failed, 0));
    world.check_ledger();
}
