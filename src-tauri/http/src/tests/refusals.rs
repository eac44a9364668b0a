//! Answers to invalid requests.

use axum::body::Body;
use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use serde_json::{Value, json};
use tillgate_gateway::testing::World;
use tillgate_sandbox::FaultsPatch;
use tillgate_store::keychains::Keychain;

use super::shop::{NEW, Shop, basic, make_key, make_wallet, order, order_with};

const LIST: &str = "/v2/payments/10/0";

fn next_index(shop: &Shop) -> u32 {
    let keychain =
        shop.world.gateway.store.read(|reader| reader.keychain(Keychain::External)).unwrap();
    keychain.unwrap().1
}

#[tokio::test]
async fn a_request_without_a_live_key_is_refused() {
    let shop = Shop::open().await;
    let unsigned = shop.send(shop.request(Method::GET, LIST).body(Body::empty()).unwrap()).await;
    assert_eq!(unsigned.codes(401), ["UNAUTHORIZED"]);
    assert!(unsigned.headers["www-authenticate"].to_str().unwrap().starts_with("Basic realm="));
    let good = shop.authorization.clone();
    for wrong in [
        "Basic",
        "Basic !!!",
        "Bearer abc",
        "",
        &basic("shop", "guess"),
        &basic("other", "guess"),
        &good[6..],
    ] {
        shop.get_as(wrong, LIST).await.codes(401);
    }
    for scheme in ["basic", "BASIC"] {
        shop.get_as(&good.replace("Basic", scheme), LIST).await.ok();
    }
    shop.get_as(good.trim_end_matches('='), LIST).await.ok();
    let now = shop.world.gateway.time.now();
    shop.world.gateway.access.keys.revoke("shop", now, "cli").await.unwrap();
    shop.get(LIST).await.codes(401);
}

#[tokio::test]
async fn a_key_is_limited_to_its_permissions() {
    let shop = Shop::open().await;
    let keys = &shop.world.gateway.access.keys;
    let reader = make_key(keys, "reader", "payments.read", false).await;
    let maker = make_key(keys, "maker", "payments.create", false).await;
    let post = shop
        .request(Method::POST, NEW)
        .header(AUTHORIZATION, &reader)
        .header(CONTENT_TYPE, "application/json");
    let refused = shop.send(post.body(order().to_string().into()).unwrap()).await;
    assert_eq!(refused.codes(403), ["PERMISSION_DENIED"]);
    shop.get_as(&reader, LIST).await.ok();
    for path in
        [LIST, "/v2/payments/0", "/v2/anomalies", "/v2/anomalies/0", "/v2/payments/anomalies"]
    {
        shop.get_as(&maker, path).await.codes(403);
    }
}

#[tokio::test]
async fn guessing_is_throttled_and_valid_credentials_always_pass() {
    let shop = Shop::open().await;
    for _ in 0..10 {
        shop.get_as(&basic("shop", "guess"), LIST).await.codes(401);
    }
    let throttled = shop.get_as(&basic("shop", "guess"), LIST).await;
    assert_eq!(throttled.codes(429), ["TOO_MANY_SIGN_INS"]);
    let seconds: u32 = throttled.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds));
    shop.get(LIST).await.ok();
}

#[tokio::test]
async fn a_foreign_host_is_refused_before_anything_else() {
    let shop = Shop::open().await;
    for host in ["evil.example", "evil.example:7421", ""] {
        for path in [LIST, "/v2/nothing"] {
            let request = shop.signed(Method::GET, path).header(HOST, host);
            assert_eq!(
                shop.send(request.body(Body::empty()).unwrap()).await.codes(421),
                ["HOST_NOT_ALLOWED"]
            );
        }
    }
}

#[tokio::test]
async fn bodies_are_limited_in_size_and_must_be_strict_json() {
    let shop = Shop::open().await;
    let large = order_with("more", "x".repeat(65 * 1_024)).to_string();
    assert_eq!(shop.post(NEW, large.clone()).await.codes(413), ["BODY_TOO_LARGE"]);
    // A body without `Content-Length`.
    let chunks = large
        .into_bytes()
        .chunks(1_000)
        .map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec()))
        .collect::<Vec<_>>();
    let streamed = Body::from_stream(tokio_stream::iter(chunks));
    assert_eq!(shop.post(NEW, streamed).await.codes(413), ["BODY_TOO_LARGE"]);
    let full = order_with("more", "x".repeat(65_536 - order_with("more", "").to_string().len()));
    assert_eq!(full.to_string().len(), 65_536);
    shop.ask(&full).await.ok();
    for typed in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin1",
        "application/jsonx",
    ] {
        let request = shop.signed(Method::POST, NEW).header(CONTENT_TYPE, typed);
        let refused = shop.send(request.body(order().to_string().into()).unwrap()).await;
        assert_eq!(refused.codes(415), ["UNSUPPORTED_MEDIA_TYPE"], "{typed}");
    }
    let twice = order().to_string().replacen('{', r#"{"amount":1,"#, 1);
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(30_000), "]".repeat(30_000));
    for body in [
        b"".to_vec(),
        b"{\"message\":\"caf\xe9\"}".to_vec(),
        b"[]".to_vec(),
        twice.into_bytes(),
        deep.into_bytes(),
    ] {
        assert_eq!(shop.post(NEW, body).await.codes(400), ["MALFORMED_JSON"]);
    }
    for kind in ["payments", "anomalies"] {
        let resend = format!("/v2/{kind}/notify/{}", "0".repeat(40));
        let typed = |body: &'static str| {
            shop.signed(Method::POST, &resend)
                .header(CONTENT_TYPE, "text/plain")
                .body(body.into())
                .unwrap()
        };
        assert_eq!(shop.send(typed("x")).await.codes(415), ["UNSUPPORTED_MEDIA_TYPE"]);
        assert_eq!(
            shop.send(typed("")).await.codes(404),
            ["NOT_FOUND"],
            "the type of an empty body is ignored"
        );
        assert_eq!(shop.post(&resend, vec![b' '; 65_537]).await.codes(413), ["BODY_TOO_LARGE"]);
    }
    let ignored = shop
        .signed(Method::GET, LIST)
        .header(CONTENT_TYPE, "text/plain")
        .body(Body::empty())
        .unwrap();
    shop.send(ignored).await.ok();
}

#[tokio::test]
async fn all_field_errors_of_a_request_come_in_one_answer() {
    let shop = Shop::open().await;
    let asked = json!({
        "amount": "0.001", "currency": "USD", "message": 5, "notificationUrl": "ftp://shop.test",
        "redirectUrls": { "expired": 1, "invalid": "javascript:alert(1)" },
    });
    let mut fields = shop.ask(&asked).await.fields();
    fields.sort();
    let expected = [
        "amount",
        "merchantTransactionId",
        "message",
        "notificationUrl",
        "redirectUrls.expired",
        "redirectUrls.invalid",
    ];
    assert_eq!(fields, expected);
    assert_eq!(shop.ask(&order_with("redirectUrls", "x")).await.fields(), ["redirectUrls"]);
    let keyed = shop
        .signed(Method::POST, NEW)
        .header("Idempotency-Key", "")
        .header(CONTENT_TYPE, "application/json");
    let answer = shop.send(keyed.body(order_with("amount", "0").to_string().into()).unwrap()).await;
    assert_eq!(answer.fields(), ["Idempotency-Key", "amount"]);
}

#[tokio::test]
async fn a_price_that_cannot_be_paid_is_refused_with_the_limit() {
    let shop = Shop::open().await;
    let dust = shop
        .ask(&{
            let mut asked = order_with("amount", "0.01");
            asked["message"] = Value::Null;
            asked
        })
        .await;
    let mut fields = dust.fields();
    fields.sort();
    assert_eq!(fields, ["amount", "message"]);
    assert!(dust.text().contains("0.00000294 BTC"), "{}", dust.text());
    let fortune = shop.ask(&order_with("amount", "90000000000000")).await;
    assert_eq!(fortune.fields(), ["amount"]);
    assert!(fortune.text().contains("21000000.00000000 BTC"), "{}", fortune.text());
}

#[tokio::test]
async fn without_rate_chain_or_wallet_no_address_index_is_used() {
    let shop = Shop::serve(World::new().await).await;
    assert_eq!(shop.ask(&order()).await.codes(503), ["WALLET_NOT_READY"]);
    make_wallet(&shop.world).await;
    shop.ask(&order()).await.ok();
    assert_eq!(shop.ask(&order_with("currency", "XXX")).await.fields(), ["currency"]);
    let gateway = &shop.world.gateway;
    shop.world
        .sandbox()
        .set_rates(&std::collections::BTreeMap::from([("EUR".to_owned(), None)]))
        .unwrap();
    gateway.refresh_rates().await.unwrap();
    assert_eq!(shop.ask(&order_with("currency", "EUR")).await.codes(503), ["RATE_UNAVAILABLE"]);
    let mut both = order_with("currency", "EUR");
    both["message"] = Value::Null;
    assert_eq!(shop.ask(&both).await.fields(), ["message"], "the client's own errors come first");
    shop.world.advance_clock_ms(11 * 60_000);
    assert_eq!(shop.ask(&order()).await.codes(503), ["CHAIN_NOT_READY"]);
    assert_eq!(next_index(&shop), 1);
    shop.world.look().await;
    shop.ask(&order()).await.ok();
}

#[tokio::test]
async fn unknown_paths_methods_and_ids_are_answered_in_json() {
    let shop = Shop::open().await;
    for path in [
        "/",
        "/v2",
        "/v2/payments",
        "/v2/payments/",
        "/v1/payments/10/0",
        "/v2/payments/1/2/3",
        "/v2/%ff",
    ] {
        assert_eq!(shop.get(path).await.codes(404), ["NOT_FOUND"], "{path}");
    }
    for id in ["0", &"0".repeat(40), &"A".repeat(40), &"0".repeat(41), "%ff", "%00"] {
        assert_eq!(shop.get(&format!("/v2/payments/{id}")).await.codes(404), ["NOT_FOUND"], "{id}");
        assert_eq!(
            shop.get(&format!("/v2/anomalies/{id}")).await.codes(404),
            ["NOT_FOUND"],
            "{id}"
        );
        shop.post_empty(&format!("/v2/payments/notify/{id}")).await.codes(404);
        shop.post_empty(&format!("/v2/anomalies/notify/{id}")).await.codes(404);
    }
    for (method, path, allow) in [
        (Method::GET, NEW, "POST"),
        (Method::DELETE, LIST, "GET,HEAD"),
        (Method::PUT, "/v2/payments/notify/0", "POST"),
        (Method::POST, "/v2/anomalies", "GET,HEAD"),
    ] {
        let refused = shop.send(shop.signed(method, path).body(Body::empty()).unwrap()).await;
        assert_eq!(refused.codes(405), ["METHOD_NOT_ALLOWED"], "{path}");
        assert!(
            refused.headers["allow"].to_str().unwrap().contains(allow),
            "{path} {:?}",
            refused.headers["allow"]
        );
    }
}

#[tokio::test]
async fn query_parameters_are_validated_all_at_once() {
    let shop = Shop::open().await;
    let payments = "/v2/payments/0/-1?status=PAID&timeFrom=yesterday&timeTo=&address=x&btcTxId=zz&label=a&label=b";
    let expected =
        ["limit", "offset", "status", "timeFrom", "timeTo", "address", "btcTxId", "label"];
    assert_eq!(shop.get(payments).await.fields(), expected);
    for page in ["501/0", "x/0", "+1/0", "1/x", "1/99999999999999999999"] {
        assert_eq!(shop.get(&format!("/v2/payments/{page}")).await.fields().len(), 1, "{page}");
    }
    let anomalies = "/v2/anomalies?limit=501&offset=x&begin=x&end=x&paymentId=x&anomalyType=x";
    assert_eq!(
        shop.get(anomalies).await.fields(),
        ["limit", "offset", "begin", "end", "paymentId", "anomalyType"]
    );
}

#[tokio::test]
async fn answers_forbid_caching_sniffing_and_other_origins() {
    let shop = Shop::open().await;
    let request = shop.signed(Method::GET, LIST).header("origin", "https://evil.example");
    let answer = shop.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(
        (&answer.headers["cache-control"], &answer.headers["x-content-type-options"]),
        (&"no-store".parse().unwrap(), &"nosniff".parse().unwrap())
    );
    assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")));
    for path in [LIST, "/v2/nothing", "/v2/openapi.json"] {
        let policy =
            shop.get(path).await.headers["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.contains("frame-ancestors 'none'"), "{path} can be framed");
    }
}

#[tokio::test]
async fn payments_are_made_for_ten_minutes_without_a_backend() {
    let shop = Shop::open().await;
    shop.world
        .sandbox()
        .set_faults(FaultsPatch { chain_down: Some(true), ..FaultsPatch::default() })
        .unwrap();
    shop.world.advance_clock_ms(9 * 60_000);
    shop.ask(&order()).await.ok();
    shop.world.advance_clock_ms(2 * 60_000);
    assert_eq!(shop.ask(&order()).await.codes(503), ["CHAIN_NOT_READY"]);
}

#[tokio::test]
async fn a_payment_during_a_clock_jump_is_made_after_the_look() {
    let shop = Shop::open().await;
    shop.world
        .sandbox()
        .set_faults(FaultsPatch { latency_ms: Some(300), ..FaultsPatch::default() })
        .unwrap();
    let before = shop.world.now_ms();
    let jump = shop.post("/sandbox/clock", json!({"advanceSeconds": 3_600}).to_string());
    let order = order();
    let meanwhile = async {
        while shop.world.now_ms() - before < 3_600_000 {
            tokio::task::yield_now().await;
        }
        shop.ask(&order).await
    };
    let (jumped, made) = tokio::join!(jump, meanwhile);
    jumped.ok();
    made.ok();
}
