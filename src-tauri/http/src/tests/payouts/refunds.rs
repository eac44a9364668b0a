//! Payouts requested by a shop as the refund of an anomaly.

use serde_json::{Value, json};
use tillgate_gateway::anomalies::dismiss;
use tillgate_gateway::testing::HALF_AN_HOUR_MS;

use super::offers::ask_once;
use super::{ADDRESS, Desk, PAYOUTS, id};

/// Satoshis of the late payment.
const LATE_SATS: u64 = 50_000;

impl Desk {
    /// An anomaly of late coins, two blocks deep, in a wallet that can pay.
    async fn late_coins(&self) -> String {
        let world = &self.shop.world;
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, 1_000_000);
        world.mine(2).await;
        let payment = world.payment_to_wallet().await;
        world.pass_ms(4 * HALF_AN_HOUR_MS).await;
        world.customer_pays(&payment, LATE_SATS);
        world.mine(2).await;
        let anomalies =
            world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
        anomalies[0].anomaly.id.to_string()
    }

    async fn anomaly(&self, id: &str) -> Value {
        self.get(&format!("/v2/anomalies/{id}")).await.ok()
    }
}

fn refund_of(anomaly: &str) -> Value {
    json!({ "anomalyId": anomaly, "currency": "USD", "address": ADDRESS })
}

fn with(mut refund: Value, field: &str, value: impl Into<Value>) -> Value {
    refund[field] = value.into();
    refund
}

#[tokio::test]
async fn a_refund_by_the_shop_closes_the_anomaly() {
    let desk = Desk::open().await;
    let anomaly = desk.late_coins().await;
    let refund = with(refund_of(&anomaly), "comment", "sent back");
    let asked = desk.post(&format!("{PAYOUTS}?autoApprove=true"), &refund).await.ok();
    assert_eq!((&asked["anomalyId"], &asked["comment"]), (&json!(anomaly), &json!("sent back")));
    assert_eq!((&asked["status"], asked["btcAmount"].as_f64()), (&json!("QUEUED"), Some(0.0005)));
    let shown = desk.anomaly(&anomaly).await;
    assert_eq!(
        (&shown["resolution"], &shown["payoutId"]),
        (&json!("REFUNDING"), &asked["payoutId"])
    );
    desk.shop.world.pass_ms(31_000).await;
    desk.shop.world.pass_sender().await;
    assert_eq!(desk.get_payout(&id(&asked)).await["status"], "SENT");
    assert_eq!(desk.anomaly(&anomaly).await["resolution"], "REFUNDED");
    assert_eq!(
        desk.ask(&refund_of(&anomaly)).await.codes(409),
        ["ANOMALY_NOT_OPEN"],
        "an anomaly is refunded once"
    );
}

#[tokio::test]
async fn a_refunds_amount_may_be_omitted_and_otherwise_must_match() {
    let desk = Desk::open().await;
    let anomaly = desk.late_coins().await;
    let more = desk.ask(&with(refund_of(&anomaly), "btcAmount", "0.0006")).await;
    assert_eq!(more.fields(), ["btcAmount"]);
    assert!(more.text().contains("0.00050000"), "the right amount is named: {}", more.text());
    let other = desk.ask(&with(refund_of(&anomaly), "fiatAmount", "1.00")).await;
    assert_eq!(other.fields(), ["fiatAmount"]);
    let both = with(with(refund_of(&anomaly), "btcAmount", "0.0005"), "fiatAmount", "1.00");
    assert_eq!(desk.ask(&both).await.fields(), ["fiatAmount"]);
    assert_eq!(
        desk.ask(&with(refund_of(&anomaly), "btcAmount", "much")).await.fields(),
        ["btcAmount"]
    );
    assert_eq!(desk.count().await, 0, "nothing was stored");
    let worth = desk
        .get("/v2/estimate-payout/btc-to-fiat?btcAmount=0.0005&currency=USD")
        .await
        .ok()["fiatAmount"]
        .clone();
    let same = with(refund_of(&anomaly), "fiatAmount", worth);
    assert_eq!(desk.ask(&same).await.ok()["btcAmount"].as_f64(), Some(0.0005));
    let same = with(refund_of(&desk.late_coins().await), "btcAmount", "0.0005");
    assert_eq!(desk.ask(&same).await.ok()["btcAmount"].as_f64(), Some(0.0005));
}

#[tokio::test]
async fn a_refund_needs_an_open_anomaly_that_the_key_sees() {
    let desk = Desk::open().await;
    let anomaly = desk.late_coins().await;
    assert_eq!(desk.ask(&refund_of(&"0".repeat(40))).await.codes(404), ["NOT_FOUND"]);
    assert_eq!(desk.ask(&refund_of("no id")).await.codes(404), ["NOT_FOUND"]);
    assert_eq!(desk.ask(&with(refund_of(""), "anomalyId", 7)).await.fields()[0], "anomalyId");
    let own = desk.key("own", "full", true).await;
    let as_own = desk.post_as(&own, PAYOUTS, refund_of(&anomaly).to_string()).await;
    assert_eq!(as_own.codes(404), ["NOT_FOUND"], "the payment belongs to another key");
    let blind = desk.key("blind", "payouts.create", false).await;
    let as_blind = desk.post_as(&blind, PAYOUTS, refund_of(&anomaly).to_string()).await;
    assert_eq!(
        as_blind.codes(403),
        ["PERMISSION_DENIED"],
        "refunding an anomaly needs payments.read"
    );
    dismiss(&desk.shop.world.gateway, anomaly.parse().unwrap(), "goods were sent", "cli:ann")
        .await
        .unwrap();
    assert_eq!(desk.ask(&refund_of(&anomaly)).await.codes(409), ["ANOMALY_NOT_OPEN"]);
    assert_eq!(desk.count().await, 0);
}

#[tokio::test]
async fn an_equal_approved_payout_bars_a_refund_and_is_not_named() {
    let desk = Desk::open().await;
    let anomaly = desk.late_coins().await;
    let alike = json!({ "btcAmount": "0.0005", "currency": "USD", "address": ADDRESS });
    let offered = desk.ask(&alike).await.ok();
    let approved = desk.post(&format!("{PAYOUTS}?autoApprove=true"), &alike).await.ok();
    let refused = desk.ask(&refund_of(&anomaly)).await;
    assert_eq!(refused.codes(409), ["PAYOUT_PAID_BEFORE"]);
    for payout in [&offered, &approved] {
        assert!(
            !refused.text().contains(&id(payout)),
            "the payout may belong to another key: {}",
            refused.text()
        );
    }
    assert_eq!(
        desk.post(&format!("{PAYOUTS}?again=true"), &refund_of(&anomaly)).await.ok()["status"],
        "NEW"
    );
}

#[tokio::test]
async fn an_equal_offer_without_approval_bars_no_refund() {
    let desk = Desk::open().await;
    let anomaly = desk.late_coins().await;
    desk.ask(&json!({ "btcAmount": "0.0005", "currency": "USD", "address": ADDRESS })).await.ok();
    assert_eq!(
        desk.ask(&refund_of(&anomaly)).await.ok()["status"],
        "NEW",
        "the other offer is not approved"
    );
}

#[tokio::test]
async fn a_repeated_refund_request_is_answered_with_the_same_payout() {
    let desk = Desk::open().await;
    let refund = refund_of(&desk.late_coins().await);
    let first = ask_once(&desk, PAYOUTS, "refund-1", &refund).await;
    let again = ask_once(&desk, PAYOUTS, "refund-1", &refund).await;
    assert_eq!(first.ok()["anomalyId"], refund["anomalyId"]);
    assert_eq!(again.body, first.body);
    assert_eq!(desk.count().await, 1);
}
