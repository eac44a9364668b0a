//! Looks against a real database and a real chain.

mod accept;
mod backends;
mod coins;
mod older;
mod restored;

use std::collections::BTreeMap;

use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::payment::Cause;
use tillgate_domain::payment::PaymentState::{
    self, Confirmed, Expired, Invalid, New, Unconfirmed, Underpaid,
};
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_sandbox::{BroadcastFault, FaultsPatch, Replace, ReplaceTo};
use tillgate_store::anomalies::AnomalyRow;
use tillgate_store::chain::WatchedChain;
use tillgate_store::payments::PaymentRow;

use crate::testing::{HALF_AN_HOUR_MS, World};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn anomalies(world: &World, payment: &PaymentRow) -> Vec<AnomalyRow> {
    world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap()
}

fn causes(world: &World, payment: &PaymentRow) -> Vec<(PaymentState, Cause)> {
    let history = world.gateway.store.read(|reader| reader.payment_history(payment.seq)).unwrap();
    history.into_iter().map(|row| (row.to, row.cause)).collect()
}

fn watched(world: &World) -> WatchedChain {
    world.gateway.store.read(|reader| reader.watched_chain()).unwrap().unwrap()
}

#[tokio::test]
async fn an_exact_payment_notifies_unconfirmed_then_confirmed_once() {
    let world = World::new().await;
    let payment = world.payment().await;
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    world.look().await;
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    world.mine(10).await;

    let bodies = world.notified(&payment.payment.id);
    assert_eq!(world.notified_field(&payment.payment.id, "status"), ["UNCONFIRMED", "CONFIRMED"]);
    assert_eq!(bodies[1]["btcTransactions"][0]["btcTxId"], txid.to_string());
    assert_eq!(bodies[1]["btcTransactions"][0]["confirmations"].to_string(), "1");
    let row = world.reload_payment(&payment.payment.id);
    assert_eq!(
        bodies[1]["currentTime"],
        row.current_at.iso_millis(),
        "the notification has the stored currentTime"
    );
    let told = world.notified_field(&payment.payment.id, "currentTime");
    assert!(told[0] < told[1], "{told:?}");
    assert_eq!(causes(&world, &payment), [(Unconfirmed, Cause::Chain), (Confirmed, Cause::Chain)]);
    assert_eq!(anomalies(&world, &payment), []);
}

#[tokio::test]
async fn two_parts_are_underpaid_and_then_enough() {
    let world = World::new().await;
    let payment = world.payment().await;
    let half = payment.payment.amount_sats / 2;
    world.pay(&payment, half).await;
    assert_eq!(world.state(&payment), Underpaid);
    world.pay(&payment, payment.payment.amount_sats - half).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    assert_eq!(world.notified_field(&payment.payment.id, "status"), ["UNDERPAID", "UNCONFIRMED"]);
}

#[tokio::test]
async fn a_payment_that_nobody_pays_expires_by_time() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pass_ms(HALF_AN_HOUR_MS - 2_000).await;
    assert_eq!(world.state(&payment), New);
    world.pass_ms(3_000).await;
    assert_eq!(world.state(&payment), Expired);
    assert_eq!(causes(&world, &payment), [(Expired, Cause::Time)]);
}

#[tokio::test]
async fn more_payments_than_one_commit_holds_expire_in_one_look() {
    let world = World::new().await;
    let mut payments = Vec::new();
    for _ in 0..=super::storing::PIECES_PER_COMMIT {
        payments.push(world.payment().await);
    }
    world.pass_ms(HALF_AN_HOUR_MS + 1_000).await;
    assert!(payments.iter().all(|payment| world.state(payment) == Expired));
}

#[tokio::test]
async fn a_replacement_to_the_same_address_counts_instead() {
    let world = World::new().await;
    let payment = world.payment().await;
    let first = world.pay(&payment, payment.payment.amount_sats).await;
    let replace =
        Replace { fee_rate_sat_vb: None, to: ReplaceTo::SameAddress { amount_sats: None } };
    let second = world.sandbox().replace(first, replace, world.now_ms()).unwrap()[0];
    world.look().await;
    let bodies = world.notified(&payment.payment.id);
    assert_eq!(bodies.len(), 2, "the set of transactions changed");
    assert_eq!(bodies[1]["status"], "UNCONFIRMED");
    assert_eq!(bodies[1]["btcTransactions"].as_array().unwrap().len(), 1);
    assert_eq!(bodies[1]["btcTransactions"][0]["btcTxId"], second.to_string());
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
}

#[tokio::test]
async fn a_replacement_back_to_the_customer_takes_the_coins_away() {
    let world = World::new().await;
    let payment = world.payment().await;
    let first = world.pay(&payment, payment.payment.amount_sats).await;
    let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    world.sandbox().replace(first, replace, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), New);
    let receipts = world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap();
    assert!(receipts[0].gone);
    assert!(receipts[0].position.is_absent());
}

#[tokio::test]
async fn an_evicted_transaction_counts_and_is_rebroadcast_next_block() {
    let world = World::new().await;
    let payment = world.payment().await;
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), Unconfirmed);
    assert_eq!(world.sandbox().status().unwrap().mempool, [], "refused until the next block");
    world.mine(1).await;
    assert_eq!(
        world.sandbox().status().unwrap().mempool,
        [txid],
        "the look after the block broadcast it"
    );
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    assert_eq!(world.notified(&payment.payment.id).len(), 2, "an eviction is not notified");
}

#[tokio::test]
async fn a_restart_broadcasts_missing_transactions() {
    let world = World::new().await;
    let payment = world.payment().await;
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    world
        .sandbox()
        .set_faults(FaultsPatch {
            broadcast: Some(BroadcastFault::Reject),
            ..FaultsPatch::default()
        })
        .unwrap();
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    world.mine(1).await;
    world
        .sandbox()
        .set_faults(FaultsPatch { broadcast: Some(BroadcastFault::Ok), ..FaultsPatch::default() })
        .unwrap();
    world.look().await;
    assert_eq!(world.sandbox().status().unwrap().mempool, [], "an idle look broadcasts nothing");
    let world = world.reopen().await;
    world.look().await;
    assert_eq!(world.sandbox().status().unwrap().mempool, [txid]);
}

#[tokio::test]
async fn a_reorganisation_reverses_a_payment_only_if_it_loses_coins() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), Confirmed, "its coins are in the mempool again");
    world.mine(1).await;
    assert_eq!(world.notified(&payment.payment.id).len(), 2);

    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), Invalid);
    let reversed = anomalies(&world, &payment);
    assert_eq!(reversed.len(), 1);
    assert_eq!(reversed[0].anomaly.kind, AnomalyKind::ReversedPayment);
    assert_eq!(reversed[0].anomaly.paid_sats, payment.payment.amount_sats);
    assert_eq!(world.notified_field(&reversed[0].anomaly.id, "anomalyType"), ["REVERSED_PAYMENT"]);
}

#[tokio::test]
async fn late_coins_raise_one_anomaly_at_the_current_rate() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pass_ms(HALF_AN_HOUR_MS + 2 * HOUR_MS).await;
    let rate = [("USD".to_owned(), Some("70000.00".to_owned()))].into();
    world.sandbox().set_rates(&rate).unwrap();
    world
        .gateway
        .market
        .rates
        .refresh_once(&world.gateway.store, world.gateway.time.now())
        .await
        .unwrap();
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    assert_eq!(anomalies(&world, &payment), [], "an anomaly needs two confirmations");
    world.mine(1).await;
    world.mine(5).await;
    let late = anomalies(&world, &payment);
    assert_eq!(late.len(), 1);
    assert_eq!(
        (late[0].anomaly.kind, late[0].anomaly.txid),
        (AnomalyKind::LatePayment, Some(txid))
    );
    assert_eq!(late[0].rate.format(), "70000.0000");
    assert_eq!(world.notified_field(&late[0].anomaly.id, "resolution"), ["OPEN"]);
    assert_eq!(world.state(&payment), Expired);
}

#[tokio::test]
async fn the_rate_of_an_anomaly_stays_stored_after_a_refresh() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pass_ms(HALF_AN_HOUR_MS + 2 * HOUR_MS).await;
    let set = async |rate: &str| {
        let rates = BTreeMap::from([("USD".to_owned(), Some(rate.to_owned()))]);
        world.sandbox().set_rates(&rates).unwrap();
        world.gateway.refresh_rates().await.unwrap();
    };
    set("71234.00").await;
    world.pay(&payment, 50_000).await;
    world.mine(2).await;
    assert_eq!(anomalies(&world, &payment)[0].rate.format(), "71234.0000");
    set("60000.00").await;
    let usd = payment.payment.currency;
    let stored = world.gateway.store.read(|reader| reader.stored_rates(usd)).unwrap();
    assert!(stored.iter().any(|(_, rate)| rate == "71234.0000"), "{stored:?}");
}

#[tokio::test]
async fn a_look_repeated_after_a_crash_stores_and_notifies_once() {
    let world = World::new().await;
    let [paid, late, replaced] =
        [world.payment().await, world.payment().await, world.payment().await];
    let before = watched(&world);
    world.customer_pays(&paid, paid.payment.amount_sats);
    let first = world.pay(&replaced, replaced.payment.amount_sats).await;
    let replace =
        Replace { fee_rate_sat_vb: None, to: ReplaceTo::SameAddress { amount_sats: None } };
    world.sandbox().replace(first, replace, world.now_ms()).unwrap();
    world.mine(2).await;
    world.pass_ms(2 * HOUR_MS).await;
    world.customer_pays(&late, 10_000);
    world.mine(2).await;
    let told = |world: &World| {
        let mut all: Vec<_> =
            [&paid, &late, &replaced].map(|row| world.notified(&row.payment.id)).into();
        all.extend(anomalies(world, &late).iter().map(|row| world.notified(&row.anomaly.id)));
        all
    };
    let told_before = told(&world);
    assert_eq!(told_before.len(), 4);

    // The state after a crash before the last commit of a look.
    let left = before.clone();
    world.gateway.store.write(move |tx| tx.save_watched_chain(&left)).await.unwrap();
    let world = world.reopen().await;
    world.look().await;
    assert_eq!(told(&world), told_before);
    assert_ne!(watched(&world).cursor, before.cursor);
}

#[tokio::test]
async fn a_look_without_an_answer_changes_no_payment() {
    let world = World::new().await;
    let payment = world.payment().await;
    let down = |chain_down| FaultsPatch { chain_down: Some(chain_down), ..FaultsPatch::default() };
    world.sandbox().set_faults(down(true)).unwrap();
    world.customer_pays(&payment, payment.payment.amount_sats);
    world.advance_clock_ms(HALF_AN_HOUR_MS + 20 * 60_000);
    assert!(world.app.watcher.look().await.is_err());
    assert_eq!(world.state(&payment), New);
    assert!(world.gateway.backend.last_look.status().error.is_some());
    world.sandbox().set_faults(down(false)).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), Unconfirmed, "paid in time, found within the grace");
    assert_eq!(world.gateway.backend.last_look.status().error, None);
}

#[tokio::test]
async fn an_idle_look_writes_nothing_for_a_minute() {
    let world = World::new().await;
    world.look().await;
    let stored = watched(&world);
    let changes = *world.gateway.signals.changes.borrow();
    world.pass_ms(10_000).await;
    assert_eq!(watched(&world), stored);
    assert!(world.gateway.backend.last_look.status().looked_at.unwrap() > stored.looked_at);
    world.pass_ms(60_000).await;
    assert!(watched(&world).looked_at > stored.looked_at);
    assert_eq!(*world.gateway.signals.changes.borrow(), changes);
}

#[tokio::test]
async fn days_without_a_look_make_no_coins_gone() {
    let world = World::new().await;
    let payment = world.payment().await;
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    world.advance_clock_ms(15 * DAY_MS);
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), Unconfirmed, "looks have not missed the coins for 14 days");
    assert_eq!(world.sandbox().status().unwrap().mempool, [txid], "the coins were broadcast again");

    world
        .sandbox()
        .set_faults(FaultsPatch {
            broadcast: Some(BroadcastFault::Reject),
            ..FaultsPatch::default()
        })
        .unwrap();
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    world.look().await;
    world.pass_ms(14 * DAY_MS - 2_000).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    world.pass_ms(3_000).await;
    assert_eq!(world.state(&payment), Invalid, "each look of 14 days missed the coins");
}

#[tokio::test]
async fn an_open_anomaly_follows_an_equal_replacement_silently() {
    let world = World::new().await;
    let payment = world.payment().await;
    let first = world.pay(&payment, payment.payment.amount_sats + 5_000).await;
    world.mine(2).await;
    let raised = anomalies(&world, &payment).remove(0);
    assert_eq!(
        (raised.anomaly.kind, raised.anomaly.txids),
        (AnomalyKind::Overpayment, vec![first])
    );

    world.sandbox().reorg(2, true, world.now_ms()).unwrap();
    let replace =
        Replace { fee_rate_sat_vb: None, to: ReplaceTo::SameAddress { amount_sats: None } };
    let second = world.sandbox().replace(first, replace, world.now_ms()).unwrap()[0];
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    let followed = anomalies(&world, &payment).remove(0);
    assert_eq!((followed.anomaly.paid_sats, followed.anomaly.txids), (5_000, vec![second]));
    assert_eq!(followed.current_at, raised.current_at, "an equal replacement is not notified");
    assert_eq!(world.notified(&raised.anomaly.id).len(), 1);
}

#[tokio::test]
async fn a_reversal_recounts_at_once_coins_that_were_gone() {
    let world = World::new().await;
    let policy =
        PolicySettings { zero_conf_up_to: PriceBound::usd(100), ..PolicySettings::default() };
    let payment = world.payment_under(policy).await;
    let to_customer = || Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    let part = world.pay(&payment, 1_000).await;
    let taken_back = world.sandbox().replace(part, to_customer(), world.now_ms()).unwrap()[0];
    world.look().await;
    let full = world.pay(&payment, payment.payment.amount_sats).await;
    world.pass_ms(4_000).await;
    assert_eq!(world.state(&payment), Confirmed);

    world.sandbox().evict(taken_back, world.now_ms()).unwrap();
    world.look().await;
    world.sandbox().replace(full, to_customer(), world.now_ms()).unwrap();
    world.mine(1).await;
    let row = world.reload_payment(&payment.payment.id).payment;
    assert_eq!((row.state, row.paid_sats), (Invalid, 1_000));
    assert_eq!(world.sandbox().status().unwrap().mempool, [part], "the part was broadcast again");
    let told = world.notified(&payment.payment.id);
    let told: Vec<_> =
        told.iter().map(|body| format!("{} {}", body["status"], body["paidBtc"])).collect();
    assert_eq!(told[told.len() - 2..], [r#""INVALID" 0.00000000"#, r#""INVALID" 0.00001000"#]);
}
