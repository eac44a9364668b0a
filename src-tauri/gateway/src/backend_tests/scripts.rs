//! A backend that asks about single scripts: the scripts it asks about, their cost, and payments
//! that were not asked about.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tillgate_domain::payment::PaymentState::{Confirmed, Expired, New, Unconfirmed};
use tillgate_store::payments::PaymentRow;

use crate::testing::by_script::ByScript;
use crate::testing::{HALF_AN_HOUR_MS, World};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

async fn world() -> (World, Arc<ByScript>) {
    let world = World::new().await;
    let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
    let mut made = None;
    let world = world.with_chain(|chain| {
        let by_script = Arc::new(ByScript::new(chain, sandbox));
        made = Some(Arc::clone(&by_script));
        by_script
    });
    (world, made.unwrap())
}

/// Creates `count` unpaid payments that closed long ago.
async fn old_payments(world: &World, count: usize) -> Vec<PaymentRow> {
    let mut payments = Vec::new();
    for _ in 0..count {
        payments.push(world.payment().await);
    }
    world.pass_ms(2 * DAY_MS).await;
    // The hot scripts are read again.
    world.pass_ms(61_000).await;
    assert!(payments.iter().all(|payment| world.state(payment) == Expired));
    payments
}

#[tokio::test]
async fn a_payment_is_asked_about_from_the_next_look_on() {
    let (world, _) = world().await;
    world.look().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
}

#[tokio::test]
async fn a_due_payment_stays_open_until_its_address_was_asked_about() {
    let (world, backend) = world().await;
    let (paid, unpaid) = (world.payment().await, world.payment().await);
    world.customer_pays(&paid, paid.payment.amount_sats);
    backend.asks.store(0, Ordering::SeqCst);
    world.advance_clock_ms(HALF_AN_HOUR_MS + 20 * 60_000);
    world.look().await;
    world.look().await;
    assert_eq!((world.state(&paid), world.state(&unpaid)), (New, New), "late, but not wrong");
    // Asks about one script, the longest due.
    backend.asks.store(1, Ordering::SeqCst);
    world.look().await;
    assert_eq!((world.state(&paid), world.state(&unpaid)), (Unconfirmed, New));
    backend.asks.store(2, Ordering::SeqCst);
    world.look().await;
    assert_eq!((world.state(&paid), world.state(&unpaid)), (Unconfirmed, Expired));
}

#[tokio::test]
async fn a_look_asks_about_no_more_scripts_for_many_old_payments() {
    // 20 payments are too few to be indexed; of 300, some may be.
    for count in [20, 120, 300] {
        let (world, backend) = world().await;
        old_payments(&world, count).await;
        let open = world.payment().await;
        let mut most = 0;
        // As many looks as one round takes, with its empty parts.
        for _ in 0..8 {
            world.look().await;
            most = most.max(backend.asked.load(Ordering::SeqCst));
        }
        assert_eq!(most, 1 + count.min(100), "the open one, and a hundred of the round");
        assert_eq!(world.state(&open), New);
    }
}

#[tokio::test]
async fn a_payment_closed_long_ago_is_not_hot_though_not_indexed_yet() {
    let (world, _) = world().await;
    let old = old_payments(&world, 3).await;
    let open = world.payment().await;
    world.pass_ms(61_000).await;
    let hot = &world.gateway.backend.hot;
    assert!(old.iter().all(|payment| !hot.contains(&payment.script)));
    assert!(hot.contains(&open.script));
}

#[tokio::test]
async fn the_round_finds_coins_for_a_payment_closed_days_ago() {
    let (world, _) = world().await;
    let payments = old_payments(&world, 250).await;
    let late = &payments[249];
    world.customer_pays(late, 50_000);
    let mut looks = 0;
    while world.gateway.store.read(|reader| reader.receipts(late.seq)).unwrap().is_empty() {
        world.look().await;
        looks += 1;
        assert!(looks <= 8, "each look takes a hundred");
    }
    world.mine(2).await;
    let raised = world.gateway.store.read(|reader| reader.anomalies_of_payment(late.seq)).unwrap();
    assert_eq!(raised.len(), 1);
}

#[tokio::test]
async fn the_round_resumes_where_it_was_after_a_restart() {
    let (world, _) = world().await;
    old_payments(&world, 250).await;
    let place = |world: &World| world.gateway.store.read(|reader| reader.round_place()).unwrap();
    let before = place(&world);
    world.look().await;
    world.pass_ms(61_000).await;
    let stored = place(&world);
    assert_ne!(stored, before, "the place is stored once a minute");
    let world = world.reopen().await;
    assert_eq!(place(&world), stored);
}

#[tokio::test]
async fn a_scripts_state_changes_only_with_its_transactions() {
    let (world, _) = world().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    let state = |world: &World| {
        let script = payment.script.clone();
        world.gateway.store.read(move |reader| reader.script_state(&script)).unwrap()
    };
    let before = state(&world).expect("a look with a transaction stores a state");
    world.look().await;
    assert_eq!(state(&world), Some(before.clone()), "nothing changed");
    world.mine(1).await;
    assert_ne!(state(&world), Some(before));
}
