//! Anomalies of every type: when they are raised, how the chain changes them, their notifications,
//! and the decisions of staff.

use serde_json::{Value, json};

use crate::harness::Scene;
use crate::harness::client::text;
use crate::harness::sandbox::sats;

fn id_of(anomaly: &Value) -> String {
    text(&anomaly["anomalyId"])
}

#[tokio::test(flavor = "multi_thread")]
async fn each_late_transaction_raises_an_anomaly_at_2_confirmations() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.pass_deadline().await;
    s.pay_with(&bill.id, json!({ "parts": 2 })).await;
    s.mine(1).await;
    s.expect_anomalies(&bill, &[]).await;
    s.mine(1).await;
    let anomalies =
        s.expect_anomalies(&bill, &[("LATE_PAYMENT", "OPEN"), ("LATE_PAYMENT", "OPEN")]).await;
    let sum: i64 = anomalies.iter().map(|anomaly| sats(&anomaly["paidBtc"])).sum();
    assert_eq!(u64::try_from(sum).unwrap(), bill.amount_sats);
    for anomaly in &anomalies {
        assert_eq!(anomaly["paymentId"], bill.id);
        assert_eq!(anomaly["merchantTransactionId"], "order-1");
        assert_eq!(anomaly["address"], bill.address);
        assert_eq!(anomaly["currency"], "USD");
        assert_eq!(anomaly["notificationType"], "ANOMALY");
        assert_eq!(anomaly["btcTransactions"].as_array().unwrap().len(), 1);
        assert_eq!(anomaly["environment"], "test");
        let heard = s.shop.wait_for_record(&id_of(anomaly), "the late coins", |_| true).await;
        assert_eq!(&heard, anomaly);
        assert_eq!(&s.get(&format!("/v2/anomalies/{}", id_of(anomaly))).await.ok(), anomaly);
    }
    s.mine(2).await;
    s.expect_anomalies(&bill, &[("LATE_PAYMENT", "OPEN"), ("LATE_PAYMENT", "OPEN")]).await;
    s.expect(&bill, "EXPIRED").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_payment_raises_underpayment_and_late_anomalies() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.pay_sats(&bill.id, 5_000).await;
    s.mine(2).await;
    s.expect_anomalies(&bill, &[]).await;
    s.pass_deadline().await;
    let anomalies = s.expect_anomalies(&bill, &[("UNDERPAYMENT", "OPEN")]).await;
    assert_eq!(sats(&anomalies[0]["paidBtc"]), 5_000);
    s.pay(&bill.id).await;
    s.mine(2).await;
    let anomalies =
        s.expect_anomalies(&bill, &[("UNDERPAYMENT", "OPEN"), ("LATE_PAYMENT", "OPEN")]).await;
    assert_eq!(sats(&anomalies[1]["paidBtc"]), i64::try_from(bill.amount_sats).unwrap() - 5_000);
    for anomaly in anomalies {
        s.shop
            .wait_for_record(&id_of(&anomaly), "the anomaly", |record| {
                record["paidBtc"] == anomaly["paidBtc"]
            })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_after_confirmation_raise_an_extra_payment_anomaly() {
    let s = Scene::open().await;
    let bill = s.confirmed_bill().await;
    let txid = s.send_to(&bill.address, 7_000).await;
    s.mine(2).await;
    let anomalies = s.expect_anomalies(&bill, &[("EXTRA_PAYMENT", "OPEN")]).await;
    assert_eq!(sats(&anomalies[0]["paidBtc"]), 7_000);
    assert_eq!(anomalies[0]["btcTransactions"][0]["btcTxId"], txid);
    let payment = s.expect(&bill, "CONFIRMED").await;
    assert_eq!(sats(&payment["remainingToPayBtc"]), 0, "coins after the confirmation do not count");
    s.shop
        .wait_for_record(&id_of(&anomalies[0]), "the extra coins", |record| *record == anomalies[0])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overpayment_is_confirmed_with_an_anomaly_for_the_surplus() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.pay_sats(&bill.id, bill.amount_sats + 3_000).await;
    s.mine(1).await;
    let payment = s.expect(&bill, "CONFIRMED").await;
    assert_eq!(sats(&payment["remainingToPayBtc"]), -3_000);
    s.expect_anomalies(&bill, &[]).await;
    s.mine(1).await;
    let anomalies = s.expect_anomalies(&bill, &[("OVERPAYMENT", "OPEN")]).await;
    assert_eq!(sats(&anomalies[0]["paidBtc"]), 3_000);
    s.shop
        .wait_for_record(&id_of(&anomalies[0]), "the surplus", |record| *record == anomalies[0])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn overpayment_invalidate_applies_to_a_single_transaction_only() {
    let s = Scene::open_with(&[("overpayment", "invalidate")]).await;
    let (one, several) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pay_sats(&one.id, one.amount_sats + 3_000).await;
    s.pay_sats(&several.id, 5_000).await;
    s.pay_sats(&several.id, several.amount_sats - 1).await;
    s.mine(2).await;
    s.expect(&one, "INVALID").await;
    let anomalies = s.expect_anomalies(&one, &[("OVERPAYMENT", "OPEN")]).await;
    assert_eq!(u64::try_from(sats(&anomalies[0]["paidBtc"])).unwrap(), one.amount_sats + 3_000);
    s.expect(&several, "CONFIRMED").await;
    let anomalies = s.expect_anomalies(&several, &[("OVERPAYMENT", "OPEN")]).await;
    assert_eq!(sats(&anomalies[0]["paidBtc"]), 4_999);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_surplus_below_the_dust_limit_tells_nobody() {
    for rule in ["confirm", "invalidate"] {
        let s = Scene::open_with(&[("overpayment", rule)]).await;
        let (at_once, in_parts) = (s.bill("10.00").await, s.bill("10.00").await);
        s.pay_sats(&at_once.id, at_once.amount_sats + 293).await;
        s.pay_sats(&in_parts.id, in_parts.amount_sats - 100).await;
        // The payment page asks for the dust limit, because less cannot be sent.
        s.pay(&in_parts.id).await;
        s.mine(2).await;
        for (bill, surplus_sats) in [(&at_once, 293), (&in_parts, 194)] {
            let payment = s.expect(bill, "CONFIRMED").await;
            assert_eq!(sats(&payment["remainingToPayBtc"]), -surplus_sats);
            s.expect_anomalies(bill, &[]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reversal_is_notified_at_once_with_the_lost_sum() {
    let s = Scene::open().await;
    let bill = s.confirmed_bill().await;
    s.double_spend_by_reorg(1).await;
    let anomalies = s.expect_anomalies(&bill, &[("REVERSED_PAYMENT", "OPEN")]).await;
    assert_eq!(u64::try_from(sats(&anomalies[0]["paidBtc"])).unwrap(), bill.amount_sats);
    s.shop
        .wait_for_record(&id_of(&anomalies[0]), "the reversal", |record| *record == anomalies[0])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anomaly_of_lost_coins_is_dismissed_under_the_same_id() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.pass_deadline().await;
    s.pay(&bill.id).await;
    s.mine(2).await;
    let raised = s.expect_anomalies(&bill, &[("LATE_PAYMENT", "OPEN")]).await.remove(0);
    s.double_spend_by_reorg(2).await;
    let dismissed = s.expect_anomalies(&bill, &[("LATE_PAYMENT", "DISMISSED")]).await.remove(0);
    assert_eq!(raised["anomalyId"], dismissed["anomalyId"]);
    let heard = |record: &Value| record["resolution"] == "DISMISSED";
    s.shop.wait_for_record(&id_of(&raised), "the dismissal", heard).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_decisions_on_anomalies_are_notified_and_final() {
    let s = Scene::open().await;
    let (accepted, dismissed) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pass_deadline().await;
    s.pay(&accepted.id).await;
    s.pay(&dismissed.id).await;
    s.mine(2).await;
    let anomaly = s.expect_anomalies(&accepted, &[("LATE_PAYMENT", "OPEN")]).await.remove(0);
    s.accept(&accepted);
    s.expect(&accepted, "CONFIRMED").await;
    s.expect_anomalies(&accepted, &[("LATE_PAYMENT", "ACCEPTED")]).await;
    s.shop
        .wait_for_record(&id_of(&anomaly), "the acceptance", |record| {
            record["resolution"] == "ACCEPTED"
        })
        .await;

    let anomaly = s.expect_anomalies(&dismissed, &[("LATE_PAYMENT", "OPEN")]).await.remove(0);
    let program = s.gateway.program();
    program.json(&["anomalies", "dismiss", &id_of(&anomaly), "--reason", "given back in cash"]);
    s.expect_anomalies(&dismissed, &[("LATE_PAYMENT", "DISMISSED")]).await;
    s.shop
        .wait_for_record(&id_of(&anomaly), "the dismissal", |record| {
            record["resolution"] == "DISMISSED"
        })
        .await;
    // The gateway changes no decided anomaly, even if the chain changes.
    s.double_spend_by_reorg(2).await;
    s.expect_anomalies(&dismissed, &[("LATE_PAYMENT", "DISMISSED")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_rate_never_delays_an_anomaly() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.pass_deadline().await;
    s.pay(&bill.id).await;
    s.set_rates(json!({ "USD": null })).await;
    s.mine(2).await;
    let anomalies = s.expect_anomalies(&bill, &[("LATE_PAYMENT", "OPEN")]).await;
    assert!(anomalies[0]["exchangeRate"].is_number());
}

#[tokio::test(flavor = "multi_thread")]
async fn anomalies_are_listed_filtered_and_resent() {
    let s = Scene::open().await;
    let (late, over) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pay_sats(&over.id, over.amount_sats + 3_000).await;
    s.pass_deadline().await;
    s.pay(&late.id).await;
    s.mine(2).await;
    let all = s.get("/v2/anomalies").await.ok();
    assert_eq!(all["paginationInfo"], json!({ "itemsCount": 2, "limit": 50, "offset": 0 }));
    for (query, wanted) in [
        ("anomalyType=LATE_PAYMENT", 1),
        ("merchantTransactionId=order-1", 2),
        ("merchantTransactionId=order-2", 0),
        ("limit=1&offset=1", 1),
        ("offset=2", 0),
        ("end=2020-01-01T00:00:00Z", 0),
        ("begin=2020-01-01T00:00:00Z", 2),
    ] {
        let page = s.get(&format!("/v2/anomalies?{query}")).await.ok();
        assert_eq!(page["items"].as_array().unwrap().len(), wanted, "{query}: {page}");
    }
    let alias = s.get("/v2/payments/anomalies").await;
    assert!(alias.headers.contains_key("deprecation"));
    assert!(alias.headers["link"].to_str().unwrap().contains("rel=\"successor-version\""));
    assert_eq!(alias.ok(), all);

    let anomaly = s.expect_anomalies(&late, &[("LATE_PAYMENT", "OPEN")]).await.remove(0);
    let id = id_of(&anomaly);
    s.shop.wait_for_record(&id, "the first notification", |_| true).await;
    for (path, times) in [(&late.id, 2), (&id, 3)] {
        let answer = s.post_empty(&format!("/v2/anomalies/notify/{path}")).await.ok();
        assert_eq!(answer, json!({ "value": 200 }));
        let what = format!("{times} notifications of the anomaly");
        crate::harness::wait_for(&what, async || {
            (s.shop.records_of(&id).len() == times).then_some(())
        })
        .await;
    }
    let untouched = s.bill("10.00").await;
    let answer = s.post_empty(&format!("/v2/anomalies/notify/{}", untouched.id)).await.ok();
    assert_eq!(answer, json!({ "value": 402 }));
}
