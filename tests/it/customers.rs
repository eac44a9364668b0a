//! Customers who pay in unusual ways: bumped fees, evicted and reorganised transactions, several
//! transactions at once. Also the merchant's rules for tolerance, confirmations and zero-conf.

use serde_json::json;

use crate::harness::Scene;
use crate::harness::client::text;
use crate::harness::sandbox::{btc, sats};

#[tokio::test(flavor = "multi_thread")]
async fn a_fee_bump_after_the_deadline_keeps_the_payment_in_time() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let first = s.pay(&bill.id).await;
    s.pass_deadline().await;
    let bumped = s.replace(&first, json!({ "toCustomer": false })).await;
    assert_ne!(first, bumped);
    let payment = s.expect(&bill, "UNCONFIRMED").await;
    assert_eq!(payment["btcTransactions"].as_array().unwrap().len(), 1);
    assert_eq!(payment["btcTransactions"][0]["btcTxId"], bumped);
    s.mine(1).await;
    s.expect(&bill, "CONFIRMED").await;
    s.mine(2).await;
    s.expect_anomalies(&bill, &[]).await;
    s.shop
        .wait_for_record(&bill.id, "the new transaction", |r| {
            r["btcTransactions"][0]["btcTxId"] == bumped.as_str()
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_surplus_of_a_late_replacement_is_a_late_payment() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let part = s.pay_sats(&bill.id, 5_000).await;
    s.pass_deadline().await;
    s.expect(&bill, "INVALID").await;
    s.replace(&part, json!({ "toCustomer": false, "btcAmount": btc(bill.amount_sats) })).await;
    s.mine(2).await;
    let payment = s.expect(&bill, "INVALID").await;
    assert_eq!(sats(&payment["paidBtc"]), 5_000);
    let anomalies = s.anomalies(&bill.id).await;
    let late = anomalies.iter().find(|anomaly| anomaly["anomalyType"] == "LATE_PAYMENT").unwrap();
    assert_eq!(sats(&late["paidBtc"]), i64::try_from(bill.amount_sats).unwrap() - 5_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evicted_transaction_still_counts_and_is_rebroadcast() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let txid = s.pay(&bill.id).await;
    s.evict(&txid).await;
    s.expect(&bill, "UNCONFIRMED").await;
    // The sandbox refuses the evicted transaction until the next block. Then the gateway's
    // rebroadcast is accepted.
    s.mine_empty(1).await;
    let back = async || {
        s.sandbox_state().await["mempool"].as_array()?.contains(&json!(txid)).then_some(())
    };
    crate::harness::wait_for("the transaction in the mempool again", back).await;
    s.mine(1).await;
    s.expect(&bill, "CONFIRMED").await;
    s.expect_notified(&bill, &["UNCONFIRMED", "CONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_reorganised_out_and_back_in_stays_confirmed() {
    let s = Scene::open().await;
    let bill = s.confirmed_bill().await;
    s.reorg(1).await;
    let payment = s.expect(&bill, "CONFIRMED").await;
    assert_eq!(payment["btcTransactions"][0]["confirmations"], 0);
    s.mine(2).await;
    let payment = s.expect(&bill, "CONFIRMED").await;
    assert_eq!(payment["btcTransactions"][0]["confirmations"], 2);
    s.expect_anomalies(&bill, &[]).await;
    s.expect_notified(&bill, &["CONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reorged_unconfirmed_payment_waits_for_all_confirmations() {
    let s = Scene::open().await;
    let bill = s.bill("2000.00").await;
    s.pay(&bill.id).await;
    s.mine(2).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.reorg(2).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.mine(2).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.mine(1).await;
    s.expect(&bill, "CONFIRMED").await;
    s.expect_notified(&bill, &["UNCONFIRMED", "CONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_price_decides_the_required_confirmations() {
    let s = Scene::open().await;
    for (price, confirmations) in [("1000.00", 1), ("1000.01", 3), ("10000.00", 3), ("10000.01", 6)]
    {
        let bill = s.bill(price).await;
        s.pay(&bill.id).await;
        for _ in 0..confirmations {
            s.expect(&bill, "UNCONFIRMED").await;
            s.mine(1).await;
        }
        s.expect(&bill, "CONFIRMED").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_keeps_the_confirmation_rule_of_its_creation() {
    let s = Scene::open().await;
    let before = s.bill("10.00").await;
    s.gateway.program().set("confirmationTiers", "*:2");
    let after = s.bill("10.00").await;
    s.pay(&before.id).await;
    s.pay(&after.id).await;
    s.mine(1).await;
    s.expect(&before, "CONFIRMED").await;
    s.expect(&after, "UNCONFIRMED").await;
    s.mine(1).await;
    s.expect(&after, "CONFIRMED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_conf_confirms_payments_up_to_its_limit() {
    let s = Scene::open_with(&[("zeroConfUpTo", "50")]).await;
    let (small, at_bound, above) =
        (s.bill("10.00").await, s.bill("50.00").await, s.bill("50.01").await);
    for bill in [&small, &at_bound, &above] {
        s.pay(&bill.id).await;
    }
    s.advance_clock(4).await;
    s.expect(&small, "CONFIRMED").await;
    s.expect(&at_bound, "CONFIRMED").await;
    s.expect(&above, "UNCONFIRMED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_conf_does_not_apply_to_a_low_fee_rate() {
    let s = Scene::open_with(&[("zeroConfUpTo", "50")]).await;
    let bill = s.bill("10.00").await;
    s.pay_with(&bill.id, json!({ "feeRate": 1 })).await;
    s.advance_clock(60).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.mine(1).await;
    s.expect(&bill, "CONFIRMED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_conf_quiet_time_restarts_with_a_conflict() {
    let s = Scene::open_with(&[("zeroConfUpTo", "50"), ("zeroConfQuietSeconds", "600")]).await;
    let bill = s.bill("10.00").await;
    let first = s.pay(&bill.id).await;
    s.advance_clock(500).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.replace(&first, json!({ "toCustomer": false })).await;
    s.advance_clock(500).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.advance_clock(101).await;
    s.expect(&bill, "CONFIRMED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_underpayment_within_the_tolerance_is_confirmed() {
    let s = Scene::open_with(&[("tolerancePerMille", "10")]).await;
    let (enough, short) = (s.bill("10.00").await, s.bill("10.00").await);
    let least = enough.amount_sats - enough.amount_sats * 10 / 1_000;
    s.pay_sats(&enough.id, least).await;
    s.pay_sats(&short.id, least - 1).await;
    s.mine(1).await;
    let payment = s.expect(&enough, "CONFIRMED").await;
    assert_eq!(
        u64::try_from(sats(&payment["remainingToPayBtc"])).unwrap(),
        enough.amount_sats - least
    );
    s.expect(&short, "UNDERPAID").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_concurrent_payments_are_not_mixed_up() {
    let s = Scene::open().await;
    let (one, two) = (s.bill("10.00").await, s.bill("20.00").await);
    assert_ne!(one.address, two.address);
    let (first, second) = tokio::join!(s.pay(&one.id), s.pay(&two.id));
    for (bill, txid) in [(&one, &first), (&two, &second)] {
        let payment = s.expect(bill, "UNCONFIRMED").await;
        assert_eq!(text(&payment["btcTransactions"][0]["btcTxId"]), *txid);
    }
    s.mine(1).await;
    s.expect(&one, "CONFIRMED").await;
    s.expect(&two, "CONFIRMED").await;
    s.expect_notified(&one, &["UNCONFIRMED", "CONFIRMED"]).await;
    s.expect_notified(&two, &["UNCONFIRMED", "CONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_in_time_or_grace_count_after_a_backend_outage() {
    let s = Scene::open().await;
    let (early, graced, late) =
        (s.bill("10.00").await, s.bill("10.00").await, s.bill("10.00").await);
    s.set_faults(json!({ "chainDown": true })).await;
    s.advance_clock(20 * 60).await;
    s.pay(&early.id).await;
    // 80 minutes after the creation: past the deadline, but within the hour of offline grace.
    s.advance_clock(60 * 60).await;
    s.pay(&graced.id).await;
    s.expect(&early, "NEW").await;
    s.advance_clock(60 * 60).await;
    s.pay(&late.id).await;
    s.set_faults(json!({ "chainDown": false })).await;
    s.expect(&early, "UNCONFIRMED").await;
    s.expect(&graced, "UNCONFIRMED").await;
    s.expect(&late, "EXPIRED").await;
    s.mine(2).await;
    s.expect(&early, "CONFIRMED").await;
    s.expect(&graced, "CONFIRMED").await;
    s.expect_anomalies(&late, &[("LATE_PAYMENT", "OPEN")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_hides_the_address_at_the_deadline_in_any_state() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.set_faults(json!({ "chainDown": true })).await;
    assert!(s.get(&format!("/pay/{}", bill.id)).await.text().contains(&bill.address));
    s.pass_deadline().await;
    s.expect(&bill, "NEW").await;
    assert!(!s.get(&format!("/pay/{}", bill.id)).await.text().contains(&bill.address));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_ten_minutes_without_chain_new_payments_are_refused() {
    let s = Scene::open().await;
    s.set_faults(json!({ "chainDown": true })).await;
    s.advance_clock(9 * 60).await;
    s.bill("10.00").await;
    s.advance_clock(2 * 60).await;
    let request = crate::harness::client::payment_request("10.00", s.shop.url());
    let field_errors = s.post("/v2/payments/new", &request).await.field_errors(503);
    assert_eq!(field_errors, [("CHAIN_NOT_READY".to_owned(), None)]);
    s.set_faults(json!({ "chainDown": false })).await;
    s.bill("10.00").await;
}
