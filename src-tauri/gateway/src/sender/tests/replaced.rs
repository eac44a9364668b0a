//! Bumped and abandoned transactions.

use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::BroadcastFault;

use crate::sender::ReplaceError;
use crate::testing::sending::world_with_coins;

#[tokio::test]
async fn a_bump_replaces_the_transaction_and_notifies_the_new_txid() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    let before = world.txid_of(&payout);
    let bumped =
        world.app.sender.bump(payout, Some(20), "cli:ann", &world.app.watcher).await.unwrap();
    assert_ne!(bumped, before);
    assert_eq!(world.txid_of(&payout), bumped);
    assert_eq!(world.notified_field(&payout, "btcTxId"), [before.to_string(), bumped.to_string()]);
    world.check_ledger();
    world.mine_and_pass(1).await;
    assert_eq!(world.outputs_of(&payout), 1);
    world.check_ledger();
    let again = world.app.sender.bump(payout, None, "cli:ann", &world.app.watcher).await;
    assert!(matches!(again, Err(ReplaceError::State(PayoutState::Sent, _))), "{again:?}");
}

#[tokio::test]
async fn the_record_names_an_older_version_that_is_mined_after_all() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    let batch = world.payout(&payout).batch_seq.unwrap();
    let old = world.gateway.store.read(|reader| reader.versions(batch)).unwrap().remove(0);
    world.app.sender.bump(payout, Some(20), "cli:ann", &world.app.watcher).await.unwrap();
    world.sandbox().mine_transactions(std::slice::from_ref(&old.tx), world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(world.txid_of(&payout), old.txid);
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
    world.check_ledger();
    world.mine_and_pass(6).await;
    assert_eq!(world.outputs_of(&payout), 1);
    world.check_ledger();
}

#[tokio::test]
async fn a_bump_of_a_parent_replaces_the_child_that_spends_its_change() {
    let world = world_with_coins(1).await;
    let first = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    let second = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    let (parent, child) = (world.txid_of(&first), world.txid_of(&second));
    world.app.sender.bump(first, Some(20), "cli:ann", &world.app.watcher).await.unwrap();
    assert_eq!(
        world.txid_of(&first),
        parent,
        "a transaction whose change is spent is never replaced"
    );
    assert_ne!(world.txid_of(&second), child);
    world.mine_and_pass(1).await;
    assert_eq!((world.outputs_of(&first), world.outputs_of(&second)), (1, 1));
    world.check_ledger();
}

#[tokio::test]
async fn abandoned_payouts_fail_at_once_or_if_signed_after_6_blocks() {
    let world = world_with_coins(1).await;
    let unsent = world.approved_payout(300_000).await;
    assert!(
        world
            .app
            .sender
            .abandon(unsent, false, "cli:ann", &world.app.watcher)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(world.payout_state(&unsent), PayoutState::Failed);
    assert_eq!(
        world.payout(&unsent).failure_reason.unwrap().message,
        "it was cancelled by staff",
        "shops do not learn who"
    );

    let sent = world.approved_payout(200_000).await;
    let shared = world.approved_payout(100_000).await;
    world.send().await;
    world.look().await;
    let refused = world.app.sender.abandon(sent, false, "cli:ann", &world.app.watcher).await;
    assert!(matches!(&refused, Err(ReplaceError::Shared(all)) if all.len() == 2), "{refused:?}");
    world.app.sender.abandon(sent, true, "cli:ann", &world.app.watcher).await.unwrap().unwrap();
    world.look().await;
    assert_eq!(world.payout_state(&sent), PayoutState::Sent, "it failed before the sixth block");
    world.mine_and_pass(5).await;
    assert_eq!(world.payout_state(&sent), PayoutState::Sent);
    world.mine_and_pass(1).await;
    for payout in [sent, shared] {
        assert_eq!(
            (world.payout_state(&payout), world.outputs_of(&payout)),
            (PayoutState::Failed, 0)
        );
        assert_eq!(world.notified_field(&payout, "status"), ["SENT", "FAILED"]);
    }
    world.check_ledger();
    world.check_balance();
    let later = world.approved_payout(400_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&later), PayoutState::Sent, "the coins are free again");
}

#[tokio::test]
async fn a_bump_above_the_cap_needs_a_rate_by_hand() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.app.sender.bump(payout, Some(300), "cli:ann", &world.app.watcher).await.unwrap();
    let refused = world.app.sender.bump(payout, None, "cli:ann", &world.app.watcher).await;
    assert!(matches!(refused, Err(ReplaceError::AboveCap { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_refused_bump_is_stored_and_broadcast_again() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    world.broadcasts(BroadcastFault::Reject);
    let bumped =
        world.app.sender.bump(payout, Some(20), "cli:ann", &world.app.watcher).await.unwrap();
    world.broadcasts(BroadcastFault::Ok);
    world.look_and_pass().await;
    world.mine_and_pass(1).await;
    world.mine_and_pass(1).await;
    assert_eq!((world.outputs_of(&payout), world.txid_of(&payout)), (1, bumped));
    world.check_ledger();
}

#[tokio::test]
async fn a_coin_added_by_a_bump_is_free_once_an_old_version_is_final() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(900_000).await;
    world.send().await;
    world.look().await;
    let batch = world.payout(&payout).batch_seq.unwrap();
    let old = world.gateway.store.read(|reader| reader.versions(batch)).unwrap().remove(0);
    assert_eq!(old.tx.input.len(), 1);
    world.app.sender.bump(payout, Some(900), "cli:ann", &world.app.watcher).await.unwrap();
    assert_eq!(world.gateway.store.read(|reader| reader.inputs_of_batch(batch)).unwrap().len(), 2);
    world.sandbox().mine_transactions(std::slice::from_ref(&old.tx), world.now_ms()).unwrap();
    world.look_and_pass().await;
    let unspent = |world: &crate::testing::World| {
        let unspent =
            world.gateway.store.read(|reader| reader.unspent_coins(reader.tip_height()?, 1));
        unspent.unwrap().iter().filter(|coin| coin.amount_sats == 1_000_000).count()
    };
    assert_eq!(unspent(&world), 0, "one block can be reorganised");
    world.mine_and_pass(5).await;
    assert_eq!(unspent(&world), 1);
    world.check_ledger();
}
