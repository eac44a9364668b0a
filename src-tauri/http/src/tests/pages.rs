//! The payment page and the sandbox's calls over HTTP.

use axum::body::Body;
use axum::http::header::{
    ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_FRAME_OPTIONS,
};
use axum::http::{Method, StatusCode};
use serde_json::json;
use tillgate_gateway::notifications::SignatureCheck;
use tillgate_gateway::settings::Act;

use super::shop::{Answer, Shop, order_with};

async fn payment(shop: &Shop) -> String {
    let urls = json!({ "unconfirmed": "https://shop.test/thanks?a=1&b=2" });
    shop.ask(&order_with("redirectUrls", urls)).await.ok()["paymentId"].as_str().unwrap().to_owned()
}

async fn open(shop: &Shop, path: &str) -> Answer {
    shop.send(shop.request(Method::GET, path).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn the_page_needs_no_sign_in_can_be_framed_and_loads_nothing() {
    let shop = Shop::open().await;
    let id = payment(&shop).await;
    let page = open(&shop, &format!("/pay/{id}")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!(page.headers[CONTENT_TYPE], "text/html; charset=utf-8");
    assert_eq!(page.headers[REFERRER_POLICY], "same-origin", "its form keeps its origin");
    assert!(!page.headers.contains_key(SET_COOKIE) && !page.headers.contains_key(X_FRAME_OPTIONS));
    let policy = page.headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'") && policy.ends_with("frame-ancestors *"),
        "{policy}"
    );
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    let tags = page.text().matches("<script").count() + page.text().matches("<style").count();
    assert_eq!(page.text().matches(&format!("nonce=\"{nonce}\"")).count(), tags);
    let again = open(&shop, &format!("/pay/{id}")).await;
    assert!(!again.text().contains(nonce), "a nonce is used once");
}

#[tokio::test]
async fn a_paid_page_redirects_to_the_shop() {
    let shop = Shop::open().await;
    let id = payment(&shop).await;
    assert!(!open(&shop, &format!("/pay/{id}")).await.text().contains("shop.test"));
    shop.post_empty(&format!("/sandbox/payments/{id}/pay")).await.ok();
    let page = open(&shop, &format!("/pay/{id}")).await.text();
    let moves_on =
        r#"<meta http-equiv="refresh" content="3;url=https://shop.test/thanks?a=1&amp;b=2">"#;
    assert!(page.contains(r#"data-status="UNCONFIRMED""#), "{page}");
    assert!(
        page.contains(moves_on) && page.contains(r#"href="https://shop.test/thanks?a=1&amp;b=2""#),
        "{page}"
    );
}

#[tokio::test]
async fn the_page_fills_the_payments_id_into_the_shops_url() {
    let shop = Shop::open().await;
    let url = "HTTPS://Shop.test/{paymentId}?id=%7BpaymentId%7D&other={x}";
    let record = shop.ask(&order_with("redirectUrls", json!({ "unconfirmed": url }))).await.ok();
    assert_eq!(record["redirectUrls"]["unconfirmed"], url, "the record keeps it as it came");
    let id = record["paymentId"].as_str().unwrap();
    shop.post_empty(&format!("/sandbox/payments/{id}/pay")).await.ok();
    let page = open(&shop, &format!("/pay/{id}")).await.text();
    assert!(
        page.contains(&format!(r#"href="HTTPS://Shop.test/{id}?id={id}&amp;other={{x}}""#)),
        "{page}"
    );
}

#[tokio::test]
async fn a_slash_at_the_end_and_a_kept_prefix_show_the_same_page() {
    let shop = Shop::open().await;
    let id = payment(&shop).await;
    assert_eq!(open(&shop, &format!("/pay/{id}/")).await.status, StatusCode::OK);
    assert_eq!(open(&shop, &format!("/till/pay/{id}")).await.status, StatusCode::NOT_FOUND);
    let gateway = &shop.world.app.gateway;
    let act = Act { actor: "cli", at: gateway.time.now() };
    gateway
        .settings
        .set(&gateway.store, "publicUrl", "https://pay.example:8443/till", act)
        .await
        .unwrap();
    for path in [format!("/till/pay/{id}"), format!("/till/pay/{id}/"), format!("/pay/{id}")] {
        let page = open(&shop, &path).await;
        assert!(
            page.status == StatusCode::OK && page.text().contains("<svg"),
            "{path}: {}",
            page.status
        );
    }
    assert_eq!(shop.get("/till/v2/rates").await.status, StatusCode::OK);
    // A resend by GET changes something, also below the prefix.
    let resend = shop.request(Method::GET, &format!("/till/v2/payments/notify/{id}"));
    let forged =
        shop.send(resend.header("sec-fetch-site", "cross-site").body(Body::empty()).unwrap()).await;
    assert_eq!(forged.codes(403), ["CROSS_SITE_REQUEST"]);
}

#[tokio::test]
async fn an_address_is_taken_only_from_the_pages_own_form() {
    let shop = Shop::open().await;
    let id = payment(&shop).await;
    let sends = async |site: &str, address: &str| {
        let request =
            shop.request(Method::POST, &format!("/pay/{id}")).header("sec-fetch-site", site);
        let request = request.header("origin", format!("http://{}", shop.authority));
        shop.send(request.body(Body::from(format!("address={address}"))).unwrap()).await
    };
    let address = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
    assert_eq!(sends("cross-site", address).await.codes(403), ["CROSS_SITE_REQUEST"]);
    let wrong = sends("same-origin", "bcrt1q").await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.text().contains("This is not an address"), "{}", wrong.text());
    let long = sends("same-origin", &"1".repeat(60_000)).await.text();
    assert!(
        long.contains(&"1".repeat(300)) && !long.contains(&"1".repeat(301)),
        "{} bytes",
        long.len()
    );
    let unasked = sends("same-origin", address).await;
    assert_eq!(
        (unasked.status, unasked.headers[LOCATION].to_str().unwrap()),
        (StatusCode::SEE_OTHER, "?")
    );
    assert!(!open(&shop, &format!("/pay/{id}")).await.text().contains(address));
}

#[tokio::test]
async fn an_unknown_payment_gets_a_page_that_explains_it() {
    let shop = Shop::open().await;
    for path in [format!("/pay/{}", "0".repeat(40)), "/pay/%3Cscript%3E".to_owned()] {
        let page = open(&shop, &path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND);
        assert!(page.text().contains("This payment is not here"), "{}", page.text());
    }
    assert_eq!(
        open(&shop, &format!("/pay/{}/events", "0".repeat(40))).await.codes(404),
        ["NOT_FOUND"]
    );
}

#[tokio::test]
async fn the_sandboxs_receiver_checks_signatures_and_keeps_the_last_notifications() {
    let shop = Shop::open().await;
    let receiver = &shop.world.app.receiver;
    let sends = async |body: &str, signature: Option<&str>| {
        let request = shop
            .request(Method::POST, "/v2/sandbox/receiver")
            .header(CONTENT_TYPE, "application/json");
        let request = signature
            .into_iter()
            .fold(request, |request, it| request.header("x-bpg-signature", it));
        shop.send(request.body(Body::from(body.to_owned())).unwrap()).await.ok();
    };
    sends("{}", None).await;
    assert_eq!(receiver.last()[0].check, SignatureCheck::Missing);
    sends("{}", Some("2da57a63580e1b8259222d7c976d87cd11bdfb5b")).await;
    assert_eq!(receiver.last()[0].check, SignatureCheck::Wrong, "there is no key yet");

    shop.world.app.notifier.keys.rotate("cli:ann").await.unwrap();
    sends("{}", Some("2da57a63580e1b8259222d7c976d87cd11bdfb5b")).await;
    assert_eq!(receiver.last()[0].check, SignatureCheck::Wrong, "a stranger cannot sign");
    for number in 0..25 {
        sends(&number.to_string(), None).await;
    }
    let bodies: Vec<_> = receiver.last().into_iter().map(|one| one.body).collect();
    assert_eq!((bodies.len(), bodies[0].as_str(), bodies[19].as_str()), (20, "24", "5"));
}

#[tokio::test]
async fn sandbox_calls_need_a_key_of_any_permissions() {
    let shop = Shop::open().await;
    assert_eq!(open(&shop, "/sandbox").await.codes(401), ["UNAUTHORIZED"]);
    for path in ["/sandbox", "/v2/sandbox"] {
        assert!(shop.get(path).await.ok()["height"].is_u64());
    }
    let height = shop.get("/sandbox").await.ok()["height"].as_u64().unwrap();
    assert_eq!(shop.post("/sandbox/blocks", r#"{"count": 2}"#).await.ok()["height"], height + 2);
    let wrong = shop.get("/sandbox/blocks").await;
    assert_eq!(wrong.codes(405), ["METHOD_NOT_ALLOWED"]);
    assert_eq!(wrong.headers[ALLOW], "POST");
    assert_eq!(shop.post("/sandbox/blocks", r#"{"count": 0}"#).await.fields(), ["count"]);
    assert_eq!(
        shop.post("/sandbox/blocks", r#"{"count": 1, "count": 2}"#).await.codes(400),
        ["MALFORMED_JSON"]
    );
    for nobody in [&"0".repeat(40), "x", "%ff"] {
        let pay = format!("/sandbox/payments/{nobody}/pay");
        assert_eq!(shop.post_empty(&pay).await.codes(404), ["NOT_FOUND"], "{nobody}");
    }
}
