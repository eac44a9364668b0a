//! Limits of a stolen API key among several shops: its records, its notification hosts, and the
//! resources that it uses.

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{Method, Request};
use serde_json::{Value, json};
use tillgate_gateway::access::api_keys::KeyRequest;
use tillgate_gateway::settings::Act;

use super::shop::{Answer, NEW, Shop, make_key, make_key_of, order, order_with};

async fn call(shop: &Shop, authorization: &str, method: Method, path: &str) -> Answer {
    let request = shop.request(method, path).header(AUTHORIZATION, authorization);
    shop.send(request.body(Body::empty()).unwrap()).await
}

async fn ask(shop: &Shop, authorization: &str, once: Option<&str>, order: &Value) -> Answer {
    let mut request: axum::http::request::Builder =
        shop.request(Method::POST, NEW).header(AUTHORIZATION, authorization);
    if let Some(once) = once {
        request = request.header("Idempotency-Key", once);
    }
    let request: Request<Body> =
        request.header(CONTENT_TYPE, "application/json").body(order.to_string().into()).unwrap();
    shop.send(request).await
}

async fn make(shop: &Shop, name: &str, own: bool, hosts: &[&str]) -> String {
    let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
    let request = KeyRequest {
        name: name.to_owned(),
        permissions: "full".parse().unwrap(),
        notification_url_optional: false,
        own_only: own,
        notify_hosts: tillgate_store::notify_hosts::NotifyHosts::parse(&hosts).unwrap(),
    };
    make_key_of(&shop.world.gateway.access.keys, request).await
}

async fn set(shop: &Shop, name: &str, value: &str) {
    let gateway = &shop.world.gateway;
    let act = Act { actor: "cli", at: gateway.time.now() };
    gateway.settings.set(&gateway.store, name, value, act).await.unwrap();
}

#[tokio::test]
async fn api_keys_do_not_share_idempotency_keys() {
    let shop = Shop::open().await;
    let stolen = make_key(&shop.world.gateway.access.keys, "stolen", "shop", false).await;
    let theirs = ask(&shop, &stolen, Some("order-1"), &order_with("amount", "1.00")).await.ok();
    let ours = ask(&shop, &shop.authorization, Some("order-1"), &order()).await.ok();
    assert_ne!(theirs["paymentId"], ours["paymentId"]);
    assert_eq!(ask(&shop, &shop.authorization, Some("order-1"), &order()).await.ok(), ours);
    let same = ask(&shop, &stolen, Some("order-1"), &order()).await;
    assert_eq!(same.codes(409), ["IDEMPOTENCY_KEY_REUSED"]);
}

#[tokio::test]
async fn an_own_only_key_sees_and_resends_only_its_own_records() {
    let shop = Shop::open().await;
    let own = make(&shop, "own", true, &[]).await;
    let mut ids = Vec::new();
    for authorization in [&shop.authorization, &own] {
        let created = ask(&shop, authorization, None, &order()).await.ok();
        let payment =
            shop.world.reload_payment(&created["paymentId"].as_str().unwrap().parse().unwrap());
        shop.world.pay(&payment, payment.payment.amount_sats * 2).await;
        shop.world.mine(2).await;
        let filter = format!("/v2/anomalies?paymentId={}", created["paymentId"].as_str().unwrap());
        let anomaly =
            shop.get(&filter).await.ok()["items"][0]["anomalyId"].as_str().unwrap().to_owned();
        ids.push((created["paymentId"].as_str().unwrap().to_owned(), anomaly));
    }
    let [(others, others_anomaly), (its, its_anomaly)] = &ids[..] else { panic!("two payments") };

    for path in [format!("/v2/payments/{others}"), format!("/v2/anomalies/{others_anomaly}")] {
        assert_eq!(call(&shop, &own, Method::GET, &path).await.codes(404), ["NOT_FOUND"], "{path}");
        shop.get(&path).await.ok();
    }
    for path in [
        format!("/v2/payments/notify/{others}"),
        format!("/v2/anomalies/notify/{others_anomaly}"),
        format!("/v2/anomalies/notify/{others}"),
    ] {
        let before = shop.world.notified(&others.parse().unwrap()).len()
            + shop.world.notified(&others_anomaly.parse().unwrap()).len();
        assert_eq!(
            call(&shop, &own, Method::POST, &path).await.codes(404),
            ["NOT_FOUND"],
            "{path}"
        );
        let after = shop.world.notified(&others.parse().unwrap()).len()
            + shop.world.notified(&others_anomaly.parse().unwrap()).len();
        assert_eq!(before, after, "{path} queued a notification");
        assert_eq!(shop.post_empty(&path).await.ok(), json!({ "value": 200 }), "{path}");
    }
    for (path, shown) in [
        ("/v2/payments/10/0", its),
        ("/v2/anomalies", its_anomaly),
        ("/v2/payments/anomalies", its_anomaly),
    ] {
        let page = call(&shop, &own, Method::GET, path).await.ok();
        assert_eq!(page["paginationInfo"]["itemsCount"], 1, "{path}");
        let item = &page["items"][0];
        let id = item.get("anomalyId").unwrap_or(&item["paymentId"]);
        assert_eq!(id.as_str(), Some(shown.as_str()), "{path}");
        assert_eq!(shop.get(path).await.ok()["paginationInfo"]["itemsCount"], 2, "{path}");
    }
    for path in [format!("/v2/payments/{its}"), format!("/v2/anomalies/{its_anomaly}")] {
        call(&shop, &own, Method::GET, &path).await.ok();
    }
    for path in [format!("/v2/payments/notify/{its}"), format!("/v2/anomalies/notify/{its}")] {
        assert_eq!(
            call(&shop, &own, Method::POST, &path).await.ok(),
            json!({ "value": 200 }),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_new_key_sees_no_records_of_a_revoked_key_of_its_name() {
    let shop = Shop::open().await;
    let first = make(&shop, "own", true, &[]).await;
    let made = ask(&shop, &first, None, &order()).await.ok();
    shop.world
        .gateway
        .access
        .keys
        .revoke("own", shop.world.gateway.time.now(), "cli")
        .await
        .unwrap();
    let second = make(&shop, "own", true, &[]).await;
    assert_eq!(
        call(&shop, &second, Method::GET, "/v2/payments/10/0").await.ok()["items"],
        json!([])
    );
    let path = format!("/v2/payments/{}", made["paymentId"].as_str().unwrap());
    call(&shop, &second, Method::GET, &path).await.codes(404);
}

#[tokio::test]
async fn a_key_limited_to_hosts_cannot_name_other_hosts() {
    let shop = Shop::open().await;
    let bound = make(&shop, "bound", false, &["shop.test", "hooks.shop.test"]).await;
    for field in ["notificationUrl", "anomalyNotificationUrl"] {
        let refused =
            ask(&shop, &bound, None, &order_with(field, "https://other-shop.test/notify")).await;
        assert_eq!(refused.fields(), [field]);
        let message = refused.json()[0]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("shop.test") && message.contains("hooks.shop.test"), "{message}");
    }
    let mut both = order_with("notificationUrl", "https://evil.test/");
    both["anomalyNotificationUrl"] = "https://evil.test/".into();
    assert_eq!(
        ask(&shop, &bound, None, &both).await.fields(),
        ["notificationUrl", "anomalyNotificationUrl"]
    );
    ask(&shop, &bound, None, &order_with("notificationUrl", "https://hooks.shop.test:8443/a"))
        .await
        .ok();
    // The limit applies to notification URLs only, not to redirect URLs.
    ask(
        &shop,
        &bound,
        None,
        &order_with("redirectUrls", json!({ "confirmed": "https://elsewhere.test/" })),
    )
    .await
    .ok();
}

#[tokio::test]
async fn a_key_above_its_request_rate_is_refused_and_others_are_not() {
    let shop = Shop::open().await;
    let greedy = make_key(&shop.world.gateway.access.keys, "greedy", "shop", false).await;
    set(&shop, "keyRequestsPerSecond", "1").await;
    let refused = async {
        for made in 0u32.. {
            let answer = ask(&shop, &greedy, None, &order()).await;
            if answer.status != 200 {
                return (made, answer);
            }
        }
        unreachable!("the numbers never end")
    };
    let (made, refused) =
        tokio::time::timeout(std::time::Duration::from_secs(60), refused).await.expect("no limit");
    assert!(made >= 25, "refused after only {made} payments");
    assert_eq!(refused.codes(429), ["KEY_LIMIT"]);
    assert_eq!(refused.headers["retry-after"], "1");
    ask(&shop, &shop.authorization, None, &order()).await.ok();
    call(&shop, &greedy, Method::GET, "/v2/payments/10/0").await.ok();
    set(&shop, "keyRequestsPerSecond", "0").await;
    ask(&shop, &greedy, None, &order()).await.ok();
}

#[tokio::test]
async fn resends_count_toward_the_request_rate() {
    let shop = Shop::open().await;
    let created = shop.ask(&order()).await.ok();
    set(&shop, "keyRequestsPerSecond", "1").await;
    let id = created["paymentId"].as_str().unwrap();
    for (method, path) in [
        (Method::POST, format!("/v2/payments/notify/{id}")),
        (Method::GET, format!("/v2/payments/notify/{id}")),
        (Method::POST, format!("/v2/anomalies/notify/{id}")),
    ] {
        let refused = async {
            loop {
                let answer = call(&shop, &shop.authorization, method.clone(), &path).await;
                if answer.status != 200 {
                    return answer;
                }
            }
        };
        let refused = tokio::time::timeout(std::time::Duration::from_secs(60), refused)
            .await
            .expect("no limit");
        assert_eq!(refused.codes(429), ["KEY_LIMIT"], "{path}");
    }
}

#[tokio::test]
async fn the_limit_of_open_payments_applies_to_each_key_alone() {
    let shop = Shop::open().await;
    let greedy = make_key(&shop.world.gateway.access.keys, "greedy", "shop", false).await;
    set(&shop, "keyOpenPayments", "3").await;
    let first = ask(&shop, &greedy, Some("first"), &order()).await;
    for _ in 0..2 {
        ask(&shop, &greedy, None, &order()).await.ok();
    }
    let refused = ask(&shop, &greedy, None, &order()).await;
    assert_eq!(refused.codes(429), ["KEY_LIMIT"]);
    assert!(refused.headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap() >= 1);
    assert_eq!(ask(&shop, &greedy, None, &order_with("amount", "0")).await.fields(), ["amount"]);
    assert_eq!(
        ask(&shop, &greedy, Some("first"), &order()).await.body,
        first.body,
        "a repeat makes no payment"
    );
    ask(&shop, &shop.authorization, None, &order()).await.ok();
    // A closed payment makes room for a new one.
    shop.world.pass_ms(31 * 60_000).await;
    let made = async {
        while ask(&shop, &greedy, None, &order()).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), made)
        .await
        .expect("a closed payment makes room");
}

#[tokio::test]
async fn payments_made_before_the_limit_was_set_count() {
    let shop = Shop::open().await;
    shop.ask(&order()).await.ok();
    set(&shop, "keyOpenPayments", "1").await;
    assert_eq!(shop.ask(&order()).await.codes(429), ["KEY_LIMIT"]);
}

#[tokio::test]
async fn a_nearly_full_disk_refuses_new_records_and_serves_the_rest() {
    let shop = Shop::open().await;
    let made = shop.ask(&order()).await.ok();
    let once = ask(&shop, &shop.authorization, Some("k"), &order()).await;
    shop.world.gateway.machine.disk.set_free_bytes(999_000_000);
    assert_eq!(shop.ask(&order()).await.codes(503), ["STORAGE_UNAVAILABLE"]);
    assert_eq!(ask(&shop, &shop.authorization, Some("k"), &order()).await.body, once.body);
    let id = made["paymentId"].as_str().unwrap();
    let payment = shop.world.reload_payment(&id.parse().unwrap());
    shop.world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(shop.get(&format!("/v2/payments/{id}")).await.ok()["status"], "UNCONFIRMED");
    let told = shop.world.notified(&payment.payment.id).len();
    for (method, path) in [
        (Method::POST, format!("/v2/payments/notify/{id}")),
        (Method::GET, format!("/v2/payments/notify/{id}")),
        (Method::POST, format!("/v2/anomalies/notify/{id}")),
    ] {
        let refused = call(&shop, &shop.authorization, method, &path).await;
        assert_eq!(refused.codes(503), ["STORAGE_UNAVAILABLE"], "{path}");
    }
    assert_eq!(shop.world.notified(&payment.payment.id).len(), told);
    shop.world.mine(1).await;
    assert_eq!(
        shop.world.notified(&payment.payment.id).len(),
        told + 1,
        "later changes of the payment are notified"
    );
    shop.world.gateway.machine.disk.set_free_bytes(1_001_000_000);
    shop.ask(&order()).await.ok();
    assert_eq!(
        shop.post_empty(&format!("/v2/payments/notify/{id}")).await.ok(),
        json!({ "value": 200 })
    );
}

#[tokio::test]
async fn sandbox_calls_need_disk_space_and_count_as_requests() {
    let shop = Shop::open().await;
    let block = || call(&shop, &shop.authorization, Method::POST, "/sandbox/blocks");
    shop.world.gateway.machine.disk.set_free_bytes(999_000_000);
    assert_eq!(block().await.codes(503), ["STORAGE_UNAVAILABLE"]);
    shop.get("/sandbox").await.ok();
    shop.world.gateway.machine.disk.set_free_bytes(1_001_000_000);
    block().await.ok();
    set(&shop, "keyRequestsPerSecond", "1").await;
    let refused = async {
        loop {
            let answer = block().await;
            if answer.status != 200 {
                return answer;
            }
        }
    };
    let refused =
        tokio::time::timeout(std::time::Duration::from_secs(60), refused).await.expect("no limit");
    assert_eq!(refused.codes(429), ["KEY_LIMIT"]);
}
