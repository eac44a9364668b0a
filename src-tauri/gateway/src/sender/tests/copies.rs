//! An older copy of the database replaces the current one, which has paid and received meanwhile.

use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;

use crate::access::record_scope::RecordScope;
use crate::payouts::{Approver, approve};
use crate::testing::World;
use crate::testing::copies::{copied, customer_pays_coin, put_back};
use crate::testing::sending::world_with_coins;

/// Checks that the payout stays paid once after the hold is released and new coins are received.
async fn stays_paid_once(world: &World, paid: &Id) {
    assert!(
        world.gateway.store.read(|reader| reader.sender_hold()).unwrap().is_some(),
        "the sender does not hold"
    );
    assert_eq!(world.payout_state(paid), PayoutState::Sent);
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
    customer_pays_coin(world).await;
    world.send().await;
    world.mine_and_pass(6).await;
    assert_eq!((world.payout_state(paid), world.outputs_of(paid)), (PayoutState::Sent, 1));
    world.check_ledger();
    world.check_balance();
}

/// A payout that was approved before the copy was made and paid after it, with the coin of a
/// payment that the copy does not know. Returns the restarted gateway with the copy.
async fn paid_after_the_copy(amount_sats: u64) -> (World, Id) {
    let world = world_with_coins(0).await;
    let paid = world.approved_payout(amount_sats).await;
    let (world, copy) = copied(world).await;
    customer_pays_coin(&world).await;
    world.send().await;
    world.mine_and_pass(1).await;
    assert_eq!(world.outputs_of(&paid), 1);
    (put_back(world, copy).await, paid)
}

#[tokio::test]
async fn a_copy_never_resends_a_payout_sent_after_the_copy_was_made() {
    let (world, paid) = paid_after_the_copy(300_000).await;
    stays_paid_once(&world, &paid).await;
}

#[tokio::test]
async fn a_copy_never_resends_a_payout_that_was_sent_without_change() {
    let (world, paid) = paid_after_the_copy(999_700).await;
    stays_paid_once(&world, &paid).await;
}

#[tokio::test]
async fn a_copy_marks_an_offer_sent_after_the_copy_was_made_as_sent() {
    let world = world_with_coins(1).await;
    let paid = world.offered_payout(300_000).await;
    let by_ann =
        Approver { name: "cli:ann".to_owned(), scope: RecordScope::Everything, is_person: true };
    let (world, copy) = copied(world).await;
    approve(&world.gateway, paid, by_ann).await.unwrap();
    world.send().await;
    world.mine_and_pass(1).await;
    let world = put_back(world, copy).await;
    world.look().await;
    stays_paid_once(&world, &paid).await;
}

#[tokio::test]
async fn addresses_of_another_copy_are_not_reused_but_coins_count() {
    let world = world_with_coins(1).await;
    let (world, copy) = copied(world).await;
    let (waiting, paid) = (world.payment_to_wallet().await, world.payment_to_wallet().await);
    world.customer_pays(&paid, 1_000_000);
    world.mine(2).await;
    let world = put_back(world, copy).await;
    let world = world.reopen().await;
    world.customer_pays(&waiting, 500_000);
    world.mine(2).await;
    let given = world.payment_to_wallet().await;
    assert!(given.script != waiting.script && given.script != paid.script);
    assert_eq!(world.chain_balance(), 2_500_000);
    world.check_ledger();
}
