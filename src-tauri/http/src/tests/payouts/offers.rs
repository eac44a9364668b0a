//! Amounts and fees of offers.

use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::json;
use tillgate_domain::time::Timestamp;
use tillgate_gateway::testing::SHOP;

use super::super::shop::Answer;
use super::{ADDRESS, Desk, PAYOUTS, id, wish, wish_with};

#[tokio::test]
async fn an_offer_has_exact_amounts_and_get_returns_the_same_record() {
    let desk = Desk::open().await;
    let mut asked = wish_with("comment", "Invoice 17");
    asked["other"] = json!(1);
    let answer = desk.ask(&asked).await;
    let offer = answer.ok();
    assert_eq!(desk.get(&format!("{PAYOUTS}/{}", id(&offer))).await.text(), answer.text());
    // 141 vB at the sandbox's estimate of 2 sat/vB, and a rate of 65,000.
    for (field, text) in [
        ("btcAmount", "0.00100000"),
        ("fiatAmount", "65.00"),
        ("networkFeeBtc", "0.00000282"),
        ("fiatTotalAmount", "65.19"),
        ("exchangeRate", "65000.0000"),
    ] {
        assert_eq!(offer[field].to_string(), text, "{field}");
    }
    let gateway = &desk.shop.world.gateway;
    for (field, text) in [
        ("address", ADDRESS),
        ("currency", "USD"),
        ("comment", "Invoice 17"),
        ("notificationUrl", SHOP),
        ("status", "NEW"),
        ("merchantName", "Merchant"),
        ("merchantId", &gateway.installation.merchant_id.to_string()),
        ("notificationType", "PAYOUT"),
        ("environment", "test"),
    ] {
        assert_eq!(offer[field], text, "{field}");
    }
    let time = |field: &str| Timestamp::parse_iso(offer[field].as_str().unwrap()).unwrap();
    assert_eq!(time("expirationTime"), time("time").plus_ms(600_000));
    assert_eq!(offer["currentTime"].as_str().unwrap().len(), "2026-01-12T12:06:20.123Z".len());
    for absent in
        ["approvalTime", "approvedBy", "sentTime", "btcTxId", "failureReason", "anomalyId"]
    {
        assert!(offer.get(absent).is_none(), "{absent}");
    }
    assert_eq!(
        desk.shop.world.notified(&id(&offer).parse().unwrap()).len(),
        0,
        "an offer is not notified"
    );
}

#[tokio::test]
async fn a_fiat_amount_is_echoed_and_its_btc_amount_rounded_down() {
    let desk = Desk::open().await;
    let mut asked = wish_with("fiatAmount", json!(100.01));
    asked["btcAmount"] = json!(null);
    let offer = desk.ask(&asked).await.ok();
    assert_eq!(offer["fiatAmount"].to_string(), "100.01");
    assert_eq!(offer["btcAmount"].to_string(), "0.00153861", "100.01 / 65,000 = 0.001538615…");
}

#[tokio::test]
async fn an_offer_beyond_the_balance_is_marked_and_not_refused() {
    let desk = Desk::open().await;
    let world = &desk.shop.world;
    let poor = desk.ask(&wish()).await.ok();
    assert_eq!(poor["balanceShort"], true);
    let payment = world.payment().await;
    world.pay(&payment, 200_000).await;
    world.mine(1).await;
    assert_eq!(desk.ask(&wish()).await.ok()["balanceShort"], true, "one confirmation is too few");
    world.mine(1).await;
    let rich = desk.ask(&wish()).await.ok();
    assert!(rich.get("balanceShort").is_none(), "{rich}");
    // An approved payout that is not built yet reserves its coins.
    desk.approve(&id(&rich)).await.ok();
    assert_eq!(desk.ask(&wish()).await.ok()["balanceShort"], true);
    assert_eq!(desk.get_payout(&id(&poor)).await["balanceShort"], true, "an offer keeps its mark");
}

#[tokio::test]
async fn fees_follow_the_estimate_between_floor_and_cap() {
    let desk = Desk::open().await;
    let sandbox = desk.shop.world.sandbox();
    let fee = async || desk.ask(&wish()).await.ok()["networkFeeBtc"].to_string();
    assert_eq!(fee().await, "0.00000282");
    desk.set("feeFloorSatVb", "3").await;
    assert_eq!(fee().await, "0.00000423");
    desk.set("feeFloorSatVb", "1").await;
    desk.set("feeCapSatVb", "1").await;
    assert_eq!(fee().await, "0.00000141", "the cap replaces a higher estimate");
    desk.set("feeCapSatVb", "200").await;
    let down = tillgate_sandbox::FaultsPatch { chain_down: Some(true), ..Default::default() };
    sandbox.set_faults(down).unwrap();
    assert_eq!(fee().await, "0.00000282", "without a backend the last known estimate counts");
}

pub async fn ask_once(desk: &Desk, path: &str, once: &str, body: &serde_json::Value) -> Answer {
    let request = desk.shop.request(Method::POST, path).header(AUTHORIZATION, &desk.key);
    let request = request.header(CONTENT_TYPE, "application/json").header("Idempotency-Key", once);
    desk.shop.send(request.body(body.to_string().into()).unwrap()).await
}

#[tokio::test]
async fn simultaneous_equal_requests_make_one_payout() {
    let desk = std::sync::Arc::new(Desk::open().await);
    let mut twins = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let desk = std::sync::Arc::clone(&desk);
        twins.spawn(async move {
            ask_once(&desk, "/v2/payouts?autoApprove=1", "k", &wish()).await.text()
        });
    }
    let answers = twins.join_all().await;
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(desk.count().await, 1);
    for (path, body) in
        [(PAYOUTS, wish()), ("/v2/payouts?autoApprove=1", wish_with("comment", "other"))]
    {
        assert_eq!(ask_once(&desk, path, "k", &body).await.codes(409), ["IDEMPOTENCY_KEY_REUSED"]);
    }
    // A failed request frees its key. Payments and payouts do not share idempotency keys.
    ask_once(&desk, PAYOUTS, "l", &wish_with("btcAmount", "0")).await.codes(400);
    ask_once(&desk, PAYOUTS, "l", &wish()).await.ok();
    ask_once(&desk, super::super::shop::NEW, "k", &super::super::shop::order()).await.ok();
    assert_eq!(
        ask_once(&desk, PAYOUTS, &"k".repeat(256), &wish()).await.fields(),
        ["Idempotency-Key"]
    );
}

#[tokio::test]
async fn an_estimate_equals_the_offer_and_stores_nothing() {
    let desk = Desk::open().await;
    let offer = desk.ask(&wish()).await.ok();
    let estimate =
        desk.get("/v2/estimate-payout/btc-to-fiat?btcAmount=0.001&currency=USD").await.ok();
    for field in
        ["btcAmount", "currency", "fiatAmount", "fiatTotalAmount", "networkFeeBtc", "exchangeRate"]
    {
        assert_eq!(estimate[field].to_string(), offer[field].to_string(), "{field}");
    }
    assert_eq!(estimate.as_object().unwrap().len(), 6);
    let fiat = desk.get("/v2/estimate-payout/fiat-to-btc?fiatAmount=65&currency=USD").await.ok();
    assert_eq!(fiat.to_string(), estimate.to_string());
    // A Taproot output is 12 bytes larger.
    let taproot = "bcrt1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqc8gma6";
    let path =
        format!("/v2/estimate-payout/btc-to-fiat?btcAmount=0.001&currency=USD&address={taproot}");
    assert_eq!(desk.get(&path).await.ok()["networkFeeBtc"].to_string(), "0.00000306");
    assert_eq!(desk.count().await, 1);
    for (query, fields) in [
        ("btc-to-fiat", vec!["currency", "btcAmount"]),
        ("btc-to-fiat?btcAmount=x&currency=USD", vec!["btcAmount"]),
        ("btc-to-fiat?btcAmount=1&btcAmount=2&currency=USD", vec!["btcAmount"]),
        ("fiat-to-btc?fiatAmount=0.001&currency=USD&address=x", vec!["fiatAmount", "address"]),
        ("fiat-to-btc?fiatAmount=1&currency=XXX", vec!["currency"]),
    ] {
        let answer = desk.get(&format!("/v2/estimate-payout/{query}")).await;
        assert_eq!(answer.fields(), fields, "{query}");
    }
}
