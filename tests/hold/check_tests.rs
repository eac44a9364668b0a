//! Tests of the checks in `check`. Each test damages the database of a stopped gateway, and the
//! checks must find the loss.

use rusqlite::Connection;
use serde_json::json;

use crate::check;
use crate::harness::client::text;
use crate::installation::Installation;
use crate::ledger::Ledger;
use crate::random::Random;

/// Prepares an installation with three payments, of which one is confirmed, and executes the SQL in
/// `loss`. Returns the panic message of the checks, if they fail.
async fn complaint_after(loss: &str) -> Option<String> {
    let mut site = Installation::prepare().await;
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

async fn expect_complaint(loss: &str, complaint: &str) {
    let panic =
        complaint_after(loss).await.unwrap_or_else(|| panic!("no check found the loss: {loss}"));
    assert!(panic.contains(complaint), "{loss}: {panic}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_intact_database_passes_the_checks() {
    assert_eq!(complaint_after("").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_payment_is_found() {
    let lost = "DROP TRIGGER payments_are_kept; DELETE FROM payment_history WHERE payment_seq = 2;
                DELETE FROM payments WHERE seq = 2;";
    expect_complaint(lost, "an acknowledged payment is lost").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_missing_from_the_index_is_found() {
    expect_complaint(
        "UPDATE payments SET is_indexed = seq <> 2;",
        "an acknowledged payment is lost",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_idempotency_key_is_found() {
    expect_complaint("DELETE FROM idempotency;", "another answer for the same key").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_two_payments_is_found() {
    let twice =
        "UPDATE payments SET address = (SELECT address FROM payments WHERE seq = 3) WHERE seq = 2;";
    expect_complaint(twice, "an address belongs to two payments").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_contradicts_the_chain_is_found() {
    let wrong = "UPDATE payments SET state = 'INVALID' WHERE seq = 1;";
    expect_complaint(wrong, "a state contradicts the chain").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_that_the_chain_does_not_show_is_found() {
    expect_complaint(
        "UPDATE payments SET conflict_seen = 1 WHERE seq = 1;",
        "conflictSeen is true",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_never_notified_is_found() {
    let unheard =
        "INSERT INTO payment_history SELECT seq, current_at + 1, 'NEW', 'UNDERPAID', 1, 'chain', NULL FROM payments
                   WHERE seq = 2;";
    expect_complaint(unheard, "a change was never notified").await;
}
