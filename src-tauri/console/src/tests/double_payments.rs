//! A payout that another copy of the wallet pays is not paid again.

use tillgate_domain::payout::PayoutState;
use tillgate_gateway::gateway::WaitCause;
use tillgate_gateway::sender::ReplaceError;
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::sending::world_with_coins;
use tillgate_gateway::testing::twins::twin_paying;
use tillgate_sandbox::BroadcastFault;

use crate::payouts::ShowPayout;
use crate::{Actor, ask};

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
async fn a_batch_paid_by_another_copy_can_be_given_up_but_not_bumped() {
    let world = world_with_coins(2).await;
    let (paid, other) =
        (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    let twin = twin_paying(&world, &paid);
    world.sandbox().mine_transactions(&[twin], world.now_ms()).unwrap();
    world.broadcasts(BroadcastFault::Ok);
    world.look_and_pass().await;
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
    for payout in [paid, other] {
        let bumped = world.app.sender.bump(payout, Some(20), "cli:ann", &world.app.watcher).await;
        assert!(
            matches!(bumped, Err(ReplaceError::State(_, why)) if why.to_string().contains("cancel this payout")),
            "{bumped:?}"
        );
    }
    let show = ShowPayout { payout_id: other.to_string() };
    let shown = ask(&world.app, show, &Actor::command_line()).await.unwrap();
    assert_eq!(
        shown.item.wait_cause,
        Some(WaitCause::OtherCopy),
        "the payout waits for another reason"
    );
    world.app.sender.abandon(other, true, "cli:ann", &world.app.watcher).await.unwrap().unwrap();
    mine_one_by_one(&world, 8).await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Sent, 1));
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Failed, 0));
    check_balance(&world);
}

#[tokio::test]
async fn an_unaccepted_transaction_waits_for_a_twin_with_other_coins() {
    let world = world_with_coins(2).await;
    let paid = world.approved_payout(300_000).await;
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    world.broadcasts(BroadcastFault::Ok);
    let twin = twin_paying(&world, &paid);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert!(world.app.sender.release("cli:ann", None, false).await.unwrap());
    mine_one_by_one(&world, 2).await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Queued, 0));
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    mine_one_by_one(&world, 2).await;
    assert_eq!(
        (world.payout_state(&paid), world.txid_of(&paid)),
        (PayoutState::Sent, twin.compute_txid())
    );
    assert_eq!(world.outputs_of(&paid), 1);
    world.check_ledger();
}

#[tokio::test]
async fn a_hold_keeps_back_only_transactions_that_no_node_accepted() {
    let world = world_with_coins(3).await;
    let taken = world.approved_payout(900_000).await;
    world.broadcasts(BroadcastFault::Forget);
    world.send().await;
    let waits = world.approved_payout(800_000).await;
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    assert_eq!(
        (world.payout_state(&taken), world.payout_state(&waits)),
        (PayoutState::Sent, PayoutState::Queued)
    );
    let now = world.gateway.time.now();
    world
        .gateway
        .store
        .write(move |tx| tx.hold_sender(now, &tillgate_told::Telling::of_text("a twin")))
        .await
        .unwrap();
    world.broadcasts(BroadcastFault::Ok);
    mine_one_by_one(&world, 2).await;
    assert_eq!((world.outputs_of(&taken), world.outputs_of(&waits)), (1, 0));
    assert!(world.app.sender.release("cli:ann", None, false).await.unwrap());
    mine_one_by_one(&world, 2).await;
    assert_eq!(world.outputs_of(&waits), 1);
}
