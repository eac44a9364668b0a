//! The cost of hundreds of coins at one address. Work is counted, not timed.

use std::sync::atomic::Ordering;

use tillgate_domain::id::Id;
use tillgate_sandbox::Pay;
use tillgate_store::anomalies::AnomalyFilter;
use tillgate_store::payments::PaymentRow;

use super::list;
use crate::access::record_scope::RecordScope;
use crate::notifications::resend;
use crate::testing::{HALF_AN_HOUR_MS, World};

/// A payment with `count` late coins, each with an anomaly of its own.
async fn with_late_coins(world: &World, count: u32) -> PaymentRow {
    let payment = world.payment().await;
    world.pass_ms(4 * HALF_AN_HOUR_MS).await;
    pay_late(world, &payment, count).await;
    payment
}

async fn pay_late(world: &World, payment: &PaymentRow, parts: u32) {
    let amount_sats = 50_000 * u64::from(parts);
    let pay = Pay {
        script: payment.script.clone(),
        amount_sats,
        parts,
        fee_rate_sat_vb: None,
        confirmations: 0,
    };
    world.sandbox().pay(pay, world.now_ms()).unwrap();
    world.look().await;
    world.mine(2).await;
}

/// The number of anomalies in a list of up to 500.
fn listed(world: &World, filter: &AnomalyFilter) -> usize {
    let records = world.gateway.render(|snapshot| {
        let mut list = list(snapshot, filter, 500, 0)?;
        let mut records = String::new();
        while !list.is_done() {
            records.push_str(&list.next_part(snapshot)?);
        }
        Ok(records)
    });
    serde_json::from_str::<Vec<serde_json::Value>>(&format!("[{}]", records.unwrap()))
        .unwrap()
        .len()
}

/// The SQLite steps of resending a payment's anomalies, and of listing them.
async fn steps(world: &World, payment: &PaymentRow, expected: u32) -> [u64; 2] {
    let gateway = &world.gateway;
    let id: Id = payment.payment.id;
    let filter = AnomalyFilter { payment_id: Some(id), ..AnomalyFilter::default() };
    // The first run is not counted, because it also prepares the statements.
    let resend = async || {
        let ids =
            resend::anomalies_of(&gateway.store, &id, RecordScope::Everything).unwrap().unwrap();
        resend::resend_anomalies(gateway, &ids).await.unwrap()
    };
    resend().await;
    listed(world, &filter);
    let steps = gateway.store.count_steps();
    assert_eq!(resend().await, expected);
    let resent = steps.swap(0, Ordering::Relaxed);
    assert_eq!(listed(world, &filter), usize::try_from(expected).unwrap());
    [resent, steps.load(Ordering::Relaxed)]
}

#[tokio::test]
async fn resend_and_list_cost_grows_linearly_with_anomalies() {
    let world = World::new().await;
    let few = with_late_coins(&world, 25).await;
    let many = with_late_coins(&world, 100).await;
    let (few, many) = (steps(&world, &few, 25).await, steps(&world, &many, 100).await);
    for (few, many) in few.into_iter().zip(many) {
        assert!(
            few > 0 && many < 5 * few,
            "four times as many anomalies take {many} steps instead of {few}"
        );
    }
}

#[tokio::test]
async fn a_look_at_one_more_coin_rewrites_no_earlier_row() {
    let world = World::new().await;
    let (few, many) = (with_late_coins(&world, 1).await, with_late_coins(&world, 40).await);
    let mut written = Vec::new();
    for payment in [few, many] {
        let before = world.gateway.store.rows_written();
        pay_late(&world, &payment, 1).await;
        written.push(world.gateway.store.rows_written() - before);
    }
    assert_eq!(written[0], written[1]);
}
