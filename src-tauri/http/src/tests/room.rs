//! Disk space reserved for later notifications of open payments: no key can use it up, and it is
//! large enough.

use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Value, json};
use tillgate_domain::notification::Outcome;
use tillgate_gateway::settings::Act;
use tillgate_machine::entropy::{Entropy as _, SystemEntropy};
use tillgate_store::StoreError;
use tillgate_store::deliveries::NewDelivery;
use tillgate_store::notifications::{Turn, server_of};

use super::shop::{Answer, NEW, Shop, make_key, order};

/// Number of delivery attempts in three days, if the random part shortens each delay.
const ATTEMPTS: u32 = 21;

const MINUTE_MS: i64 = 60_000;

/// The room that the gateway leaves for one open payment.
const OPEN_PAYMENT_BYTES: u64 = 60_000;

fn url(bytes: usize) -> String {
    format!("http://shop.test/{}", "u".repeat(bytes - 17))
}

/// An order whose texts have 8,192 bytes together.
fn largest_order() -> Value {
    json!({
        "amount": "10.00", "currency": "USD", "message": "😀".repeat(512), "merchantTransactionId": "",
        "notificationUrl": url(2_048), "anomalyNotificationUrl": url(2_048), "redirectUrls": { "expired": url(2_048) },
    })
}

async fn ask(shop: &Shop, authorization: &str, once: &str, order: &Value) -> Answer {
    let request = shop.request(Method::POST, NEW).header(AUTHORIZATION, authorization);
    let request = request.header(CONTENT_TYPE, "application/json").header("Idempotency-Key", once);
    shop.send(request.body(order.to_string().into()).unwrap()).await
}

async fn set(shop: &Shop, name: &str, value: &str) {
    let gateway = &shop.world.gateway;
    let act = Act { actor: "cli:ann", at: gateway.time.now() };
    gateway.settings.set(&gateway.store, name, value, act).await.unwrap();
}

fn used_bytes(shop: &Shop) -> u64 {
    shop.world.gateway.store.read(|reader| reader.used_bytes()).unwrap()
}

/// Records failed attempts at each of the key's notifications, as many as fit into three days. Each
/// answer has 1 KiB.
async fn attempt_in_vain(shop: &Shop, key_id: i64) {
    let store = &shop.world.gateway.store;
    let (now, server) = (shop.world.gateway.time.now(), server_of(&url(2_048)));
    let due = store
        .read(|reader| reader.attempts_at(Turn::First, (key_id, &server), now, 1_000))
        .unwrap();
    assert!(!due.is_empty());
    for attempt in 1..=ATTEMPTS {
        for notification in &due {
            let (seq, outcome) = (notification.seq, Outcome::RetryAt(now));
            let delivery = NewDelivery {
                id: SystemEntropy.id().unwrap(),
                attempt,
                started_at: now,
                duration_ms: 10_000,
                status_code: Some(500),
                error: Some(tillgate_told::Telling::of_text("e".repeat(100))),
                answer: Some(vec![b'x'; 1_024]),
            };
            let recorded = store.write(move |tx| tx.record_attempt(seq, &delivery, outcome, now));
            recorded.await.map_err(|error: StoreError| error).unwrap();
        }
    }
}

#[tokio::test]
async fn new_records_leave_room_for_the_open_payments_of_all_keys() {
    let shop = Shop::open().await;
    let keys = shop.world.gateway.access.keys.live_count();
    set(&shop, "keyOpenPayments", "100").await;
    let kept = 1_000_000_000 + OPEN_PAYMENT_BYTES * 100 * (keys + 1);
    shop.world.gateway.machine.disk.set_free_bytes(kept - 1);
    assert_eq!(shop.ask(&order()).await.codes(503), ["STORAGE_UNAVAILABLE"]);
    shop.world.gateway.machine.disk.set_free_bytes(kept);
    shop.ask(&order()).await.ok();

    make_key(&shop.world.gateway.access.keys, "another", "shop", false).await;
    assert_eq!(shop.ask(&order()).await.codes(503), ["STORAGE_UNAVAILABLE"]);
    set(&shop, "keyOpenPayments", "0").await;
    shop.ask(&order()).await.ok();
}

#[tokio::test]
async fn the_largest_payments_use_no_more_than_their_reserved_space() {
    const COUNT: u64 = 40;
    let shop = Shop::open().await;
    let greedy = make_key(&shop.world.gateway.access.keys, "greedy", "shop", false).await;
    let empty = used_bytes(&shop);
    for once in 0..COUNT {
        ask(&shop, &greedy, &once.to_string(), &largest_order()).await.ok();
    }
    let made = used_bytes(&shop);
    shop.world.pass_ms(91 * MINUTE_MS).await;
    let expired = used_bytes(&shop);
    let key_id = shop
        .world
        .gateway
        .access
        .keys
        .list()
        .unwrap()
        .iter()
        .find(|key| key.name == "greedy")
        .unwrap()
        .key_id;
    attempt_in_vain(&shop, key_id).await;
    let attempted = used_bytes(&shop);
    println!(
        "bytes of one payment: {} when made, {} more when expired, {} more for attempts",
        (made - empty) / COUNT,
        (expired - made) / COUNT,
        (attempted - expired) / COUNT
    );
    let later = (attempted - made) / COUNT;
    assert!(later <= OPEN_PAYMENT_BYTES, "{later}");
}
