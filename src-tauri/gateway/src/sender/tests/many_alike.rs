//! Many payouts are of one sum to one address, and their payee pays it himself.

use bitcoin::{ScriptBuf, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;

use super::support::{paid_by_another, world_with_coins};
use crate::access::sees::Sees;
use crate::console::payouts::ShowPayout;
use crate::console::states::WaitCause;
use crate::console::{Actor, ask};
use crate::payouts::{Approver, approve};
use crate::testing::World;

/// How many transactions are followed that were not made here.
fn followed(world: &World) -> usize {
    world.gateway.store.read(|reader| reader.pending_twins(reader.tip_height()?)).unwrap().len()
}

/// A stranger pays the payee of these payouts, so often in one transaction.
fn pays_often(world: &World, payout: &Id, times: usize) -> Txid {
    let row = world.payout(payout);
    let payees: Vec<(ScriptBuf, u64)> = (0..times).map(|_| (row.script.clone(), row.amount_sats)).collect();
    world.sandbox().pay_many(&payees, world.now_ms()).unwrap()
}

async fn approved_by_ann(world: &World, payout: Id) {
    let by_ann = Approver { name: "cli:ann".to_owned(), sees: Sees::Everything, is_person: true };
    approve(&world.gateway, payout, by_ann).await.unwrap();
}

fn states(world: &World, payouts: &[Id]) -> Vec<PayoutState> {
    payouts.iter().map(|payout| world.payout_state(payout)).collect()
}

#[tokio::test]
async fn of_a_payee_who_has_many_offers_of_one_sum_and_pays_it_himself_few_transactions_are_followed() {
    let world = world_with_coins(2).await;
    let offers = world.payouts_to_one(30, 10_000, false).await;
    let all: Vec<Txid> = (0..25).map(|_| paid_by_another(&world, &offers[0])).collect();
    let often: Vec<Txid> = (0..25).map(|_| pays_often(&world, &offers[0], 30)).collect();
    world.look().await;
    assert_eq!(followed(&world), 20, "as many as for one offer");

    // Each time he replaces them all, others are followed, and no more.
    for txid in all.iter().chain(&often) {
        world.sandbox().evict(*txid, world.now_ms()).unwrap();
    }
    world.look().await;
    for _ in 0..25 {
        paid_by_another(&world, &offers[0]);
    }
    world.look().await;
    assert_eq!(followed(&world), 40, "those that are gone, and as many that wait");

    // Others are served, and what a block holds counts, whichever it is.
    let other = world.approved_payout(120_000).await;
    world.send().await;
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Sent, 1));
    world.mine_and_pass(1).await;
    approved_by_ann(&world, offers[0]).await;
    assert_eq!(world.payout_state(&offers[0]), PayoutState::Sent);
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn each_of_many_payouts_alike_waits_for_a_transaction_of_its_own_that_pays_it_and_is_not_paid_once_more() {
    let world = world_with_coins(2).await;
    let payouts = world.payouts_to_one(130, 10_000, true).await;
    for _ in 0..160 {
        paid_by_another(&world, &payouts[0]);
    }
    world.send().await;
    assert_eq!(followed(&world), 130, "one for each, and none that pays one of them once more");
    assert!(states(&world, &payouts).iter().all(|state| *state == PayoutState::Queued));
    for payout in &payouts {
        let show = ShowPayout { payout_id: payout.to_string() };
        let item = ask(&world.app, show, &Actor::command_line()).await.unwrap().item;
        assert_eq!(item.wait_cause, Some(WaitCause::Payee));
    }
    world.mine_and_pass(1).await;
    assert!(states(&world, &payouts).iter().all(|state| *state == PayoutState::Sent));
    assert_eq!(world.outputs_of(&payouts[0]), 160, "all are the payee's own");
    world.check_ledger();
}

#[tokio::test]
async fn one_transaction_that_pays_the_payee_of_many_payouts_alike_as_often_as_that_pays_each_of_them_once() {
    let world = world_with_coins(2).await;
    let payouts = world.payouts_to_one(130, 10_000, true).await;
    let (first, rest) = payouts.split_at(120);
    let txid = pays_often(&world, &payouts[0], 120);
    world.mine_and_pass(1).await;
    assert!(first.iter().all(|payout| world.txid_of(payout) == txid));
    assert!(rest.iter().all(|payout| world.payout(payout).txid.is_none()), "nobody paid these");
    let second = pays_often(&world, &payouts[0], 120);
    world.mine_and_pass(1).await;
    assert!(rest.iter().all(|payout| world.txid_of(payout) == second));
    assert!(first.iter().all(|payout| world.txid_of(payout) == txid), "they are paid already");
    assert!(states(&world, &payouts).iter().all(|state| *state == PayoutState::Sent));
    world.check_ledger();
}
