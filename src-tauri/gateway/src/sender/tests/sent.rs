//! A payout from its approval until a block holds its transaction.

use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::BroadcastFault;

use crate::testing::sending::{add_coins, world_with_coins};

#[tokio::test]
async fn an_approved_payout_is_sent_when_due_and_confirmed_once() {
    let world = world_with_coins(2).await;
    let first = world.approved_payout(300_000).await;
    let second = world.approved_payout(200_000).await;
    world.look_and_pass().await;
    assert_eq!(
        world.payout_state(&first),
        PayoutState::Queued,
        "others may share its transaction for 30 s"
    );
    world.send().await;
    assert_eq!(
        (world.payout_state(&first), world.payout_state(&second)),
        (PayoutState::Sent, PayoutState::Sent)
    );
    assert_eq!(world.txid_of(&first), world.txid_of(&second));
    world.check_ledger();
    world.mine_and_pass(1).await;
    world.send().await;
    assert_eq!((world.outputs_of(&first), world.outputs_of(&second)), (1, 1));
    assert_eq!(world.notified_field(&first, "status"), ["SENT"]);
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_refused_transaction_is_broadcast_again_never_rebuilt() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued);
    let stored = world.txid_of(&payout);
    assert!(world.notified(&payout).is_empty(), "the first txid was notified before SENT");
    world.broadcasts(BroadcastFault::Ok);
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, stored));
    world.check_ledger();
}

#[tokio::test]
async fn a_transaction_that_is_unanswered_or_forgotten_still_arrives() {
    for fault in [BroadcastFault::Timeout, BroadcastFault::Forget] {
        let world = world_with_coins(1).await;
        let payout = world.approved_payout(300_000).await;
        world.broadcasts(fault);
        world.send().await;
        world.broadcasts(BroadcastFault::Ok);
        world.pass_ms(1_000).await;
        world.look_and_pass().await;
        assert_eq!(world.payout_state(&payout), PayoutState::Sent, "{fault:?}");
        world.mine_and_pass(1).await;
        assert_eq!(world.outputs_of(&payout), 1, "{fault:?}");
        world.check_ledger();
    }
}

#[tokio::test]
async fn a_transaction_that_the_node_forgets_is_offered_each_minute() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.broadcasts(BroadcastFault::Forget);
    world.send().await;
    for _ in 0..5 {
        world.pass_ms(30_000).await;
        world.look_and_pass().await;
    }
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 0));
    world.broadcasts(BroadcastFault::Ok);
    world.pass_ms(60_000).await;
    world.look_and_pass().await;
    assert_eq!(world.outputs_of(&payout), 1, "no block was needed");
}

#[tokio::test]
async fn a_transaction_stored_before_a_crash_is_broadcast_after_it() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    let stored = world.txid_of(&payout);
    world.broadcasts(BroadcastFault::Ok);
    let world = world.reopen().await;
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, stored));
}

#[tokio::test]
async fn a_transaction_that_drops_out_of_the_mempool_comes_back() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    let txid = world.txid_of(&payout);
    world.look_and_pass().await;
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    world.mine_and_pass(1).await;
    world.mine_and_pass(1).await;
    assert_eq!(world.outputs_of(&payout), 1);
    world.check_ledger();
}

#[tokio::test]
async fn a_locked_keyring_keeps_payouts_queued_and_is_asked_again() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.lock_keys(true);
    world.send().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued);
    assert!(world.gateway.sending.waits_for().unwrap().reason.message.contains("locked"));
    world.lock_keys(false);
    world.look_and_pass().await;
    assert_eq!(
        world.payout_state(&payout),
        PayoutState::Queued,
        "the keyring was asked less than a minute ago"
    );
    world.pass_ms(61_000).await;
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    assert_eq!(world.gateway.sending.waits_for(), None);

    let other = world.approved_payout(100_000).await;
    world.lock_keys(true);
    world.send().await;
    world.lock_keys(false);
    world.app.sender.retry("cli:ann").await.unwrap();
    world.look_and_pass().await;
    assert_eq!(
        world.payout_state(&other),
        PayoutState::Sent,
        "a retry by staff did not ask the keyring at once"
    );
}

#[tokio::test]
async fn a_payout_beyond_the_coins_keeps_its_turn_and_fails_in_a_day() {
    let world = world_with_coins(1).await;
    let too_much = world.approved_payout(2_000_000).await;
    let fits = world.approved_payout(300_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&fits), PayoutState::Sent);
    assert_eq!(world.payout_state(&too_much), PayoutState::Queued);
    world.mine_and_pass(1).await;
    add_coins(&world, 2).await;
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&too_much), PayoutState::Sent);

    let never = world.approved_payout(50_000_000).await;
    world.send().await;
    world.pass_ms(23 * 3_600_000).await;
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&never), PayoutState::Queued);
    world.pass_ms(3_600_000).await;
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&never), PayoutState::Failed);
    assert_eq!(
        world.payout(&never).failure_reason.unwrap().message,
        "it could not be sent in time: there were not enough coins",
        "shops do not learn what the wallet holds"
    );
    assert_eq!(world.notified_field(&never, "status"), ["FAILED"]);
    world.check_ledger();
}

#[tokio::test]
async fn a_later_batch_may_spend_unconfirmed_change() {
    let world = world_with_coins(1).await;
    let first = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    let second = world.approved_payout(300_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&second), PayoutState::Sent);
    assert_ne!(world.txid_of(&first), world.txid_of(&second));
    world.mine_and_pass(1).await;
    assert_eq!((world.outputs_of(&first), world.outputs_of(&second)), (1, 1));
    world.check_ledger();
}

#[tokio::test]
async fn a_payout_of_a_double_spent_coin_fails_after_six_blocks() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.sandbox().reorg(2, false, world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.mine_and_pass(2).await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent, "five blocks can be reorganised");
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Failed, 0));
    world.check_ledger();
    world.check_balance();
}
