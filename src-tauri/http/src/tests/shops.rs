//! Requests as shops and their libraries write them: misspelled filters, repeated orders, odd
//! encodings.

use axum::body::Body;
use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use serde_json::{Value, json};

use super::shop::{Answer, NEW, Shop, basic, make_key, order, order_with};

async fn post_with(shop: &Shop, header: (&str, &str), body: impl Into<Body>) -> Answer {
    let request = shop
        .signed(Method::POST, NEW)
        .header(header.0, header.1)
        .header(CONTENT_TYPE, "application/json");
    shop.send(request.body(body.into()).unwrap()).await
}

fn message(answer: &Answer) -> String {
    answer.json()[0]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_misspelled_filter_lists_nothing_and_is_named() {
    let shop = Shop::open().await;
    shop.ask(&order()).await.ok();
    for (name, sent) in [
        ("status[]", "status[]=NEW"),
        ("status[]", "status%5B%5D=NEW"),
        ("status[0]", "status%5B0%5D=NEW"),
        ("Status", "Status=NEW"),
        ("orderId", "orderId=7"),
        ("orderId", "orderId"),
        ("", "=7"),
    ] {
        assert_eq!(shop.get(&format!("/v2/payments/10/0?{sent}")).await.fields(), [name], "{sent}");
    }
    let both = shop.get("/v2/payments/10/0?b=1&limit=5&b=2&status=PAID").await;
    assert_eq!(both.fields(), ["status", "b", "limit"]);
    assert!(both.text().contains("this call takes status, timeFrom, timeTo"), "{}", both.text());
    assert_eq!(shop.get("/v2/anomalies?resolution=OPEN").await.fields(), ["resolution"]);
    shop.get("/v2/payments/10/0?&").await.ok();
}

#[tokio::test]
async fn every_described_call_names_an_unknown_parameter() {
    let shop = Shop::open().await;
    let key = make_key(&shop.world.gateway.access.keys, "desk", "full", false).await;
    let description = shop.get("/v2/openapi.json").await.ok();
    for (path, calls) in description["paths"].as_object().unwrap() {
        let path = path.replace("{limit}/{offset}", "10/0");
        let (before, after) = path.split_once('{').unwrap_or((&path, ""));
        let id = if path.contains('{') { "0".repeat(40) } else { String::new() };
        let rest = after.split_once('}').map_or("", |(_, rest)| rest);
        for method in calls.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let request = shop.request(method.clone(), &format!("{before}{id}{rest}?nonsense=1"));
            let request =
                request.header(AUTHORIZATION, &key).header(CONTENT_TYPE, "application/json");
            let body = if method == Method::GET { Body::empty() } else { Body::from("{}") };
            let answer = shop.send(request.body(body).unwrap()).await;
            // The receiver plays a shop's server, and a shop's URL may hold any query.
            if path.ends_with("/sandbox/receiver") {
                answer.ok();
            } else {
                assert!(
                    answer.fields().contains(&"nonsense".to_owned()),
                    "{method} {path}: {}",
                    answer.text()
                );
            }
        }
    }
}

#[tokio::test]
async fn a_repeated_order_is_the_same_in_another_writing() {
    let shop = Shop::open().await;
    let text = r#"{"amount":10.0,"currency":"USD","message":"café","merchantTransactionId":"7",
        "notificationUrl":"https://shop.test/a","redirectUrls":{"expired":"https://a.test","invalid":"https://b.test"}}"#;
    let again = async |body: String| post_with(&shop, ("Idempotency-Key", "k"), body).await;
    let first = again(text.to_owned()).await;
    first.ok();
    for same in [
        text.replace('\n', " \r\n\t"),
        text.replace("message", r"\u006dessage").replace('é', r"\u00e9").replace('/', r"\/"),
        text.replace("10.0", "10").replace(r#""currency":"USD","#, "").replace('{', "{ ").replacen(
            "{ ",
            r#"{"currency":"USD","#,
            1,
        ),
        text.replace(
            r#""expired":"https://a.test","invalid":"https://b.test""#,
            r#""invalid":"https://b.test","expired":"https://a.test""#,
        ),
        format!("\u{feff}{text}"),
    ] {
        let answer = again(same.clone()).await;
        assert_eq!(answer.body, first.body, "{same}");
        assert_eq!(answer.headers["idempotent-replayed"], "true");
    }
    for other in [
        text.replace("10.0", r#""10.0""#),
        text.replace("é", "e"),
        text.replacen('{', r#"{"more":null,"#, 1),
    ] {
        assert_eq!(again(other.clone()).await.codes(409), ["IDEMPOTENCY_KEY_REUSED"], "{other}");
    }
    assert_eq!(shop.count().await, 1);
}

#[tokio::test]
async fn empty_optional_urls_and_objects_are_absent() {
    let shop = Shop::open().await;
    for nothing in [json!(""), json!([]), json!({}), Value::Null] {
        for field in ["redirectUrls", "anomalyNotificationUrl"] {
            let record = shop.ask(&order_with(field, nothing.clone())).await.ok();
            assert!(record.get(field).is_none(), "{field} {nothing}");
        }
        let urls = json!({ "expired": nothing, "confirmed": "https://shop.test/paid" });
        let record = shop.ask(&order_with("redirectUrls", urls)).await.ok();
        assert_eq!(
            record["redirectUrls"],
            json!({ "confirmed": "https://shop.test/paid" }),
            "{nothing}"
        );
        assert_eq!(
            shop.ask(&order_with("notificationUrl", nothing.clone())).await.fields(),
            ["notificationUrl"]
        );
    }
    for wrong in [json!(["https://shop.test"]), json!(0), json!(false), json!(" ")] {
        assert_eq!(
            shop.ask(&order_with("redirectUrls", wrong.clone())).await.fields(),
            ["redirectUrls"],
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn an_unknown_kind_of_redirect_is_named() {
    let shop = Shop::open().await;
    let urls =
        json!({ "success": "https://shop.test", "Confirmed": "https://shop.test", "expired": "x" });
    let refused = shop.ask(&order_with("redirectUrls", urls)).await;
    assert_eq!(
        refused.fields(),
        ["redirectUrls.Confirmed", "redirectUrls.success", "redirectUrls.expired"]
    );
    assert!(
        message(&refused).contains("expired, confirmed, invalid or unconfirmed"),
        "{}",
        refused.text()
    );
    shop.ask(&order_with("unknown", json!({ "success": 1 }))).await.ok();
}

#[tokio::test]
async fn every_503_says_when_to_try_again() {
    let shop = Shop::open().await;
    let seconds =
        |answer: &Answer| answer.headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap();
    shop.world
        .sandbox()
        .set_rates(&std::collections::BTreeMap::from([("EUR".to_owned(), None)]))
        .unwrap();
    shop.world.gateway.refresh_rates().await.unwrap();
    let rate = shop.ask(&order_with("currency", "EUR")).await;
    assert_eq!((rate.codes(503), seconds(&rate)), (vec!["RATE_UNAVAILABLE".to_owned()], 10));
    shop.world.advance_clock_ms(11 * 60_000);
    let chain = shop.ask(&order()).await;
    assert_eq!((chain.codes(503), seconds(&chain)), (vec!["CHAIN_NOT_READY".to_owned()], 10));
}

#[tokio::test]
async fn a_compressed_body_is_415_and_a_byte_order_mark_is_skipped() {
    let shop = Shop::open().await;
    for encoding in ["gzip", "br", "identity", "deflate, gzip"] {
        let refused =
            post_with(&shop, (CONTENT_ENCODING.as_str(), encoding), order().to_string()).await;
        assert_eq!(refused.codes(415), ["UNSUPPORTED_MEDIA_TYPE"], "{encoding}");
        assert!(message(&refused).contains("Content-Encoding"), "{}", refused.text());
    }
    let resend = shop.signed(Method::POST, &format!("/v2/payments/notify/{}", "0".repeat(40)));
    let empty = resend.header(CONTENT_ENCODING, "gzip").body(Body::empty()).unwrap();
    assert_eq!(shop.send(empty).await.codes(404), ["NOT_FOUND"], "no body has no encoding");
    shop.post(NEW, format!("\u{feff}{}", order())).await.ok();
    assert_eq!(
        shop.post(NEW, format!("\u{feff}\u{feff}{}", order())).await.codes(400),
        ["MALFORMED_JSON"]
    );
}

#[tokio::test]
async fn half_a_character_is_told_as_one() {
    let shop = Shop::open().await;
    for half in [r"\ud83c", r"a\udf89", r"\ud83c\u0041", r"\ud83c\n"] {
        let refused =
            shop.post(NEW, order_with("message", "HALF").to_string().replace("HALF", half)).await;
        assert_eq!(refused.fields(), ["message"], "{half}");
        assert!(message(&refused).contains("half a character"), "{}", refused.text());
    }
    let name = shop.post(NEW, order().to_string().replacen('{', r#"{"a\ud83c":1,"#, 1)).await;
    assert_eq!(name.codes(400), ["MALFORMED_JSON"]);
    assert!(message(&name).contains("half a character"), "{}", name.text());
    let ignored = order().to_string().replacen('{', r#"{"other":"\ud83c","#, 1);
    let record = post_with(&shop, ("Idempotency-Key", "k"), ignored.clone()).await;
    record.ok();
    assert_eq!(post_with(&shop, ("Idempotency-Key", "k"), ignored).await.body, record.body);
}

#[tokio::test]
async fn a_secret_that_ends_with_a_line_break_is_told() {
    let shop = Shop::open().await;
    for end in ["\n", "\r\n"] {
        let refused =
            shop.get_as(&basic("shop", &format!("secret{end}")), "/v2/payments/1/0").await;
        assert_eq!(refused.codes(401), ["UNAUTHORIZED"]);
        assert!(message(&refused).contains("ends with a line break"), "{}", refused.text());
    }
    let wrong = shop.get_as(&basic("shop", "secret"), "/v2/payments/1/0").await;
    assert!(!message(&wrong).contains("line break"), "{}", wrong.text());
}

#[tokio::test]
async fn a_filter_by_address_names_a_foreign_character() {
    let shop = Shop::open().await;
    let refused = shop
        .get("/v2/payments/1/0?address=bcrt1q%E2%80%8Bw508d6qejxtdg4y5r3zarvary0c5xw7kygt080")
        .await;
    assert_eq!(refused.fields(), ["address"]);
    assert!(message(&refused).contains("U+200B"), "{}", refused.text());
}
