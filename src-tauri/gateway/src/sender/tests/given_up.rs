//! Giving up a transaction also gives up the transactions that spend its change.

use bitcoin::Txid;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState::{Failed, Sent};
use tillgate_sandbox::BroadcastFault;

use crate::sender::ReplaceError;
use crate::testing::World;
use crate::testing::sending::world_with_coins;

/// Two payouts in two transactions: the second spends the change of the first.
async fn world_with_a_line() -> (World, Id, Id) {
    let world = world_with_coins(1).await;
    let mut line = Vec::new();
    for _ in 0..2 {
        line.push(world.approved_payout(300_000).await);
        world.send().await;
        world.look().await;
    }
    (world, line[0], line[1])
}

async fn give_up(world: &World, id: Id) -> Txid {
    world.app.sender.abandon(id, true, "cli:ann", &world.app.watcher).await.unwrap().unwrap()
}

fn mempool(world: &World) -> Vec<Txid> {
    world.sandbox().status().unwrap().mempool
}

#[tokio::test]
async fn a_payout_whose_change_is_spent_is_given_up_with_its_child() {
    let (world, first, second) = world_with_a_line().await;
    let refused = world.app.sender.abandon(first, false, "cli:ann", &world.app.watcher).await;
    assert!(
        matches!(&refused, Err(ReplaceError::Shared(all)) if *all == [first, second]),
        "{refused:?}"
    );
    let in_its_place = give_up(&world, first).await;
    assert_eq!(mempool(&world), [in_its_place], "the fee was too low to replace both transactions");
    world.look_and_pass().await;
    world.mine_and_pass(5).await;
    let states = [world.payout_state(&first), world.payout_state(&second)];
    assert_eq!(states, [Sent, Sent], "they failed before the sixth block");
    world.mine_and_pass(1).await;
    for payout in [first, second] {
        assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (Failed, 0));
        assert_eq!(world.notified_field(&payout, "status"), ["SENT", "FAILED"]);
        assert!(
            world.payout(&payout).failure_reason.unwrap().message.contains("cancelled"),
            "both payouts were given up"
        );
    }
    world.check_ledger();
    world.check_balance();
    let later = world.approved_payout(400_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&later), Sent, "the coins are free again");
}

#[tokio::test]
async fn giving_up_pays_more_than_a_child_with_a_high_fee() {
    let (world, first, second) = world_with_a_line().await;
    world.app.sender.bump(second, Some(300), "cli:ann", &world.app.watcher).await.unwrap();
    world.look().await;
    let in_its_place = give_up(&world, first).await;
    assert_eq!(mempool(&world), [in_its_place]);
}

#[tokio::test]
async fn a_child_of_a_given_up_payout_is_neither_sent_nor_bumped() {
    let (world, first, second) = world_with_a_line().await;
    let (parent, child) = (world.txid_of(&first), world.txid_of(&second));
    world.broadcasts(BroadcastFault::Reject);
    let in_its_place = give_up(&world, first).await;
    world.sandbox().evict(parent, world.now_ms()).unwrap();
    assert_eq!(mempool(&world), []);
    world.broadcasts(BroadcastFault::Ok);
    for payout in [first, second] {
        for all in [false, true] {
            let again = world.app.sender.abandon(payout, all, "cli:ann", &world.app.watcher).await;
            assert!(matches!(again, Err(ReplaceError::State(Sent, _))), "{again:?}");
        }
        let bumped = world.app.sender.bump(payout, Some(50), "cli:ann", &world.app.watcher).await;
        assert!(matches!(bumped, Err(ReplaceError::State(Sent, _))), "{bumped:?}");
    }
    world.look_and_pass().await;
    world.sandbox().mine(1, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(mempool(&world), [in_its_place], "{child} spends change that is given up");
}

#[tokio::test]
async fn a_given_up_pair_is_sent_if_its_old_parent_is_mined() {
    let (world, first, second) = world_with_a_line().await;
    let batch = world.payout(&first).batch_seq.unwrap();
    let old = world.gateway.store.read(|reader| reader.versions(batch)).unwrap().remove(0);
    give_up(&world, first).await;
    world.look().await;
    world.sandbox().mine_transactions(std::slice::from_ref(&old.tx), world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.mine_and_pass(1).await;
    for payout in [first, second] {
        assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (Sent, 1));
    }
    world.check_ledger();
}

#[tokio::test]
async fn a_payout_is_not_bumped_while_its_child_is_given_up() {
    let (world, first, second) = world_with_a_line().await;
    give_up(&world, second).await;
    world.look().await;
    let bumped = world.app.sender.bump(first, Some(50), "cli:ann", &world.app.watcher).await;
    let told = bumped.unwrap_err().to_string();
    assert!(
        told.contains("a payout whose transaction spends its change is being cancelled"),
        "{told}"
    );
}
