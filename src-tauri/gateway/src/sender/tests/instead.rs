//! Staff release the sender by force while another copy's transaction is unmined. A payout that it
//! pays has a transaction of its own, which spends one of its coins.

use bitcoin::{OutPoint, Transaction};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::BroadcastFault;

use crate::funds;
use crate::testing::World;
use crate::testing::sending::{check_paid_by_the_other_alone, world_with_coins};
use crate::testing::twins::twin_spending;
use crate::wallet::spend::{Payee, SpendableCoin};

fn inputs(tx: &Transaction) -> Vec<OutPoint> {
    tx.input.iter().map(|input| input.previous_output).collect()
}

fn shares(one: &Transaction, other: &Transaction) -> bool {
    inputs(one).iter().any(|input| inputs(other).contains(input))
}

fn coins(world: &World) -> Vec<SpendableCoin> {
    let settings = world.gateway.settings.snapshot();
    world.gateway.store.read(|reader| funds::spendable_coins(reader, &settings)).unwrap()
}

/// A twin at 20 sat/vB that pays these payouts and spends at least these coins.
fn twin_of(world: &World, payouts: &[&Id], required: &[SpendableCoin]) -> Transaction {
    let rows = payouts.iter().map(|payout| world.payout(payout));
    let payees: Vec<_> =
        rows.map(|row| Payee { script: row.script, amount_sats: row.amount_sats }).collect();
    twin_spending(world, &payees, required, 20).unwrap()
}

/// The mempool shows the twin, and staff release the sender by force, two days later.
async fn released_by_force(world: &World, twin: &Transaction) {
    world.sandbox().broadcast(twin, world.now_ms()).unwrap();
    world.look().await;
    // Every payout is overdue then.
    world.pass_ms(48 * 3_600_000).await;
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
}

/// The stored transaction of a payout. No other payout shares it.
fn own_transaction(world: &World, payout: &Id) -> Transaction {
    let batch_seq =
        world.payout(payout).batch_seq.expect("no transaction was stored for the payout");
    let (sharing, mut versions) = world
        .gateway
        .store
        .read(|reader| {
            Ok::<_, tillgate_store::StoreError>((
                reader.payouts_of_batch(batch_seq)?,
                reader.versions(batch_seq)?,
            ))
        })
        .unwrap();
    assert_eq!((sharing.len(), versions.len()), (1, 1));
    versions.remove(0).tx
}

fn is_in_mempool(world: &World, tx: &Transaction) -> bool {
    world.sandbox().mempool_entry(tx.compute_txid()).unwrap().is_some()
}

#[tokio::test]
async fn an_order_at_a_named_rate_spends_a_coin_of_the_twin_that_pays_the_payout() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let twin = twin_of(&world, &[&paid], &[]);
    released_by_force(&world, &twin).await;
    world.send_at(paid, 50).await.unwrap();
    let ours = own_transaction(&world, &paid);
    assert!(shares(&ours, &twin));
    assert!(is_in_mempool(&world, &ours) && !is_in_mempool(&world, &twin));
    world.mine_and_pass(7).await;
    assert_eq!(world.outputs_of(&paid), 1);
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_forced_payout_replaces_its_twin_and_others_go_at_once() {
    for count in [1, 3] {
        let world = world_with_coins(count).await;
        let (paid, other) =
            (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
        let twin = twin_of(&world, &[&paid], &[]);
        released_by_force(&world, &twin).await;
        world.send().await;
        // With a single coin, the other payout spends the change of the first after the next look.
        world.look_and_pass().await;
        let (ours, others) = (own_transaction(&world, &paid), own_transaction(&world, &other));
        assert_eq!(
            [&paid, &other].map(|payout| world.payout_state(payout)),
            [PayoutState::Sent; 2],
            "{count}"
        );
        assert!(shares(&ours, &twin) && !shares(&others, &twin), "{count}");
        assert!(
            is_in_mempool(&world, &ours) && !is_in_mempool(&world, &twin),
            "{count}: the node refused it"
        );
        world.mine_and_pass(7).await;
        assert_eq!((world.outputs_of(&paid), world.outputs_of(&other)), (1, 1));
        world.check_ledger();
        world.check_balance();
    }
}

#[tokio::test]
async fn a_bump_outbids_the_twin_that_keeps_a_payout_out() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let twin = twin_of(&world, &[&paid], &[]);
    let row = world.payout(&paid);
    let payee = Payee { script: row.script, amount_sats: row.amount_sats };
    let dearer = twin_spending(&world, &[payee], &coins(&world), 100).unwrap();
    released_by_force(&world, &twin).await;
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    own_transaction(&world, &paid);
    world.broadcasts(BroadcastFault::Ok);
    // The other copy raises its fee before a node hears of ours.
    world.sandbox().broadcast(&dearer, world.now_ms()).unwrap();
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
    let bumped = world.app.sender.bump(paid, None, "cli:ann", &world.app.watcher).await.unwrap();
    let ours = world.gateway.store.read(|reader| reader.version(&bumped)).unwrap().unwrap();
    assert!(
        is_in_mempool(&world, &ours.tx) && !is_in_mempool(&world, &dearer),
        "the node refused the bump"
    );
    world.mine_and_pass(7).await;
    assert_eq!(world.outputs_of(&paid), 1);
    world.check_ledger();
}

#[tokio::test]
async fn the_block_of_a_twin_fails_no_payout_beside_it() {
    let world = world_with_coins(3).await;
    let (paid, other) =
        (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    let twin = twin_of(&world, &[&paid], &[]);
    released_by_force(&world, &twin).await;
    // No node accepts the replacement.
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    own_transaction(&world, &paid);
    world.broadcasts(BroadcastFault::Ok);
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    for _ in 0..7 {
        world.mine_and_pass(1).await;
    }
    check_paid_by_the_other_alone(&world, &paid, &twin);
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Sent, 1));
    world.check_balance();
}

#[tokio::test]
async fn two_payouts_of_one_twin_each_spend_another_of_its_coins() {
    let world = world_with_coins(3).await;
    let payouts = [world.approved_payout(300_000).await, world.approved_payout(200_000).await];
    let twin = twin_of(&world, &[&payouts[0], &payouts[1]], &coins(&world)[..2]);
    released_by_force(&world, &twin).await;
    world.send().await;
    world.look_and_pass().await;
    let ours = [0, 1].map(|number| own_transaction(&world, &payouts[number]));
    assert!(ours.iter().all(|tx| shares(tx, &twin) && is_in_mempool(&world, tx)));
    world.mine_and_pass(7).await;
    assert_eq!([0, 1].map(|number| world.outputs_of(&payouts[number])), [1, 1]);
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_twin_whose_only_coin_a_block_spent_is_ruled_out_already() {
    let world = world_with_coins(2).await;
    let paid = world.approved_payout(300_000).await;
    let coin = &coins(&world)[..1];
    let twin = twin_of(&world, &[&paid], coin);
    assert_eq!(inputs(&twin), [coin[0].outpoint]);
    // Another copy spends the same coin for somebody else, and a block takes that.
    let elsewhere = Payee { script: world.payment().await.script, amount_sats: 100_000 };
    let mined = twin_spending(&world, &[elsewhere], coin, 3).unwrap();
    released_by_force(&world, &twin).await;
    world.sandbox().mine_transactions(&[mined], world.now_ms()).unwrap();
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
    world.send().await;
    assert_eq!(
        world.payout_state(&paid),
        PayoutState::Sent,
        "{:?}",
        world.gateway.sending.waits_for()
    );
    assert!(is_in_mempool(&world, &own_transaction(&world, &paid)));
    world.mine_and_pass(7).await;
    assert_eq!(world.outputs_of(&paid), 1);
    world.check_ledger();
}
