//! What another copy of the wallet pays already is not paid once more.

use bitcoin::Transaction;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::BroadcastFault;

use super::support::{add_coins, world_with_coins};
use super::twins::twin_spending;
use crate::console::payouts::ShowPayout;
use crate::console::states::WaitCause;
use crate::console::{Actor, ask};
use crate::sender::ReplaceError;
use crate::testing::World;
use crate::wallet::spend::Payee;

/// The other copy pays a payout with a coin that no transaction of ours spends.
pub(super) fn twin_paying(world: &World, paid: &Id) -> Transaction {
    let row = world.payout(paid);
    twin_spending(world, &[Payee { script: row.script, amount_sats: row.amount_sats }], &[], 3).unwrap()
}

fn check_balance(world: &World) {
    world.check_ledger();
    world.check_balance();
    assert_eq!(world.gateway.store.read(|reader| reader.coin_sums()).unwrap().locked_sats, 0);
}

async fn mine_one_by_one(world: &World, count: u32) {
    for _ in 0..count {
        world.mine_and_pass(1).await;
    }
}

#[tokio::test]
async fn no_payout_of_a_transaction_is_bumped_once_another_copy_paid_one_of_them_and_what_is_left_can_be_given_up() {
    let world = world_with_coins(2).await;
    let (paid, other) = (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    let twin = twin_paying(&world, &paid);
    world.sandbox().mine_transactions(&[twin], world.now_ms()).unwrap();
    world.broadcasts(BroadcastFault::Ok);
    world.look_and_pass().await;
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    for payout in [paid, other] {
        let bumped = world.app.sender.bump(payout, Some(20), "cli:ann", &world.app.watcher).await;
        assert!(matches!(bumped, Err(ReplaceError::State(_, why)) if why.contains("give this one up")), "{bumped:?}");
    }
    let show = ShowPayout { payout_id: other.to_string() };
    let shown = ask(&world.app, show, &Actor::command_line()).await.unwrap();
    assert_eq!(shown.item.wait_cause, Some(WaitCause::OtherCopy), "it waits for nobody else");
    world.app.sender.abandon(other, true, "cli:ann", &world.app.watcher).await.unwrap().unwrap();
    mine_one_by_one(&world, 8).await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Sent, 1));
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Failed, 0));
    check_balance(&world);
}

#[tokio::test]
async fn what_rests_on_a_payout_that_another_copy_paid_is_not_sent_with_it_and_both_can_be_given_up() {
    let world = world_with_coins(1).await;
    world.broadcasts(BroadcastFault::Forget);
    let paid = world.approved_payout(300_000).await;
    world.send().await;
    let child = world.approved_payout(200_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&child), PayoutState::Sent, "answered as taken, on the change of the first");
    world.broadcasts(BroadcastFault::Ok);
    world.broadcasts(BroadcastFault::Reject);
    add_coins(&world, 1).await;
    let twin = twin_paying(&world, &paid);
    world.sandbox().mine_transactions(&[twin], world.now_ms()).unwrap();
    world.look().await;
    world.broadcasts(BroadcastFault::Ok);
    mine_one_by_one(&world, 2).await;
    assert_eq!((world.outputs_of(&paid), world.outputs_of(&child)), (1, 0));
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    let alone = world.app.sender.abandon(paid, false, "cli:ann", &world.app.watcher).await;
    assert!(matches!(alone, Err(ReplaceError::Shared(ids)) if ids == [paid, child]));
    world.app.sender.abandon(paid, true, "cli:ann", &world.app.watcher).await.unwrap().unwrap();
    mine_one_by_one(&world, 8).await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Sent, 1));
    assert_eq!((world.payout_state(&child), world.outputs_of(&child)), (PayoutState::Failed, 0));
    check_balance(&world);
}

#[tokio::test]
async fn what_another_copy_paid_is_not_paid_by_us_when_its_transaction_drops_out_but_offered_again() {
    let world = world_with_coins(2).await;
    let paid = world.approved_payout(300_000).await;
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    let ours = world.txid_of(&paid);
    let twin = twin_paying(&world, &paid);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap_err();
    world.broadcasts(BroadcastFault::Ok);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(world.txid_of(&paid), twin.compute_txid());
    assert!(!world.sandbox().is_known(ours).unwrap(), "ours was offered");
    mine_one_by_one(&world, 2).await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Sent, 1));
    assert_eq!(world.txid_of(&paid), twin.compute_txid());
    world.check_ledger();
}

#[tokio::test]
async fn a_payout_that_only_another_copy_sent_is_offered_again_when_that_drops_out() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let twin = twin_paying(&world, &paid);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Sent, 0));
    mine_one_by_one(&world, 2).await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Sent, 1));
    check_balance(&world);
}
