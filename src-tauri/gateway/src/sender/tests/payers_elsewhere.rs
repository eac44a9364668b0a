//! Somebody else pays a payee: before ours left, or in place of what paid him first.

use bitcoin::hashes::Hash as _;
use bitcoin::{ScriptBuf, Sequence, Txid, WPubkeyHash};
use tillgate_domain::payout::PayoutState;

use super::support::{paid_by_another, stage_with_coins, world_with_coins};
use crate::chain::tests::payer::{Kind, Payer};
use crate::chain::tests::stage::Backend;
use crate::console::payouts::ShowPayout;
use crate::console::{Actor, ask};
use crate::store::alarms::AlarmKind;
use crate::store::keychains::Keychain;
use crate::testing::World;

async fn works_until(world: &World, is_so: impl Fn() -> bool) {
    for _ in 0..20 {
        if is_so() {
            return;
        }
        world.send().await;
        world.look().await;
    }
    assert!(is_so(), "worked in vain");
}

/// A block holds this transaction alone.
fn mines_alone(world: &World, txid: Txid) {
    let view = world.sandbox().transaction(txid).unwrap().unwrap();
    world.sandbox().mine_transactions(&[view.tx], world.now_ms()).unwrap();
}

#[tokio::test]
async fn what_no_node_ever_took_is_not_offered_to_one_once_somebody_else_pays() {
    let world = world_with_coins(2).await;
    world.takes_broadcasts(false);
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued);
    world.takes_broadcasts(true);
    assert!(world.payout(&payout).batch_seq.is_some(), "it is signed and stored");
    let txid = paid_by_another(&world, &payout);
    world.look().await;
    for _ in 0..3 {
        world.send().await;
    }
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Queued, 1));
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
    assert_eq!(world.outputs_of(&payout), 1, "nobody is paid twice");
}

#[tokio::test]
async fn what_no_node_ever_took_stays_here_once_a_block_holds_what_somebody_paid_and_what_is_left_can_be_asked_for_anew()
 {
    let world = world_with_coins(1).await;
    world.takes_broadcasts(false);
    let (payout, other) = (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    world.send().await;
    let txid = paid_by_another(&world, &payout);
    world.mine_and_pass(1).await;
    world.takes_broadcasts(true);
    world.pass_ms(3 * 24 * 3_600_000).await;
    // Also while the block is left that held it.
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!((world.outputs_of(&other), world.outputs_of(&payout)), (0, 1));
    world.mine_and_pass(8).await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
    let is_held_back = (world.payout_state(&other), world.outputs_of(&other), world.outputs_of(&payout));
    assert_eq!(is_held_back, (PayoutState::Queued, 0, 1), "nobody is paid twice");
    let show = ShowPayout { payout_id: other.to_string() };
    let view = ask(&world.app, show, &Actor::command_line()).await.unwrap();
    assert!(view.item.waits_for.is_some_and(|why| why.contains("or a block holds it")));
    world.app.sender.abandon(other, true, "cli:ann", &world.app.watcher).await.unwrap();
    world.mine_and_pass(7).await;
    assert_eq!(world.payout_state(&other), PayoutState::Failed);
    let anew = world.asked_anew(&world.payout(&other)).await;
    world.send().await;
    assert_eq!((world.payout_state(&anew), world.outputs_of(&anew)), (PayoutState::Sent, 1));
    assert_eq!(world.outputs_of(&payout), 1);
    world.check_ledger();
}

#[tokio::test]
async fn what_somebody_pays_in_a_block_keeps_back_nothing_that_left_for_him_and_others_and_is_for_what_is_still_owed() {
    let world = world_with_coins(1).await;
    let (payout, other) = (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    world.send().await;
    let left = world.txid_of(&other);
    assert_eq!(world.txid_of(&payout), left);
    // He is owed the same sum once more, and somebody pays it.
    let again = world.asked_anew(&world.payout(&payout)).await;
    let txid = paid_by_another(&world, &again);
    mines_alone(&world, txid);
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&again), world.txid_of(&again)), (PayoutState::Sent, txid));
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, left), "it left before");
    world.sandbox().evict(left, world.now_ms()).unwrap();
    world.sandbox().mine(1, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(world.outputs_of(&other), 1, "what drops out is broadcast again");
    world.app.sender.bump(other, Some(20), "cli:ann", &world.app.watcher).await.unwrap();
    world.mine_and_pass(12).await;
    // Long after, the same: nobody is asked for what he got.
    let more = world.asked_anew(&world.payout(&payout)).await;
    world.sandbox().pay_many(&vec![(world.payout(&more).script, 300_000); 2], world.now_ms()).unwrap();
    world.mine_and_pass(2).await;
    assert_eq!((world.payout_state(&more), world.outputs_of(&more)), (PayoutState::Sent, 4));
    let alarms = world.gateway.store.read(|reader| reader.alarms()).unwrap();
    assert!(alarms.iter().all(|alarm| alarm.kind == AlarmKind::PayoutPaidByAnother), "{alarms:?}");
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn the_books_are_right_where_long_after_a_payout_was_sent_by_one_that_was_noticed_earlier_is_mined() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let earlier = paid_by_another(&world, &payout);
    world.look().await;
    let later = paid_by_another(&world, &payout);
    world.look().await;
    mines_alone(&world, later);
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, later));
    world.sandbox().mine(10, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
    mines_alone(&world, earlier);
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, earlier));
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_payout_stays_sent_by_what_a_block_holds_in_place_of_what_paid_it_first() {
    for backend in [Backend::Core, Backend::Electrum] {
        let stage = stage_with_coins(backend).await;
        let world = stage.world();
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        let payout = world.approved_payout(300_000).await;
        let row = world.payout(&payout);
        let paid = [(&row.script, row.amount_sats)];
        let (first, second) = (
            payer.pays(&paid, 1, Sequence::ENABLE_RBF_NO_LOCKTIME),
            payer.pays(&paid, 3, Sequence::ENABLE_RBF_NO_LOCKTIME),
        );
        world.sandbox().mine_transactions(std::slice::from_ref(&first), world.now_ms()).unwrap();
        works_until(world, || world.payout_state(&payout) == PayoutState::Sent).await;
        assert_eq!(world.txid_of(&payout), first.compute_txid());
        world.sandbox().reorg(1, true, world.now_ms()).unwrap();
        world.sandbox().mine_transactions(std::slice::from_ref(&second), world.now_ms()).unwrap();
        for _ in 0..8 {
            world.look_and_pass().await;
            assert_eq!(world.payout_state(&payout), PayoutState::Sent, "{backend:?}");
            world.sandbox().mine(1, true, world.now_ms()).unwrap();
        }
        works_until(world, || world.txid_of(&payout) == second.compute_txid()).await;
        assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
    }
}

#[tokio::test]
async fn a_payout_whose_payer_was_displaced_by_what_pays_another_fails_and_no_alarm_says_that_it_was_paid() {
    let stage = stage_with_coins(Backend::Core).await;
    let world = stage.world();
    let payer = Payer::with_coin(world, Kind::Segwit).await;
    let payout = world.approved_payout(300_000).await;
    let row = world.payout(&payout);
    let elsewhere = ScriptBuf::new_p2wpkh(&WPubkeyHash::hash(b"elsewhere"));
    let pays = |script, fee| payer.pays(&[(script, row.amount_sats)], fee, Sequence::ENABLE_RBF_NO_LOCKTIME);
    let (first, second) = (pays(&row.script, 1), pays(&elsewhere, 3));
    let alarms = || world.gateway.store.read(|reader| reader.alarms()).unwrap().len();
    world.sandbox().mine_transactions(std::slice::from_ref(&first), world.now_ms()).unwrap();
    works_until(world, || world.payout_state(&payout) == PayoutState::Sent).await;
    assert_eq!(alarms(), 1, "staff are told who paid");
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.sandbox().mine_transactions(std::slice::from_ref(&second), world.now_ms()).unwrap();
    world.sandbox().mine(6, true, world.now_ms()).unwrap();
    works_until(world, || world.payout_state(&payout) == PayoutState::Failed).await;
    let why = world.payout(&payout).failure_reason.unwrap();
    assert!(why.contains("look at the address before it is paid again"), "{why}");
    assert_eq!(alarms(), 0, "it would say what is true no more");
}

#[tokio::test]
async fn what_pays_a_payee_in_place_of_the_block_that_was_the_last_when_it_was_asked_for_counts() {
    for backend in [Backend::Core, Backend::Electrum] {
        let stage = stage_with_coins(backend).await;
        let world = stage.world();
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        world.mine_and_pass(3).await;
        let payout = world.approved_payout(300_000).await;
        let row = world.payout(&payout);
        let paid = payer.pays(&[(&row.script, row.amount_sats)], 1, Sequence::ENABLE_RBF_NO_LOCKTIME);
        world.sandbox().reorg_holding(1, std::slice::from_ref(&paid), world.now_ms()).unwrap();
        works_until(world, || world.payout_state(&payout) == PayoutState::Sent).await;
        assert_eq!(world.txid_of(&payout), paid.compute_txid(), "{backend:?}");
        assert_eq!(world.outputs_of(&payout), 1, "{backend:?}: nobody is paid twice");
    }
}

#[tokio::test]
async fn what_pays_our_change_and_is_replaced_by_ever_new_large_ones_fills_no_disk() {
    let stage = stage_with_coins(Backend::Electrum).await;
    let world = stage.world();
    let payout = world.approved_payout(300_000).await;
    works_until(world, || world.payout_state(&payout) == PayoutState::Sent).await;
    world.mine_and_pass(1).await;
    let payer = Payer::with_coin(world, Kind::Segwit).await;
    let change = world.gateway.wallet.get().unwrap().change.script(0).unwrap();
    let stranger = ScriptBuf::new_p2wpkh(&WPubkeyHash::hash(b"a stranger"));
    let mut outputs = vec![(&stranger, 330); 3_000];
    outputs.push((&change, 5_000));
    let large: Vec<_> =
        (1..=60).map(|number| payer.pays(&outputs, 50 * number, Sequence::ENABLE_RBF_NO_LOCKTIME)).collect();
    for tx in &large {
        world.hears(tx).await;
    }
    let bytes = world.gateway.store.read(|reader| reader.missing_bytes_at(Keychain::Internal, 0)).unwrap();
    assert!((3_000_000..5_000_000).contains(&bytes), "{bytes} bytes are stored of what is gone");
    world.finds_mined(&large[59..]).await;
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn what_takes_the_place_of_what_people_gave_a_payout_up_for_is_for_something_else_too() {
    let world = world_with_coins(2).await;
    let payer = Payer::with_coin(&world, Kind::Segwit).await;
    let given_up = world.approved_payout(300_000).await;
    let row = world.payout(&given_up);
    let pays = |fee| payer.pays(&[(&row.script, row.amount_sats)], fee, Sequence::ENABLE_RBF_NO_LOCKTIME);
    world.hears(&pays(1)).await;
    world.send().await;
    assert_eq!(world.payout_state(&given_up), PayoutState::Queued, "it waits for that");
    world.app.sender.abandon(given_up, false, "cli:ann", &world.app.watcher).await.unwrap();
    let anew = world.asked_anew(&row).await;
    world.hears(&pays(3)).await;
    world.mine_and_pass(1).await;
    world.send().await;
    world.mine_and_pass(6).await;
    let states = (world.payout_state(&given_up), world.payout_state(&anew));
    assert_eq!((states, world.outputs_of(&given_up)), ((PayoutState::Failed, PayoutState::Sent), 2));
}
