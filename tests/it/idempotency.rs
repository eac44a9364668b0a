//! `Idempotency-Key` on `POST /v2/payments/new`: repeated requests with one key create one payment.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::harness::client::{Client, payment_request};
use crate::harness::{Answer, Scene};

fn keyed(client: &Client, key: &str, body: &[u8]) -> Request<Body> {
    let request = client.request(Method::POST, "/v2/payments/new").header("idempotency-key", key);
    request.header(CONTENT_TYPE, "application/json").body(Body::from(body.to_vec())).unwrap()
}

async fn payment_count(s: &Scene) -> Value {
    s.get("/v2/payments/10/0").await.ok()["paginationInfo"]["itemsCount"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_again_gets_the_first_answer_byte_for_byte() {
    let mut s = Scene::open().await;
    let body = serde_json::to_vec(&payment_request("10.00", s.shop.url())).unwrap();
    let first = s.send(keyed(&s, "order-1", &body)).await;
    let id = first.ok()["paymentId"].as_str().unwrap().to_owned();
    s.pay(&id).await;
    s.gateway.kill();
    s.gateway.start_again();
    let again = s.send(keyed(&s, "order-1", &body)).await;
    assert_eq!((again.status, again.body), (first.status, first.body));
    assert!(!first.headers.contains_key("idempotent-replayed"));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(payment_count(&s).await, json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_identical_requests_make_one_payment() {
    let s = Scene::open().await;
    let body = serde_json::to_vec(&payment_request("10.00", s.shop.url())).unwrap();
    let mut twins = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (client, request) = (s.gateway.client.clone(), keyed(&s, "twin", &body));
        twins.spawn(async move { client.send(request).await });
    }
    let answers: Vec<Answer> = twins.join_all().await;
    for answer in &answers {
        assert_eq!((answer.status.as_u16(), &answer.body), (200, &answers[0].body));
    }
    assert_eq!(payment_count(&s).await, json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_body_under_the_same_key_is_a_conflict() {
    let s = Scene::open().await;
    let one = serde_json::to_vec(&payment_request("10.00", s.shop.url())).unwrap();
    let other = serde_json::to_vec(&payment_request("10.01", s.shop.url())).unwrap();
    s.send(keyed(&s, "order-1", &one)).await.ok();
    s.send(keyed(&s, "order-1", &other)).await.field_errors(409);
    assert_eq!(payment_count(&s).await, json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_frees_the_key_and_a_key_lasts_24_hours() {
    let s = Scene::open().await;
    let wrong = serde_json::to_vec(&payment_request("0", s.shop.url())).unwrap();
    let right = serde_json::to_vec(&payment_request("10.00", s.shop.url())).unwrap();
    s.send(keyed(&s, "order-1", &wrong)).await.field_errors(400);
    let first = s.send(keyed(&s, "order-1", &right)).await.ok();
    s.advance_clock(23 * 3_600).await;
    assert_eq!(s.send(keyed(&s, "order-1", &right)).await.ok(), first);
    s.advance_clock(3_600).await;
    assert_ne!(s.send(keyed(&s, "order-1", &right)).await.ok()["paymentId"], first["paymentId"]);
    s.send(keyed(&s, &"k".repeat(256), &right)).await.field_errors(400);
}
