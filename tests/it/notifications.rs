//! Notifications to shops that misbehave: their retries, order, queues, signatures and storage.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};

use crate::harness::client::{payment_request, text};
use crate::harness::shop::RawShop;
use crate::harness::signature::{bpg_signature_is_by, webhook_signature_is_by};
use crate::harness::{Behaviour, Scene, wait_for};

/// The stored deliveries, as the command line lists them.
fn deliveries(s: &Scene) -> Vec<Value> {
    s.gateway.program().json(&["deliveries", "list"])["items"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_notification_is_retried_under_the_same_id() {
    let s = Scene::open().await;
    s.gateway.program().json(&["hmac-key", "rotate"]);
    let bill = s.bill("10.00").await;
    s.shop.behave(Behaviour::Status(500));
    s.pay(&bill.id).await;
    wait_for("the first attempt", async || (s.shop.received().len() == 1).then_some(())).await;
    wait_for("the failed delivery", async || deliveries(&s).first().cloned()).await;
    // 10 s, 30 s and 1 min, each with a random tenth.
    for (attempts, seconds) in [(2, 12), (3, 34), (4, 67)] {
        s.advance_clock(seconds).await;
        let what = format!("attempt {attempts}");
        wait_for(&what, async || (s.shop.received().len() == attempts).then_some(())).await;
        let wanted = format!("{attempts} stored deliveries");
        wait_for(&wanted, async || (deliveries(&s).len() == attempts).then_some(())).await;
    }
    s.shop.behave(Behaviour::Accept);
    s.advance_clock(6 * 60).await;
    wait_for("the accepted attempt", async || {
        s.shop.received().iter().any(|one| one.accepted).then_some(())
    })
    .await;
    let received = s.shop.received();
    assert_eq!(received.len(), 5);
    for one in &received {
        assert_eq!(one.body, received[0].body, "each attempt sends the same body");
        assert_eq!(one.header("webhook-id"), received[0].header("webhook-id"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_notification_supersedes_a_failed_older_one() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.shop.behave(Behaviour::Status(503));
    s.pay(&bill.id).await;
    wait_for("the first attempt", async || (s.shop.received().len() == 1).then_some(())).await;
    s.shop.behave(Behaviour::Accept);
    s.mine(1).await;
    s.expect_notified(&bill, &["UNCONFIRMED", "CONFIRMED"]).await;
    s.advance_clock(3_600).await;
    s.bill("11.00").await;
    assert_eq!(
        s.shop.records_of(&bill.id).len(),
        2,
        "the older notification is superseded, not retried"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let s = Scene::open().await;
    let elsewhere = crate::harness::Shop::open().await;
    let bill = s.bill("10.00").await;
    s.shop.behave(Behaviour::Redirect(format!("{}/stolen", elsewhere.url())));
    s.pay(&bill.id).await;
    let delivery = wait_for("the stored delivery", async || deliveries(&s).first().cloned()).await;
    assert_eq!(delivery["statusCode"], 307, "{delivery}");
    assert!(elsewhere.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closing_server_is_retried_and_an_endless_one_is_cut_off() {
    let s = Scene::open().await;
    let (closing, endless) = (RawShop::closing().await, RawShop::endless().await);
    for raw in [&closing, &endless] {
        let payment = s.new_payment("10.00", raw.url()).await;
        s.pay(&text(&payment["paymentId"])).await;
    }
    wait_for("both deliveries stored", async || (deliveries(&s).len() == 2).then_some(())).await;
    assert_eq!((closing.calls(), endless.calls()), (1, 1));
    s.advance_clock(12).await;
    wait_for("the second call to the server that closes", async || {
        (closing.calls() == 2).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_delays_no_other() {
    let s = Scene::open().await;
    let hanging = crate::harness::Shop::open().await;
    hanging.behave(Behaviour::Hang);
    for _ in 0..20 {
        let payment = s.new_payment("10.00", hanging.url()).await;
        s.pay(&text(&payment["paymentId"])).await;
    }
    wait_for("eight attempts without a response", async || {
        (hanging.received().len() == 8).then_some(())
    })
    .await;
    let bill = s.bill("10.00").await;
    s.pay(&bill.id).await;
    s.expect_notified(&bill, &["UNCONFIRMED"]).await;
    assert_eq!(hanging.received().len(), 8, "never more than eight at once to one server");
    // After ten seconds without a response the attempt ends, and is stored as failed.
    let given_up =
        async || deliveries(&s).into_iter().find(|delivery| delivery["statusCode"].is_null());
    let delivery = wait_for("an attempt that timed out", given_up).await;
    assert!(delivery["error"].is_string(), "{delivery}");
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_end_after_three_days_and_a_resend_starts_anew() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.shop.behave(Behaviour::Status(500));
    s.pay(&bill.id).await;
    wait_for("the first attempt", async || (deliveries(&s).len() == 1).then_some(())).await;
    s.advance_clock(3 * 24 * 3_600).await;
    wait_for("the last attempt, at the end of the three days", async || {
        (deliveries(&s).len() == 2).then_some(())
    })
    .await;
    s.advance_clock(24 * 3_600).await;
    s.shop.behave(Behaviour::Accept);
    let answer = s.post_empty(&format!("/v2/payments/notify/{}", bill.id)).await.ok();
    assert_eq!(answer, json!({ "value": 200 }));
    wait_for("the resend", async || s.shop.received().iter().any(|one| one.accepted).then_some(()))
        .await;
    assert_eq!(s.shop.received().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resend_carries_the_current_record_under_a_new_id() {
    let s = Scene::open().await;
    s.gateway.program().json(&["hmac-key", "rotate"]);
    let bill = s.bill("10.00").await;
    let path = format!("/v2/payments/notify/{}", bill.id);
    assert_eq!(s.post_empty(&path).await.ok(), json!({ "value": 402 }), "nothing to notify yet");
    s.pay(&bill.id).await;
    s.expect_notified(&bill, &["UNCONFIRMED"]).await;
    assert_eq!(s.post_empty(&path).await.ok(), json!({ "value": 200 }));
    let deprecated = s.send(s.request(Method::GET, &path).body(Body::empty()).unwrap()).await;
    assert!(deprecated.headers.contains_key("deprecation"));
    assert_eq!(deprecated.ok(), json!({ "value": 200 }));
    wait_for("both resends", async || (s.shop.received().len() == 3).then_some(())).await;
    let received = s.shop.received();
    assert_ne!(received[0].header("webhook-id"), received[1].header("webhook-id"));
    assert_eq!(received[2].json(), s.payment(&bill.id).await);
    assert!(text(&received[0].json()["currentTime"]) < text(&received[1].json()["currentTime"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_hmac_key_signs_beside_the_old_one_for_a_day() {
    let s = Scene::open().await;
    let rotate = || text(&s.gateway.program().json(&["hmac-key", "rotate"])["key"]);
    let bill = s.bill("10.00").await;
    s.pay_sats(&bill.id, 5_000).await;
    s.expect_notified(&bill, &["UNDERPAID"]).await;
    let unsigned = s.shop.received().remove(0);
    assert!(
        unsigned.header("x-bpg-signature").is_none()
            && unsigned.header("webhook-signature").is_none()
    );

    let old = rotate();
    let new = rotate();
    s.pay(&bill.id).await;
    s.expect_notified(&bill, &["UNDERPAID", "UNCONFIRMED"]).await;
    let both = s.shop.received().remove(1);
    assert!(bpg_signature_is_by(&both, &new) && !bpg_signature_is_by(&both, &old));
    assert!(webhook_signature_is_by(&both, &new) && webhook_signature_is_by(&both, &old));

    s.advance_clock(24 * 3_600 + 1).await;
    s.mine(1).await;
    s.expect_notified(&bill, &["UNDERPAID", "UNCONFIRMED", "CONFIRMED"]).await;
    let newest = s.shop.received().remove(2);
    assert!(webhook_signature_is_by(&newest, &new) && !webhook_signature_is_by(&newest, &old));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_without_a_url_is_never_notified() {
    let s = Scene::open().await;
    let till = s
        .gateway
        .program()
        .create_key("till", &["--permissions", "shop", "--notification-url-optional"]);
    let client = s.with_key(till);
    let mut request = payment_request("10.00", s.shop.url());
    request.as_object_mut().unwrap().remove("notificationUrl");
    assert_eq!(
        s.post("/v2/payments/new", &request).await.field_errors(400)[0].1.as_deref(),
        Some("notificationUrl"),
        "an ordinary key requires a URL"
    );
    let payment = client.post("/v2/payments/new", &request).await.ok();
    let id = text(&payment["paymentId"]);
    s.pay(&id).await;
    let answer = s.post_empty(&format!("/v2/payments/notify/{id}")).await.ok();
    assert_eq!(answer, json!({ "value": 402 }));
    assert!(s.shop.received().is_empty());
}
