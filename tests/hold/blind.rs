//! Tests of the checks: each kind of loss, made by hand in the database of a stopped gateway, must be found. A check
//! that refuses no loss would prove nothing.

use rusqlite::Connection;
use serde_json::json;

use crate::check;
use crate::harness::client::text;
use crate::ledger::Ledger;
use crate::random::Random;
use crate::site::Site;

/// Prepares an installation with three payments, one of them confirmed and all notified, and applies `loss`. Returns
/// the message with which the check panics, if it does.
async fn found(loss: &str) -> Option<String> {
    let mut site = Site::prepare().await;
    site.start();
    let ledger = Ledger::default();
    let mut ids = Vec::new();
    for keyed in [true, false, true] {
        let (reference, asked) = ledger.ask("10.00", site.shop.url(), keyed);
        let answer = site.client.send(asked.request(&site.client)).await;
        ids.push(text(&answer.ok()["paymentId"]));
        ledger.answered(&reference, &answer.body);
    }
    site.client.pay_with(&ids[0], json!({ "confirmations": 1 })).await;
    let folder = check::folder(&site);
    check::everything(&site, &ledger, &folder, &mut Random::seeded(1)).await;
    site.kill();
    let database = Connection::open(folder.join("tillgate.db")).unwrap();
    database.execute_batch(&format!("PRAGMA foreign_keys = OFF; {loss}")).unwrap();
    database.close().unwrap();
    site.start();
    let checked = tokio::spawn(async move {
        check::everything(&site, &ledger, &folder, &mut Random::seeded(1)).await;
    });
    let panic = checked.await.err()?.into_panic();
    Some(panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

async fn check_found(loss: &str, complaint: &str) {
    let panic = found(loss).await.unwrap_or_else(|| panic!("nobody noticed: {loss}"));
    assert!(panic.contains(complaint), "{loss}: {panic}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_loss_nothing_is_found() {
    assert_eq!(found("").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_payment_is_found() {
    let lost = "DROP TRIGGER payments_are_kept; DELETE FROM payment_history WHERE payment_seq = 2;
                DELETE FROM payments WHERE seq = 2;";
    check_found(lost, "an acknowledged payment is lost").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_was_left_out_in_indexing_is_found() {
    check_found("UPDATE payments SET is_indexed = seq <> 2;", "an acknowledged payment is lost").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_key_is_found() {
    check_found("DELETE FROM idempotency;", "another answer for the same key").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_two_payments_is_found() {
    let twice = "UPDATE payments SET address = (SELECT address FROM payments WHERE seq = 3) WHERE seq = 2;";
    check_found(twice, "an address belongs to two payments").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_the_chain_does_not_give_is_found() {
    let wrong = "UPDATE payments SET state = 'INVALID' WHERE seq = 1;";
    check_found(wrong, "a state is not what the chain gives").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_nobody_heard_of_is_found() {
    let unheard = "INSERT INTO payment_history SELECT seq, current_at + 1, 'NEW', 'UNDERPAID', 1, 'chain' FROM payments
                   WHERE seq = 2;";
    check_found(unheard, "a change was never notified").await;
}
