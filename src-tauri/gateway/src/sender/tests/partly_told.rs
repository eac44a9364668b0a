//! A backend that may be asked a few questions in a look: nothing leaves before it told what another copy of the wallet may have
//! paid.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bitcoin::{Transaction, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::restore::RestoreState;
use tillgate_sandbox::BroadcastFault;

use super::copies::{copied, put_beside};
use super::restored::{restored, stands};
use super::support::{check_paid_by_the_other_alone, world_with_coins};
use super::twins::twin_spending;
use crate::chain::tests::by_script::ByScript;
use crate::funds;
use crate::gateway::{Cause, PAYEES_MAX};
use crate::sender::ReplaceError;
use crate::store::keychains::Keychain;
use crate::testing::World;
use crate::wallet::spend::Payee;

/// Scripts that one look is told of.
const FEW: usize = 5;

/// Passes within which all that matters is told so.
const PASSES: usize = 150;

/// The same gateway behind a backend that may be asked about so many scripts in a look.
fn asking(world: World, count: usize) -> (World, Arc<ByScript>) {
    let sandbox = Arc::clone(world.gateway.sandbox.as_ref().unwrap());
    let mut made = None;
    let world = world.with_chain(|chain| {
        let by_script = Arc::new(ByScript::new(chain, sandbox));
        by_script.asks.store(count, Ordering::SeqCst);
        made = Some(Arc::clone(&by_script));
        by_script
    });
    (world, made.unwrap())
}

/// The other copy pays a payout with the youngest coin, while this one takes the oldest.
fn paid_with_another_coin(world: &World, payout: &Id) -> Transaction {
    let settings = world.gateway.settings.snapshot();
    let coins = world.gateway.store.read(|reader| funds::spendable(reader, &settings)).unwrap();
    let row = world.payout(payout);
    let payee = Payee { script: row.script, amount_sats: row.amount_sats };
    twin_spending(world, &[payee], coins.last().map(std::slice::from_ref).unwrap(), 3).unwrap()
}

/// A payout whose transaction is stored here and never reached the network, and that of the other copy which pays it in a block.
async fn stored_here_and_paid_by_the_other() -> (World, Id, Transaction) {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let twin = paid_with_another_coin(&world, &payout);
    world.broadcasts(BroadcastFault::Forget);
    world.send().await;
    world.broadcasts(BroadcastFault::Ok);
    assert!(world.payout(&payout).batch_seq.is_some() && world.outputs_of(&payout) == 0);
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    (world, payout, twin)
}

/// Passes until the payout is sent.
async fn passes_until_sent(world: &World, payout: &Id) -> usize {
    for passes in 0..PASSES {
        if world.payout_state(payout) == PayoutState::Sent {
            return passes;
        }
        world.pass_sender().await;
        drop(world.app.watcher.look().await);
    }
    panic!("it is not sent: {:?}", world.gateway.sending.waits_for());
}

#[tokio::test]
async fn after_a_start_nothing_is_paid_before_all_was_told_that_another_copy_may_have_paid_meanwhile() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let twin = paid_with_another_coin(&world, &payout);
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    let (world, _) = asking(world.reopen().await, FEW);
    world.advance_clock_ms(31_000);
    world.pass_sender().await;
    // However slowly they are derived: the next addresses, and the change.
    let count = world.gateway.hot.count();
    assert!(count > 200, "{count} scripts matter");
    let why = world.gateway.sending.waits_for().unwrap();
    assert!(why.cause == Cause::Chain && why.details.contains("is being asked"), "{why:?}");
    assert!(passes_until_sent(&world, &payout).await > 1);
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn what_was_stored_before_a_start_is_not_broadcast_before_all_was_told_that_another_copy_may_have_paid() {
    let (world, payout, twin) = stored_here_and_paid_by_the_other().await;
    let (world, _) = asking(world.reopen().await, FEW);
    for _ in 0..PASSES {
        world.pass_sender().await;
        drop(world.app.watcher.look().await);
    }
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn what_another_copy_paid_just_now_is_told_before_anything_is_signed() {
    let (world, backend) = asking(world_with_coins(2).await, usize::MAX);
    let payout = world.approved_payout(300_000).await;
    world.look().await;
    assert!(world.gateway.last_look.is_all_told());
    let twin = paid_with_another_coin(&world, &payout);
    backend.asks.store(FEW, Ordering::SeqCst);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.advance_clock_ms(31_000);
    world.pass_sender().await;
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn after_a_sleep_all_that_matters_is_asked_about_once_more() {
    let (world, backend) = asking(world_with_coins(2).await, usize::MAX);
    world.look().await;
    assert!(world.gateway.last_look.caught_up().is_some());
    backend.asks.store(FEW, Ordering::SeqCst);
    world.look().await;
    assert!(world.gateway.last_look.caught_up().is_some(), "what was told once is known");
    world.pass_ms(11 * 60_000).await;
    assert!(world.gateway.last_look.caught_up().is_none());
    for _ in 0..PASSES {
        world.look().await;
    }
    assert!(world.gateway.last_look.caught_up().is_some());
}

#[tokio::test]
async fn what_another_copy_paid_while_a_restored_one_looked_is_told_before_that_sends_anything() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let (world, copy) = copied(world).await;
    let (world, backend) = asking(restored(put_beside(world, copy)).await, 400);
    world.look().await;
    assert_eq!(stands(&world).state, RestoreState::Scanning);
    let twin = paid_with_another_coin(&world, &payout);
    // The coins and the first change were told.
    assert!(stands(&world).asked.addresses > 2, "{:?}", stands(&world).asked);
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    for _ in 0..PASSES {
        if stands(&world).state == RestoreState::Looked {
            break;
        }
        world.look().await;
    }
    assert_eq!(stands(&world).state, RestoreState::Looked);
    backend.asks.store(FEW, Ordering::SeqCst);
    world.advance_clock_ms(31_000);
    for _ in 0..PASSES {
        world.pass_sender().await;
    }
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn a_bump_waits_until_all_was_told_that_another_copy_may_have_paid() {
    let (world, payout, twin) = stored_here_and_paid_by_the_other().await;
    let (world, _) = asking(world.reopen().await, 150);
    // It is no gateway that runs: the command itself looks.
    let bumped = world.app.sender.bump(payout, Some(20), "cli:ann", &world.app.watcher).await;
    assert!(matches!(bumped, Err(ReplaceError::Held(_))), "it looked until it knew of the other one: {bumped:?}");
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn a_payout_leaves_after_a_start_however_many_customers_are_given_addresses_meanwhile() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let (world, _) = asking(world.reopen().await, 2 * FEW);
    for _ in 0..28 {
        // Each moves what lies ahead by one.
        for _ in 0..2 * FEW {
            world.payment_to_wallet().await;
        }
        world.advance_clock_ms(61_000);
        world.pass_sender().await;
        drop(world.app.watcher.look().await);
        if world.payout_state(&payout) == PayoutState::Sent {
            assert_eq!(world.outputs_of(&payout), 1);
            return world.check_ledger();
        }
    }
    panic!("it is held up: {:?}", world.gateway.sending.waits_for());
}

#[tokio::test]
async fn what_another_copy_paid_far_ahead_is_told_before_anything_is_broadcast_again() {
    let (world, payout, twin) = stored_here_and_paid_by_the_other().await;
    let (world, _) = asking(world.reopen().await, FEW);
    assert!(!world.gateway.last_look.is_all_told());
    // The other copy's customers were given addresses far ahead: what lies behind was no script that mattered.
    let script = world.gateway.wallet.get().unwrap().addresses.script(150).unwrap();
    world.sandbox().send(script, 60_000, world.now_ms()).unwrap();
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    let mut was_found = false;
    for _ in 0..2 * PASSES {
        let doubts = world.gateway.hot.doubts();
        drop(world.app.watcher.look().await);
        let next = world.gateway.store.read(|reader| reader.keychain(Keychain::External)).unwrap().unwrap().1;
        if next > 150 && !was_found {
            assert!(!world.gateway.last_look.is_all_told(), "what lies beyond was not asked about");
            assert!(world.gateway.hot.doubts() > doubts);
            was_found = true;
        }
    }
    assert!(was_found && world.gateway.last_look.is_all_told());
    world.pass_sender().await;
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn however_many_payouts_wait_those_alone_are_asked_about_that_one_transaction_pays() {
    let (world, _) = asking(world_with_coins(6).await, usize::MAX);
    let mut payouts = Vec::new();
    for _ in 0..PAYEES_MAX + 30 {
        payouts.push(world.approved_payout(20_000).await);
    }
    world.send().await;
    let mut shared: BTreeMap<Txid, u32> = BTreeMap::new();
    for payout in &payouts {
        assert_eq!(world.payout_state(payout), PayoutState::Sent);
        *shared.entry(world.txid_of(payout)).or_default() += 1;
    }
    let mut shared: Vec<u32> = shared.into_values().collect();
    shared.sort_unstable();
    assert_eq!(shared, [30, PAYEES_MAX], "a server elsewhere would be asked for longer than that is gone by");
    world.check_ledger();
}

#[tokio::test]
async fn a_payout_of_more_coins_than_one_look_is_told_of_is_given_up_after_six_blocks_all_the_same() {
    let (world, backend) = asking(world_with_coins(30).await, usize::MAX);
    let payout = world.approved_payout(29_500_000).await;
    world.send().await;
    world.look().await;
    world.app.sender.abandon(payout, false, "cli:ann", &world.app.watcher).await.unwrap().unwrap();
    world.look().await;
    let inputs = world.gateway.store.read(|reader| reader.scripts_of_pending_batches(100)).unwrap().len();
    assert_eq!(inputs, 30);
    backend.asks.store(2 * FEW, Ordering::SeqCst);
    for confirmations in 1..=6 {
        assert_eq!(world.payout_state(&payout), PayoutState::Sent, "{confirmations}");
        world.mine(1).await;
        for _ in 0..6 {
            world.look().await;
        }
    }
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Failed, 0));
    world.check_ledger();
}
