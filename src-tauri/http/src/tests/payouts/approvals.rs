//! Approvals: the effect, the expiry of the offer, and the daily limit.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tillgate_domain::time::Timestamp;
use tillgate_gateway::anomalies::{RefundRequest, refund};
use tillgate_gateway::notifications::outbox;
use tillgate_gateway::payouts::expire_due;
use tillgate_gateway::testing::HALF_AN_HOUR_MS;

use super::{Desk, PAYOUTS, id, wish, wish_with};

#[tokio::test]
async fn an_offer_is_approved_once() {
    let desk = Desk::open().await;
    let offer = desk.ask(&wish()).await.ok();
    let approved = desk.approve(&id(&offer)).await;
    let record = approved.ok();
    assert_eq!((&record["status"], &record["approvedBy"]), (&json!("QUEUED"), &json!("desk")));
    assert!(record["approvalTime"].is_string());
    assert!(record["currentTime"].as_str() > offer["currentTime"].as_str());
    let again = desk.approve(&id(&offer)).await;
    assert_eq!(again.codes(409), ["PAYOUT_NOT_PENDING"]);
    assert_eq!(
        desk.get(&format!("{PAYOUTS}/{}", id(&offer))).await.text(),
        approved.text(),
        "nothing was changed"
    );
    assert_eq!(
        desk.shop.world.notified(&id(&offer).parse().unwrap()).len(),
        0,
        "QUEUED is not notified"
    );
}

#[tokio::test]
async fn simultaneous_approvals_of_one_offer_take_effect_once() {
    let desk = Arc::new(Desk::open().await);
    let offer = desk.offer("0.001").await;
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (desk, offer) = (Arc::clone(&desk), offer.clone());
        all.spawn(async move { desk.approve(&offer).await.status.as_u16() });
    }
    let mut statuses = all.join_all().await;
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (200, &[409; 15][..]));
}

#[tokio::test]
async fn an_approval_wakes_the_sender() {
    use std::pin::pin;
    use std::task::{Context, Waker};
    let desk = Desk::open().await;
    let is_woken = || {
        let notified = pin!(desk.shop.world.gateway.sending.wake.notified());
        notified.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    };
    // The new wallet may have woken the sender.
    is_woken();
    let offer = desk.offer("0.001").await;
    assert!(!is_woken(), "an offer does not wake the sender");
    desk.approve(&offer).await.ok();
    assert!(is_woken());
    desk.post("/v2/payouts?autoApprove", &wish()).await.ok();
    assert!(is_woken());
    desk.approve(&offer).await.codes(409);
    assert!(!is_woken());
}

#[tokio::test]
async fn an_offer_can_be_approved_only_before_it_expires() {
    let desk = Desk::open().await;
    let (in_time, late, later) =
        (desk.offer("0.001").await, desk.offer("0.001").await, desk.offer("0.001").await);
    let ends_at = desk.get_payout(&late).await["expirationTime"].as_str().unwrap().to_owned();
    let left = Timestamp::parse_iso(&ends_at).unwrap().ms() - desk.shop.world.now_ms();
    desk.shop.world.pass_ms((left / 1_000 - 30) * 1_000).await;
    desk.approve(&in_time).await.ok();
    // `expirationTime` has no fractions of a second, so the clock moves well beyond it.
    desk.shop.world.pass_ms(32_000).await;
    let refused = desk.approve(&late).await;
    assert_eq!(refused.codes(409), ["PAYOUT_OFFER_EXPIRED"]);
    assert!(
        refused.text().contains("with a new Idempotency-Key"),
        "the old key gets the first answer again"
    );
    assert_eq!(desk.get_payout(&late).await["status"], "NEW", "the refusal changes nothing");
    outbox::commit(&desk.shop.world.gateway, None, |it| expire_due(it, it.now)).await.unwrap();
    for (offer, status) in [(&in_time, "QUEUED"), (&late, "EXPIRED"), (&later, "EXPIRED")] {
        assert_eq!(desk.get_payout(offer).await["status"], status);
    }
    assert_eq!(desk.approve(&late).await.codes(409), ["PAYOUT_OFFER_EXPIRED"]);
    assert_eq!(
        desk.shop.world.notified(&late.parse().unwrap()).len(),
        0,
        "EXPIRED is not notified"
    );
}

#[tokio::test]
async fn auto_approve_may_be_true_or_1_or_have_no_value() {
    let desk = Desk::open().await;
    for (query, status) in [
        ("?autoApprove=true", "QUEUED"),
        ("?autoApprove=1", "QUEUED"),
        ("?autoApprove=", "QUEUED"),
        ("?autoApprove", "QUEUED"),
        ("?autoApprove=false", "NEW"),
        ("?autoApprove=0", "NEW"),
        ("", "NEW"),
    ] {
        let record = desk.post(&format!("{PAYOUTS}{query}"), &wish()).await.ok();
        assert_eq!(record["status"], status, "{query}");
        assert_eq!(record.get("approvedBy").is_some(), status == "QUEUED", "{query}");
        assert_eq!(record.to_string(), desk.get_payout(&id(&record)).await.to_string(), "{query}");
    }
    for query in ["?autoApprove=yes", "?autoApprove=TRUE", "?autoApprove=1&autoApprove=1"] {
        let answer = desk.post(&format!("{PAYOUTS}{query}"), &wish_with("btcAmount", "x")).await;
        assert_eq!(answer.fields(), ["autoApprove", "btcAmount"], "{query}");
    }
}

#[tokio::test]
async fn fifty_simultaneous_approvals_never_exceed_the_daily_limit() {
    let desk = Arc::new(Desk::open().await);
    desk.set("dailyLimitBtc", "0.0175").await;
    let mut offers = Vec::new();
    for _ in 0..50 {
        offers.push(desk.offer("0.001").await);
    }
    let mut all = tokio::task::JoinSet::new();
    for (number, offer) in offers.into_iter().enumerate() {
        let desk = Arc::clone(&desk);
        all.spawn(async move {
            let answer = match number % 2 {
                0 => desk.approve(&offer).await,
                _ => desk.post("/v2/payouts?autoApprove=1", &wish()).await,
            };
            match answer.status.as_u16() {
                200 => true,
                _ => {
                    assert_eq!(answer.codes(400), ["PAYOUT_ABOVE_DAILY_LIMIT"]);
                    false
                }
            }
        });
    }
    let approved = all.join_all().await.into_iter().filter(|is_approved| *is_approved).count();
    assert_eq!(approved, 17);
    let limit = desk.get("/v2/payouts/limit").await.ok();
    assert_eq!(
        (limit["used"].to_string(), limit["available"].to_string()),
        ("0.01700000".into(), "0.00050000".into())
    );
    let queued = desk.get(&format!("{PAYOUTS}?status=QUEUED")).await.ok();
    assert_eq!(queued["paginationInfo"]["itemsCount"], 17);
}

#[tokio::test]
async fn an_approval_above_the_daily_limit_names_no_field() {
    let desk = Desk::open().await;
    let (offer, other) = (desk.offer("0.6").await, desk.offer("0.6").await);
    desk.approve(&other).await.ok();
    let refused = desk.approve(&offer).await;
    assert_eq!(refused.codes(400), ["PAYOUT_ABOVE_DAILY_LIMIT"]);
    assert!(refused.json()[0].get("field").is_none());
    assert_eq!(desk.get_payout(&offer).await["status"], "NEW");
    desk.set("minPayoutBtc", "0.7").await;
    assert_eq!(
        desk.approve(&offer).await.codes(400),
        ["PAYOUT_ABOVE_DAILY_LIMIT", "PAYOUT_BELOW_MINIMUM"]
    );
    desk.set("minPayoutBtc", "0.0001").await;
    desk.set("dailyLimitBtc", "1.2").await;
    desk.approve(&offer).await.ok();
    let limit: Value = desk.get("/v2/payouts/limit").await.ok();
    assert_eq!(limit["available"].to_string(), "0.00000000", "the limit itself may be used up");
    desk.set("dailyLimitBtc", "0").await;
    assert_eq!(
        desk.get("/v2/payouts/limit").await.ok()["available"].to_string(),
        "0.00000000",
        "never negative"
    );
}

#[tokio::test]
async fn the_daily_limit_resets_at_midnight_utc() {
    let desk = Desk::open().await;
    desk.set("offerValidityMinutes", "1440").await;
    let (first, second) = (desk.offer("0.7").await, desk.offer("0.7").await);
    desk.approve(&first).await.ok();
    let over = desk.ask(&wish_with("btcAmount", "0.7")).await;
    assert_eq!(
        (over.codes(400), over.fields()),
        (vec!["PAYOUT_ABOVE_DAILY_LIMIT".into()], vec!["btcAmount".into()])
    );
    desk.approve(&second).await.codes(400);
    desk.pass_midnight().await;
    let limit = desk.get("/v2/payouts/limit").await.ok();
    assert_eq!(
        (limit["used"].to_string(), limit["available"].to_string()),
        ("0.00000000".into(), "1.00000000".into())
    );
    desk.approve(&second).await.ok();
    assert_eq!(desk.get("/v2/payouts/limit").await.ok()["used"].to_string(), "0.70000000");
}

#[tokio::test]
async fn an_approval_needs_no_rate() {
    let desk = Desk::open().await;
    let offer = desk.offer("0.001").await;
    desk.shop.world.sandbox().set_rates(&BTreeMap::from([("USD".to_owned(), None)])).unwrap();
    desk.shop.world.gateway.refresh_rates().await.unwrap();
    assert_eq!(desk.ask(&wish()).await.codes(503), ["RATE_UNAVAILABLE"]);
    assert_eq!(desk.get("/v2/payouts/limit?currency=USD").await.codes(503), ["RATE_UNAVAILABLE"]);
    assert_eq!(
        desk.ask(&wish_with("address", "")).await.fields(),
        ["address"],
        "the client's own errors come first"
    );
    desk.approve(&offer).await.ok();
}

#[tokio::test]
async fn a_refund_is_approved_like_a_payout_while_its_coins_exist() {
    let desk = Desk::open().await;
    let world = &desk.shop.world;
    let payment = world.payment().await;
    world.pass_ms(4 * HALF_AN_HOUR_MS).await;
    world.pay(&payment, 50_000).await;
    world.mine(2).await;
    let anomaly = desk.shop.get("/v2/anomalies").await.ok()["items"][0]["anomalyId"]
        .as_str()
        .unwrap()
        .to_owned();
    let request = RefundRequest::of_staff(anomaly.parse().unwrap(), super::ADDRESS, "cli:ann");
    let payout = refund(&world.gateway, request).await.unwrap().payout_id();
    let shown = desk.shop.get(&format!("/v2/anomalies/{anomaly}")).await.ok();
    assert_eq!(
        (&shown["resolution"], &shown["payoutId"]),
        (&json!("REFUNDING"), &json!(payout.to_string()))
    );
    assert_eq!(desk.get_payout(&payout.to_string()).await["anomalyId"], json!(anomaly));
    let own = desk.key("own", "full", true).await;
    desk.approve_as(&own, &payout.to_string()).await.codes(404);
    // The block of the coins is replaced by two without them.
    world.sandbox().reorg(2, false, world.now_ms()).unwrap();
    world.look().await;
    desk.set("dailyLimitBtc", "0").await;
    let refused = desk.approve(&payout.to_string()).await;
    assert_eq!(refused.codes(409), ["REFUND_COINS_GONE"], "the coins are checked before the limit");
    assert!(
        refused.text().contains("once the offer has lapsed the anomaly is open again"),
        "{}",
        refused.text()
    );
    assert_eq!(desk.get_payout(&payout.to_string()).await["status"], "NEW");
}
