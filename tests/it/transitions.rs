//! Every row of the payment's transition table, caused by the customer, the chain, the clock or
//! staff, with its notifications.

use serde_json::json;

use crate::harness::Scene;
use crate::harness::sandbox::{btc, sats};
use crate::harness::scene::Bill;
use crate::harness::wait_for;

#[tokio::test(flavor = "multi_thread")]
async fn new_becomes_underpaid_and_the_remainder_is_notified() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.pay_sats(&bill.id, 5_000).await;
    let payment = s.expect(&bill, "UNDERPAID").await;
    assert_eq!(sats(&payment["paidBtc"]), 5_000);
    assert_eq!(
        sats(&payment["remainingToPayBtc"]),
        i64::try_from(bill.amount_sats).unwrap() - 5_000
    );
    s.expect_notified(&bill, &["UNDERPAID"]).await;
    assert_eq!(s.shop.records_of(&bill.id)[0], payment);
}

#[tokio::test(flavor = "multi_thread")]
async fn underpaid_becomes_new_when_the_customer_takes_the_part_back() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let part = s.pay_sats(&bill.id, 5_000).await;
    s.take_back(&part).await;
    let payment = s.expect(&bill, "NEW").await;
    assert_eq!((sats(&payment["paidBtc"]), &payment["btcTransactions"]), (0, &json!([])));
    s.expect_notified(&bill, &["UNDERPAID", "NEW"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_becomes_unconfirmed_by_one_or_two_transactions() {
    let s = Scene::open().await;
    let (at_once, in_parts) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pay(&at_once.id).await;
    s.expect(&at_once, "UNCONFIRMED").await;
    s.pay_sats(&in_parts.id, 5_000).await;
    s.pay(&in_parts.id).await;
    let payment = s.expect(&in_parts, "UNCONFIRMED").await;
    assert_eq!(payment["btcTransactions"].as_array().unwrap().len(), 2);
    s.expect_notified(&at_once, &["UNCONFIRMED"]).await;
    s.expect_notified(&in_parts, &["UNDERPAID", "UNCONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unconfirmed_falls_back_when_coins_are_taken_back() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let parts = s.pay_with(&bill.id, json!({ "parts": 2 })).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.take_back(&parts[0]).await;
    s.expect(&bill, "UNDERPAID").await;
    s.take_back(&parts[1]).await;
    s.expect(&bill, "NEW").await;
    s.pay(&bill.id).await;
    let whole =
        s.payment(&bill.id).await["btcTransactions"][0]["btcTxId"].as_str().unwrap().to_owned();
    s.take_back(&whole).await;
    s.expect(&bill, "NEW").await;
    s.expect_notified(&bill, &["UNCONFIRMED", "UNDERPAID", "NEW", "UNCONFIRMED", "NEW"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_underpaid_and_unconfirmed_become_confirmed_by_a_block() {
    let s = Scene::open().await;
    let (new, underpaid, unconfirmed) =
        (s.bill("10.00").await, s.bill("10.00").await, s.bill("10.00").await);
    s.pay_sats(&underpaid.id, 5_000).await;
    s.pay(&unconfirmed.id).await;
    s.pay_with(&new.id, json!({ "confirmations": 1 })).await;
    s.expect(&new, "CONFIRMED").await;
    s.expect(&unconfirmed, "CONFIRMED").await;
    s.pay_with(&underpaid.id, json!({ "confirmations": 1 })).await;
    s.expect(&underpaid, "CONFIRMED").await;
    s.expect_notified(&new, &["CONFIRMED"]).await;
    s.expect_notified(&underpaid, &["UNDERPAID", "CONFIRMED"]).await;
    s.expect_notified(&unconfirmed, &["UNCONFIRMED", "CONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unpaid_new_payment_expires_at_its_deadline() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.advance_clock(29 * 60).await;
    s.expect(&bill, "NEW").await;
    s.advance_clock(61).await;
    s.expect(&bill, "EXPIRED").await;
    s.mine(3).await;
    s.expect_anomalies(&bill, &[]).await;
    s.expect_notified(&bill, &["EXPIRED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn underpaid_becomes_expired_when_its_coins_are_gone_at_closing() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let part = s.pay_sats(&bill.id, 5_000).await;
    s.set_faults(json!({ "chainDown": true })).await;
    s.take_back(&part).await;
    s.pass_deadline().await;
    s.expect(&bill, "UNDERPAID").await;
    s.set_faults(json!({ "chainDown": false })).await;
    s.expect(&bill, "EXPIRED").await;
    s.expect_notified(&bill, &["UNDERPAID", "EXPIRED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_and_underpaid_become_invalid_with_too_little_at_closing() {
    let s = Scene::open().await;
    let (new, underpaid) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pay_sats(&underpaid.id, 5_000).await;
    s.set_faults(json!({ "chainDown": true })).await;
    s.pay_sats(&new.id, 5_000).await;
    s.pass_deadline().await;
    s.set_faults(json!({ "chainDown": false })).await;
    s.expect(&new, "INVALID").await;
    s.expect(&underpaid, "INVALID").await;
    s.expect_notified(&new, &["INVALID"]).await;
    s.expect_notified(&underpaid, &["UNDERPAID", "INVALID"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unconfirmed_outlasts_the_deadline_until_coins_are_taken_back() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let txid = s.pay(&bill.id).await;
    s.pass_deadline().await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.take_back(&txid).await;
    s.expect(&bill, "INVALID").await;
    s.expect_notified(&bill, &["UNCONFIRMED", "INVALID"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn confirmed_becomes_invalid_by_a_double_spending_reorg() {
    let s = Scene::open().await;
    let bill = s.confirmed_bill().await;
    let first = s.payment(&bill.id).await["paymentTime"].clone();
    s.double_spend_by_reorg(1).await;
    let payment = s.expect(&bill, "INVALID").await;
    assert_eq!(
        (sats(&payment["paidBtc"]), &payment["paymentTime"]),
        (0, &first),
        "paymentTime stays"
    );
    s.expect_notified(&bill, &["CONFIRMED", "INVALID"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reversed_payment_is_confirmed_when_paid_again_in_time() {
    let s = Scene::open().await;
    let bill = s.confirmed_bill().await;
    s.double_spend_by_reorg(1).await;
    s.expect(&bill, "INVALID").await;
    s.pay(&bill.id).await;
    s.expect(&bill, "INVALID").await;
    s.mine(1).await;
    s.expect(&bill, "CONFIRMED").await;
    s.expect_anomalies(&bill, &[("REVERSED_PAYMENT", "DISMISSED")]).await;
    s.expect_notified(&bill, &["CONFIRMED", "INVALID", "CONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_becomes_confirmed_when_coins_that_were_gone_are_back() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let txid = s.pay(&bill.id).await;
    let taken_back = s.take_back(&txid).await;
    s.pass_deadline().await;
    s.expect(&bill, "EXPIRED").await;
    // The replacement is evicted, so the first transaction counts again, and the gateway
    // rebroadcasts it.
    s.evict(&taken_back).await;
    s.expect(&bill, "EXPIRED").await;
    s.mine(1).await;
    let payment = s.expect(&bill, "CONFIRMED").await;
    assert_eq!(payment["btcTransactions"][0]["btcTxId"], txid);
    s.expect_notified(&bill, &["UNCONFIRMED", "NEW", "EXPIRED", "CONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn overpayment_invalidate_makes_an_overpayment_invalid() {
    let s = Scene::open_with(&[("overpayment", "invalidate")]).await;
    let (bill, direct) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pay_sats(&bill.id, bill.amount_sats + 1_000).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.pay_with(
        &direct.id,
        json!({ "btcAmount": crate::harness::sandbox::btc(direct.amount_sats + 294), "confirmations": 1 }),
    )
    .await;
    s.expect(&bill, "INVALID").await;
    s.expect(&direct, "INVALID").await;
    s.expect_notified(&bill, &["UNCONFIRMED", "INVALID"]).await;
    s.expect_notified(&direct, &["INVALID"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn overpayment_invalidate_applies_to_coins_that_are_back() {
    let s = Scene::open_with(&[("overpayment", "invalidate")]).await;
    let bill = s.bill("10.00").await;
    let txid = s.pay_sats(&bill.id, bill.amount_sats + 1_000).await;
    let taken_back = s.take_back(&txid).await;
    s.pass_deadline().await;
    s.expect(&bill, "EXPIRED").await;
    s.evict(&taken_back).await;
    s.mine(1).await;
    s.expect(&bill, "INVALID").await;
    s.expect_notified(&bill, &["UNCONFIRMED", "NEW", "EXPIRED", "INVALID"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_underpaid_payment_takes_the_state_of_its_coins() {
    let s = Scene::open().await;
    let (confirmed, unconfirmed) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pay_sats(&confirmed.id, 5_000).await;
    s.mine(1).await;
    s.pay_sats(&unconfirmed.id, 5_000).await;
    s.accept(&confirmed);
    s.accept(&unconfirmed);
    let payment = s.expect(&confirmed, "CONFIRMED").await;
    assert_eq!(
        sats(&payment["remainingToPayBtc"]),
        i64::try_from(confirmed.amount_sats).unwrap() - 5_000
    );
    s.expect(&unconfirmed, "UNCONFIRMED").await;
    s.mine(1).await;
    s.expect(&unconfirmed, "CONFIRMED").await;
    s.expect_notified(&confirmed, &["UNDERPAID", "CONFIRMED"]).await;
    s.expect_notified(&unconfirmed, &["UNDERPAID", "UNCONFIRMED", "CONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_accepts_late_coins_of_an_expired_payment() {
    let s = Scene::open().await;
    let (confirmed, unconfirmed) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pass_deadline().await;
    s.pay(&confirmed.id).await;
    s.mine(1).await;
    s.pay(&unconfirmed.id).await;
    s.expect(&confirmed, "EXPIRED").await;
    s.accept(&confirmed);
    s.accept(&unconfirmed);
    s.expect(&confirmed, "CONFIRMED").await;
    s.expect(&unconfirmed, "UNCONFIRMED").await;
    s.expect_notified(&confirmed, &["EXPIRED", "CONFIRMED"]).await;
    s.expect_notified(&unconfirmed, &["EXPIRED", "UNCONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_accepts_the_coins_of_an_invalid_payment() {
    let s = Scene::open().await;
    let (confirmed, unconfirmed) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pay_sats(&confirmed.id, 5_000).await;
    s.mine(1).await;
    s.pay_sats(&unconfirmed.id, 5_000).await;
    s.pass_deadline().await;
    s.expect(&confirmed, "INVALID").await;
    s.accept(&confirmed);
    s.accept(&unconfirmed);
    s.expect(&confirmed, "CONFIRMED").await;
    s.expect(&unconfirmed, "UNCONFIRMED").await;
    s.expect_notified(&confirmed, &["UNDERPAID", "INVALID", "CONFIRMED"]).await;
    s.expect_notified(&unconfirmed, &["UNDERPAID", "INVALID", "UNCONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_cannot_accept_unpaid_or_confirmed_payments() {
    let s = Scene::open().await;
    let (new, confirmed) = (s.bill("10.00").await, s.confirmed_bill().await);
    let program = s.gateway.program();
    program.refusal(&["payments", "accept", &new.id]);
    program.refusal(&["payments", "accept", &confirmed.id]);
    s.pass_deadline().await;
    s.expect(&new, "EXPIRED").await;
    program.refusal(&["payments", "accept", &new.id]);
    s.expect(&new, "EXPIRED").await;
    s.expect(&confirmed, "CONFIRMED").await;
}

/// A payment of 10 dollars that is CONFIRMED without a block, and its transaction.
async fn coffee(s: &Scene) -> (Bill, String) {
    let bill = s.bill("10.00").await;
    let txid = s.pay(&bill.id).await;
    s.advance_clock(60).await;
    s.expect(&bill, "CONFIRMED").await;
    (bill, txid)
}

/// Waits until the shop was told of `changes` changes of the payment. The last one has
/// `conflictSeen`, or has it not.
async fn expect_conflict(s: &Scene, bill: &Bill, changes: usize, seen: bool) {
    let record =
        wait_for("a notification", async || s.shop.records_of(&bill.id).get(changes - 1).cloned())
            .await;
    let now = s.expect(bill, "CONFIRMED").await;
    assert_eq!(record, now, "the notified record is the record");
    assert_eq!(record.get("conflictSeen"), seen.then_some(&json!(true)));
    assert_eq!(record["paidBtc"], record["amountBtc"], "the mempool moves no coins");
    assert_eq!(s.shop.records_of(&bill.id).len(), changes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coffee_that_is_taken_back_stops_until_that_is_over() {
    let s = Scene::open_with(&[("zeroConfUpTo", "20")]).await;
    let (bill, txid) = coffee(&s).await;
    expect_conflict(&s, &bill, 2, false).await;
    let rival = s.take_back(&txid).await;
    expect_conflict(&s, &bill, 3, true).await;
    s.mine_empty(1).await;
    s.advance_clock(60).await;
    expect_conflict(&s, &bill, 3, true).await;
    s.evict(&rival).await;
    expect_conflict(&s, &bill, 4, false).await;
    s.mine(2).await;
    let now = s.expect(&bill, "CONFIRMED").await;
    assert_eq!(now.get("conflictSeen"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_takes_a_coffee_back_ends_the_alarm() {
    let s = Scene::open_with(&[("zeroConfUpTo", "20")]).await;
    let (bill, txid) = coffee(&s).await;
    s.take_back(&txid).await;
    expect_conflict(&s, &bill, 3, true).await;
    s.mine(1).await;
    let record = s.expect(&bill, "INVALID").await;
    assert_eq!(record.get("conflictSeen"), None);
    s.expect_anomalies(&bill, &[("REVERSED_PAYMENT", "OPEN")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fee_bump_of_a_coffee_takes_nothing_back() {
    let s = Scene::open_with(&[("zeroConfUpTo", "20")]).await;
    let (bill, txid) = coffee(&s).await;
    let paying = |sats| json!({ "toCustomer": false, "btcAmount": btc(sats) });
    let bump = s.replace(&txid, paying(bill.amount_sats)).await;
    expect_conflict(&s, &bill, 2, false).await;
    let less = s.replace(&bump, paying(bill.amount_sats / 2)).await;
    expect_conflict(&s, &bill, 3, true).await;
    s.replace(&less, paying(bill.amount_sats)).await;
    expect_conflict(&s, &bill, 4, false).await;
    s.mine(1).await;
    let record = s.expect(&bill, "CONFIRMED").await;
    assert_eq!((record.get("conflictSeen"), &record["paidBtc"]), (None, &record["amountBtc"]));
}
