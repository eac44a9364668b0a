//! `Idempotency-Key` on the wire.

use std::sync::Arc;

use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use serde_json::Value;

use super::shop::{Answer, NEW, Shop, order, order_with};

async fn ask_once(shop: &Shop, key: &str, path: &str, order: &Value) -> Answer {
    let request = shop.signed(Method::POST, path).header("Idempotency-Key", key);
    shop.send(
        request.header(CONTENT_TYPE, "application/json").body(order.to_string().into()).unwrap(),
    )
    .await
}

#[tokio::test]
async fn a_repeat_gets_the_same_bytes_and_a_changed_request_a_409() {
    let shop = Shop::open().await;
    let first = ask_once(&shop, "k-1", NEW, &order()).await;
    first.ok();
    assert_eq!(ask_once(&shop, "k-1", NEW, &order()).await.body, first.body);
    let other = order_with("amount", "11.00");
    assert_eq!(ask_once(&shop, "k-1", NEW, &other).await.codes(409), ["IDEMPOTENCY_KEY_REUSED"]);
    ask_once(&shop, "k-2", NEW, &other).await.ok();
    assert_eq!(shop.count().await, 2);
}

#[tokio::test]
async fn a_failed_request_frees_its_idempotency_key() {
    let shop = Shop::open().await;
    ask_once(&shop, "k", NEW, &order_with("amount", "0")).await.codes(400);
    ask_once(&shop, "k", NEW, &order()).await.ok();
}

#[tokio::test]
async fn a_repeat_is_answered_even_while_new_payments_are_refused() {
    let shop = Shop::open().await;
    let first = ask_once(&shop, "k", NEW, &order()).await;
    // The last look at the chain is too old, so new payments are refused.
    shop.world.advance_clock_ms(11 * 60_000);
    assert_eq!(shop.ask(&order()).await.codes(503), ["CHAIN_NOT_READY"]);
    assert_eq!(ask_once(&shop, "k", NEW, &order()).await.body, first.body);
}

#[tokio::test]
async fn an_idempotency_key_is_free_again_after_a_day() {
    let shop = Shop::open().await;
    let first = ask_once(&shop, "k", NEW, &order()).await.ok();
    shop.world.pass_ms(24 * 60 * 60_000 - 60_000).await;
    assert_eq!(ask_once(&shop, "k", NEW, &order()).await.ok()["paymentId"], first["paymentId"]);
    shop.world.pass_ms(60_000).await;
    assert_ne!(ask_once(&shop, "k", NEW, &order()).await.ok()["paymentId"], first["paymentId"]);
}

#[tokio::test]
async fn simultaneous_equal_requests_make_one_payment() {
    let shop = Arc::new(Shop::open().await);
    let mut twins = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let shop = Arc::clone(&shop);
        twins.spawn(async move { ask_once(&shop, "twin", NEW, &order()).await.text() });
    }
    let answers = twins.join_all().await;
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(shop.count().await, 1);
}

#[tokio::test]
async fn an_idempotency_key_has_1_to_255_characters() {
    let shop = Shop::open().await;
    ask_once(&shop, &"k".repeat(255), NEW, &order()).await.ok();
    for key in ["", &"k".repeat(256)] {
        assert_eq!(ask_once(&shop, key, NEW, &order()).await.fields(), ["Idempotency-Key"]);
    }
}
