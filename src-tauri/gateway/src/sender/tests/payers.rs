//! Somebody pays what a payout is to pay, with coins that this wallet does not know: a copy of it that was restored from a backup
//! pays from what came to itself alone.

use bitcoin::Txid;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;

use super::support::{add_coins, world_with_coins};
use crate::access::sees::Sees;
use crate::chain::tests::stage::{AT_LEISURE, Backend, Stage};
use crate::payouts::{Approver, approve};
use crate::store::alarms::AlarmKind;
use crate::testing::World;

const HOUR_MS: i64 = 3_600_000;

/// A stranger pays the payee exactly the payout's amount.
fn paid_by_another(world: &World, payout: &Id) -> Txid {
    let row = world.payout(payout);
    world.sandbox().send(row.script, row.amount_sats, world.now_ms()).unwrap()
}

fn hold(world: &World) -> Option<String> {
    world.gateway.store.read(|reader| reader.sender_hold()).unwrap().map(|hold| hold.reason)
}

/// Staff are told that it was paid by somebody else.
fn is_told_of(world: &World, payout: &Id) -> bool {
    let alarms = world.gateway.store.read(|reader| reader.alarms()).unwrap();
    alarms.iter().any(|alarm| alarm.kind == AlarmKind::PayoutPaidByAnother && alarm.payout_id == *payout)
}

async fn check_sums(world: &World) {
    world.mine_and_pass(1).await;
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn what_a_block_pays_a_payee_exactly_is_not_paid_once_more_and_staff_are_told() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let txid = paid_by_another(&world, &payout);
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    world.send().await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
    assert!(is_told_of(&world, &payout) && hold(&world).is_none(), "no other payout waits for it");
    world.send().await;
    world.mine_and_pass(6).await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
    check_sums(&world).await;
    let next = world.approved_payout(200_000).await;
    world.send().await;
    assert_eq!(world.outputs_of(&next), 1, "the wallet works on");
}

#[tokio::test]
async fn while_what_pays_a_payee_exactly_is_in_no_block_the_payout_waits_for_it() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let txid = paid_by_another(&world, &payout);
    world.send().await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Queued, 1));
    let another = world.approved_payout(120_000).await;
    world.send().await;
    assert_eq!((world.payout_state(&another), world.outputs_of(&another)), (PayoutState::Sent, 1), "others are paid");
    assert_eq!((hold(&world), world.outputs_of(&payout)), (None, 1));
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
    check_sums(&world).await;

    // What vanishes pays nobody.
    let other = world.approved_payout(250_000).await;
    let txid = paid_by_another(&world, &other);
    world.send().await;
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    world.send().await;
    world.send().await;
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Queued, 0), "it may come back");
    world.pass_ms(24 * HOUR_MS).await;
    world.send().await;
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Sent, 1));
    check_sums(&world).await;
}

#[tokio::test]
async fn an_offer_that_another_copy_paid_holds_nothing_and_is_not_paid_once_more_when_it_is_approved() {
    let world = world_with_coins(2).await;
    let payout = world.offered_payout(300_000).await;
    let txid = paid_by_another(&world, &payout);
    world.mine(1).await;
    assert_eq!(hold(&world), None);
    let by_ann = Approver { name: "cli:ann".to_owned(), sees: Sees::Everything, is_person: true };
    approve(&world.gateway, payout, by_ann).await.unwrap();
    world.send().await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
    assert_eq!(world.outputs_of(&payout), 1);
    check_sums(&world).await;
}

#[tokio::test]
async fn what_a_payee_was_paid_in_a_block_from_before_pays_no_payout() {
    let world = world_with_coins(2).await;
    let before_ms = world.now_ms();
    world.pass_ms(4 * HOUR_MS).await;
    let payout = world.approved_payout(300_000).await;
    let row = world.payout(&payout);
    world.sandbox().send(row.script, row.amount_sats, before_ms).unwrap();
    world.sandbox().mine(1, false, before_ms + HOUR_MS).unwrap();
    world.send().await;
    assert_eq!((hold(&world), world.payout_state(&payout)), (None, PayoutState::Sent));
    assert_eq!(world.outputs_of(&payout), 2);
    check_sums(&world).await;
}

#[tokio::test]
async fn what_paid_a_payee_is_followed_after_a_reorganisation_and_when_its_payout_was_given_up() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let txid = paid_by_another(&world, &payout);
    world.mine_and_pass(1).await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
    check_sums(&world).await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));

    let other = world.approved_payout(250_000).await;
    paid_by_another(&world, &other);
    world.look_and_pass().await;
    world.app.sender.abandon(other, false, "cli:ann", &world.app.watcher).await.unwrap();
    assert_eq!(world.payout_state(&other), PayoutState::Failed);
    world.mine_and_pass(1).await;
    assert_eq!(world.payout_state(&other), PayoutState::Sent, "whoever was told FAILED learns that it was paid");
    check_sums(&world).await;
}

/// Everything that is asked about single scripts.
const SERVERS: [Backend; 3] = [Backend::ByScript, Backend::Electrum, Backend::Esplora];

async fn stage_with_coins(backend: Backend) -> Stage {
    println!("through {backend:?}");
    let stage = Stage::new(backend).await;
    stage.world().make_wallet().await;
    add_coins(stage.world(), 2).await;
    stage
}

/// What no coin and no change of this wallet shows.
#[tokio::test]
async fn over_a_server_what_another_copy_paid_with_coins_that_are_unknown_here_is_followed_and_not_paid_once_more() {
    for backend in SERVERS {
        let stage = stage_with_coins(backend).await;
        let world = stage.world();
        let payout = world.approved_payout(300_000).await;
        let txid = paid_by_another(world, &payout);
        world.sandbox().mine(1, false, world.now_ms()).unwrap();
        world.send().await;
        assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
        assert!(is_told_of(world, &payout) && hold(world).is_none());
        world.send().await;
        check_sums(world).await;
        // The block is left, and another one holds it.
        world.sandbox().reorg(3, true, world.now_ms()).unwrap();
        world.look_and_pass().await;
        check_sums(world).await;
        assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
        assert_eq!(world.outputs_of(&payout), 1);

        // In no block yet, and gone again.
        let other = world.approved_payout(250_000).await;
        let txid = paid_by_another(world, &other);
        world.send().await;
        assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Queued, 1));
        world.send().await;
        assert_eq!(world.outputs_of(&other), 1);
        world.sandbox().evict(txid, world.now_ms()).unwrap();
        for _ in 0..3 {
            world.look().await;
            world.send().await;
        }
        assert_eq!(
            (world.payout_state(&other), world.outputs_of(&other)),
            (PayoutState::Queued, 0),
            "it may come back"
        );
        world.pass_ms(24 * HOUR_MS).await;
        for _ in 0..3 {
            world.look().await;
            world.send().await;
        }
        assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Sent, 1));
        check_sums(world).await;
    }
}

#[tokio::test]
async fn a_payee_whom_strangers_paid_hundreds_of_times_holds_up_no_payout() {
    for backend in SERVERS {
        let stage = stage_with_coins(backend).await;
        let world = stage.world();
        let payout = world.approved_payout(300_000).await;
        if backend != Backend::ByScript {
            stage.wait(AT_LEISURE);
        }
        let row = world.payout(&payout);
        let many = |count: u64| {
            for number in 0..count {
                world.sandbox().send(row.script.clone(), 1_000 + number, world.now_ms()).unwrap();
            }
        };
        many(230);
        world.sandbox().mine(1, false, world.now_ms()).unwrap();
        many(230);
        for _ in 0..8 {
            world.send().await;
        }
        assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
    }
}
