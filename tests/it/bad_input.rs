//! Refusals of bad requests by shops and attackers. Every refusal is a JSON array that names the
//! wrong field, and creates no payment.

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::harness::client::{Client, Credentials, payment_request};
use crate::harness::{Answer, Scene, Shop};

const NEW: &str = "/v2/payments/new";

/// A request for a payment with these bytes as body.
async fn post_bytes(client: &Client, body: impl Into<Body>) -> Answer {
    let request = client.request(Method::POST, NEW).header(CONTENT_TYPE, "application/json");
    client.send(request.body(body.into()).unwrap()).await
}

/// A valid request with one field changed.
fn request_with(shop: &Shop, field: &str, value: Value) -> Value {
    let mut request = payment_request("10.00", shop.url());
    request[field] = value;
    request
}

/// The wrong fields in a response that must be 400.
fn fields(answer: &Answer) -> Vec<String> {
    answer.field_errors(400).into_iter().filter_map(|(_, field)| field).collect()
}

async fn expect_no_payment(s: &Scene) {
    assert_eq!(s.get("/v2/payments/10/0").await.ok()["paginationInfo"]["itemsCount"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_valid_key_gets_401() {
    let s = Scene::open().await;
    let path = "/v2/payments/10/0";
    let own = s.key().clone();
    let nobody = Request::get(format!("{}{path}", s.base())).body(Body::empty()).unwrap();
    let answer = s.send(nobody).await;
    assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Basic realm=\""));
    answer.field_errors(401);
    let wrong = Credentials { secret: "0".repeat(own.secret.len()), ..own.clone() };
    let foreign = Credentials { name: "nobody".into(), secret: own.secret.clone() };
    let empty = Credentials { name: String::new(), secret: String::new() };
    for key in [wrong, foreign, empty] {
        s.with_key(key).get(path).await.field_errors(401);
    }
    for header in ["Basic", "Basic !!!", "Bearer abc", "Basic OjpA", ""] {
        let request = Request::get(format!("{}{path}", s.base())).header(AUTHORIZATION, header);
        s.send(request.body(Body::empty()).unwrap()).await.field_errors(401);
    }
    let request = Request::get(format!("{}{path}", s.base()));
    let lower_case = request.header(AUTHORIZATION, own.basic().replacen("Basic", "bAsIc", 1));
    s.send(lower_case.body(Body::empty()).unwrap()).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_refused_at_once_and_its_name_is_free_again() {
    let s = Scene::open().await;
    let program = s.gateway.program();
    let first = s.with_key(program.create_key("till", &["--permissions", "shop"]));
    first.get("/v2/payments/10/0").await.ok();
    program.refusal(&["keys", "create", "till", "--permissions", "shop"]);
    assert!(program.output(&["keys", "revoke", "till"]).status.success());
    first.get("/v2/payments/10/0").await.field_errors(401);
    let second = s.with_key(program.create_key("till", &["--permissions", "shop"]));
    second.get("/v2/payments/10/0").await.ok();
    first.get("/v2/payments/10/0").await.field_errors(401);
    for name in ["", "two words", "ümlaut", &"n".repeat(65)] {
        program.refusal(&["keys", "create", name]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_without_the_permission_is_refused() {
    let s = Scene::open().await;
    let reader =
        s.with_key(s.gateway.program().create_key("reader", &["--permissions", "payments.read"]));
    reader.get("/v2/payments/10/0").await.ok();
    reader.post(NEW, &payment_request("10.00", s.shop.url())).await.field_errors(403);
    expect_no_payment(&s).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_guessing_is_rate_limited_without_affecting_the_shop() {
    let s = Scene::open().await;
    let guesser = s.with_key(Credentials { name: "shop".into(), secret: "guess".into() });
    let mut last = guesser.get("/v2/payments/10/0").await;
    for _ in 0..1_000 {
        if last.status == StatusCode::TOO_MANY_REQUESTS {
            break;
        }
        last.field_errors(401);
        last = guesser.get("/v2/payments/10/0").await;
    }
    last.field_errors(429);
    assert!(last.headers.contains_key("retry-after"));
    s.get("/v2/payments/10/0").await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_host_header_gets_421() {
    let s = Scene::open().await;
    for (host, status) in [
        ("attacker.example", 421),
        ("127.0.0.1.attacker.example", 421),
        ("localhost", 200),
        ("LOCALHOST:7421", 200),
    ] {
        let request = s.request(Method::GET, "/v2/payments/10/0").header(HOST, host);
        let answer = s.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, status, "{host}: {}", answer.text());
    }
    let page = s.request(Method::GET, "/pay/0000").header(HOST, "attacker.example");
    assert_eq!(s.send(page.body(Body::empty()).unwrap()).await.status, 421);
    s.gateway.program().set("allowedHosts", "shop.example");
    let request = s.request(Method::GET, "/v2/payments/10/0").header(HOST, "shop.example");
    s.send(request.body(Body::empty()).unwrap()).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_too_large_too_deep_or_no_json_are_refused() {
    let s = Scene::open().await;
    let mut large = payment_request("10.00", s.shop.url());
    large["more"] = json!("x".repeat(65 * 1024));
    post_bytes(&s, serde_json::to_vec(&large).unwrap()).await.field_errors(413);
    let deep = format!("{{\"amount\": {}1{}}}", "[".repeat(20_000), "]".repeat(20_000));
    post_bytes(&s, deep).await.field_errors(400);
    let latin = b"{\"message\": \"caf\xe9\"}".to_vec();
    post_bytes(&s, latin).await.field_errors(400);
    for body in [
        "",
        "{",
        "[]",
        "null",
        "\"text\"",
        "{\"amount\": 1} x",
        "{'amount': 1}",
        "{\"amount\": 01}",
    ] {
        post_bytes(&s, body).await.field_errors(400);
    }
    let good = payment_request("10.00", s.shop.url()).to_string();
    let twice = good.replacen('{', "{\"amount\": \"1.00\", ", 1);
    post_bytes(&s, twice).await.field_errors(400);
    expect_no_payment(&s).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_method_path_or_content_type_gets_its_own_status() {
    let s = Scene::open().await;
    let body = payment_request("10.00", s.shop.url()).to_string();
    let form =
        s.request(Method::POST, NEW).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    s.send(form.body(Body::from(body.clone())).unwrap()).await.field_errors(415);
    let untyped = s.request(Method::POST, NEW).body(Body::from(body.clone())).unwrap();
    s.send(untyped).await.field_errors(415);
    let charset =
        s.request(Method::POST, NEW).header(CONTENT_TYPE, "application/json; charset=utf-8");
    s.send(charset.body(Body::from(body)).unwrap()).await.ok();
    let ignored = s.request(Method::GET, "/v2/payments/10/0").header(CONTENT_TYPE, "text/plain");
    s.send(ignored.body(Body::empty()).unwrap()).await.ok();
    let wrong = s.send(s.request(Method::DELETE, NEW).body(Body::empty()).unwrap()).await;
    assert!(wrong.headers["allow"].to_str().unwrap().contains("POST"));
    wrong.field_errors(405);
    s.get("/v2/nothing").await.field_errors(404);
    s.get("/v1/payments/10/0").await.field_errors(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_amounts_are_refused() {
    let s = Scene::open().await;
    let bad =
        ["0", "0.00", "-1", "1e400", "NaN", "0.001", "", " 1", "1,00", "0x10", "1.", "Infinity"];
    for amount in bad.iter().map(|amount| json!(amount)).chain([
        json!(true),
        json!(null),
        json!([1]),
        json!({}),
    ]) {
        let answer = s.post(NEW, &request_with(&s.shop, "amount", amount.clone())).await;
        assert_eq!(fields(&answer), ["amount"], "{amount}: {}", answer.text());
    }
    let thirty = "9".repeat(30);
    assert_eq!(
        fields(&s.post(NEW, &request_with(&s.shop, "amount", json!(thirty))).await),
        ["amount"]
    );
    for raw in ["-1", "0", "1e400", "0.001", &thirty] {
        let body = payment_request("TEN", s.shop.url()).to_string().replace("\"TEN\"", raw);
        assert_eq!(fields(&post_bytes(&s, body).await), ["amount"], "{raw}");
    }
    let mut yen = request_with(&s.shop, "amount", json!("1.5"));
    yen["currency"] = json!("JPY");
    assert_eq!(fields(&s.post(NEW, &yen).await), ["amount"]);
    // The first price is below the dust limit of the address, the second above the number of all
    // bitcoins.
    for amount in ["0.01", "9999999999999"] {
        assert_eq!(
            fields(&s.post(NEW, &request_with(&s.shop, "amount", json!(amount))).await),
            ["amount"],
            "{amount}"
        );
    }
    expect_no_payment(&s).await;
    yen["amount"] = json!("1500.00");
    assert_eq!(s.post(NEW, &yen).await.ok()["fiatAmount"].to_string(), "1500");
    let number = payment_request("TEN", s.shop.url()).to_string().replace("\"TEN\"", "10.0");
    assert_eq!(post_bytes(&s, number).await.ok()["fiatAmount"].to_string(), "10.00");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_currency_that_is_unknown_or_without_a_rate_is_refused() {
    let s = Scene::open().await;
    for currency in ["XXX", "usd", "", "USDT", "US"] {
        let answer = s.post(NEW, &request_with(&s.shop, "currency", json!(currency))).await;
        assert_eq!(fields(&answer), ["currency"], "{currency}");
    }
    s.set_rates(json!({ "EUR": null })).await;
    let field_errors =
        s.post(NEW, &request_with(&s.shop, "currency", json!("EUR"))).await.field_errors(503);
    assert_eq!(field_errors[0].0, "RATE_UNAVAILABLE");
    expect_no_payment(&s).await;
    s.set_rates(json!({ "EUR": "60000.00" })).await;
    s.post(NEW, &request_with(&s.shop, "currency", json!("EUR"))).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_notification_and_redirect_urls_are_refused() {
    let s = Scene::open().await;
    let long = format!("http://shop.example/{}", "x".repeat(2_048));
    let bad = [
        "ftp://shop.example/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "shop.example",
        "http://",
        "http://user:password@shop.example/",
        "http://user@shop.example/",
        "http://shop.example/\u{0}",
        "http://shop.example/\r\nX-Header: 1",
        "http://shop example/",
        &long,
    ];
    for url in bad {
        for field in ["notificationUrl", "anomalyNotificationUrl"] {
            let answer = s.post(NEW, &request_with(&s.shop, field, json!(url))).await;
            assert_eq!(fields(&answer), [field], "{url:?}");
        }
        let answer =
            s.post(NEW, &request_with(&s.shop, "redirectUrls", json!({ "expired": url }))).await;
        assert_eq!(fields(&answer).len(), 1, "{url:?}: {}", answer.text());
    }
    expect_no_payment(&s).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_and_control_characters_are_refused() {
    let s = Scene::open().await;
    for (field, value) in [
        ("message", "x".repeat(10_000)),
        ("message", "x".repeat(513)),
        ("message", "a\u{0}b".to_owned()),
        ("message", "a\u{1b}[31mb".to_owned()),
        ("merchantTransactionId", "x".repeat(256)),
        ("merchantTransactionId", "a\u{7f}".to_owned()),
    ] {
        assert_eq!(
            fields(&s.post(NEW, &request_with(&s.shop, field, json!(value))).await),
            [field],
            "{value:?}"
        );
    }
    for (field, value) in [
        ("message", "ü".repeat(512)),
        ("message", "a\tb\r\nc".to_owned()),
        ("merchantTransactionId", String::new()),
    ] {
        assert_eq!(
            s.post(NEW, &request_with(&s.shop, field, json!(value))).await.ok()[field],
            value.as_str()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_field_errors_are_listed_and_unknown_fields_ignored() {
    let s = Scene::open().await;
    let mut found = fields(&s.post(NEW, &json!({})).await);
    found.sort();
    assert_eq!(
        found,
        ["amount", "currency", "merchantTransactionId", "message", "notificationUrl"]
    );
    let several =
        json!({ "amount": "-1", "currency": "XXX", "notificationUrl": "x", "message": null });
    let mut found = fields(&s.post(NEW, &several).await);
    found.sort();
    assert_eq!(
        found,
        ["amount", "currency", "merchantTransactionId", "message", "notificationUrl"]
    );
    s.post(NEW, &request_with(&s.shop, "btcPercentageToKeep", json!(100))).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_and_unknown_ids_get_404() {
    let s = Scene::open().await;
    let unknown = "0".repeat(40);
    for id in
        [unknown.as_str(), "0", &"0".repeat(39), &"0".repeat(41), &"G".repeat(40), "%00", "..%2f.."]
    {
        s.get(&format!("/v2/payments/{id}")).await.field_errors(404);
        s.get(&format!("/v2/anomalies/{id}")).await.field_errors(404);
        s.post_empty(&format!("/v2/payments/notify/{id}")).await.field_errors(404);
        s.post_empty(&format!("/v2/anomalies/notify/{id}")).await.field_errors(404);
        assert_eq!(s.get(&format!("/pay/{id}")).await.status, 404, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_past_the_end_are_empty_and_bad_bounds_are_refused() {
    let s = Scene::open().await;
    s.bill("10.00").await;
    for offset in ["1", "1000000", "9007199254740993"] {
        let page = s.get(&format!("/v2/payments/10/{offset}")).await.ok();
        assert_eq!(
            (&page["items"], &page["paginationInfo"]["itemsCount"]),
            (&json!([]), &json!(1)),
            "{offset}"
        );
    }
    for path in ["0/0", "501/0", "-1/0", "10/-1", "x/0", "10/x", "10/99999999999999999999"] {
        s.get(&format!("/v2/payments/{path}")).await.field_errors(400);
    }
    for query in ["status=PAID", "timeFrom=yesterday", "timeTo=2026-13-01T00:00:00Z", "btcTxId=zz"]
    {
        s.get(&format!("/v2/payments/10/0?{query}")).await.field_errors(400);
    }
    for query in ["limit=0", "limit=501", "offset=-1", "begin=x", "anomalyType=ODD"] {
        s.get(&format!("/v2/anomalies?{query}")).await.field_errors(400);
    }
}
