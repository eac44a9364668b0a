//! Payouts over HTTP, from the offer to the approval.

mod approvals;
mod offers;
mod reads;
mod refunds;
mod refusals;

use axum::body::Body;
use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Value, json};
use tillgate_gateway::access::api_keys::KeyRequest;
use tillgate_gateway::settings::Act;
use tillgate_gateway::testing::SHOP;
use tillgate_store::notify_hosts::NotifyHosts;

use super::shop::{Answer, Shop, make_key, make_key_of};

const PAYOUTS: &str = "/v2/payouts";

/// A stranger's address on regtest.
const ADDRESS: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

/// A shop with a key for all payout calls.
struct Desk {
    shop: Shop,
    key: String,
}

/// A request for 0.001 BTC.
fn wish() -> Value {
    json!({ "btcAmount": "0.001", "currency": "USD", "address": ADDRESS, "notificationUrl": SHOP })
}

/// The request of [`wish`] with one field changed.
fn wish_with(field: &str, value: impl Into<Value>) -> Value {
    let mut wish = wish();
    wish[field] = value.into();
    wish
}

fn id(record: &Value) -> String {
    record["payoutId"].as_str().unwrap().to_owned()
}

impl Desk {
    async fn open() -> Self {
        let shop = Shop::open().await;
        let key = make_key(&shop.world.gateway.access.keys, "desk", "full", false).await;
        Self { shop, key }
    }

    async fn key(&self, name: &str, permissions: &str, own_only: bool) -> String {
        let request = KeyRequest {
            name: name.to_owned(),
            permissions: permissions.parse().unwrap(),
            notification_url_optional: false,
            own_only,
            notify_hosts: NotifyHosts::default(),
        };
        make_key_of(&self.shop.world.gateway.access.keys, request).await
    }

    async fn post_as(&self, key: &str, path: &str, body: String) -> Answer {
        let request = self.shop.request(Method::POST, path).header(AUTHORIZATION, key);
        self.shop
            .send(request.header(CONTENT_TYPE, "application/json").body(body.into()).unwrap())
            .await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_as(&self.key, path, body.to_string()).await
    }

    /// Requests an offer.
    async fn ask(&self, wish: &Value) -> Answer {
        self.post(PAYOUTS, wish).await
    }

    /// Requests an offer of this amount, which must succeed. Returns its id.
    async fn offer(&self, btc: &str) -> String {
        id(&self.ask(&wish_with("btcAmount", btc)).await.ok())
    }

    async fn approve_as(&self, key: &str, id: &str) -> Answer {
        self.post_as(key, "/v2/payouts/approve", json!({ "payoutId": id }).to_string()).await
    }

    async fn approve(&self, id: &str) -> Answer {
        self.approve_as(&self.key, id).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.shop.get_as(&self.key, path).await
    }

    async fn get_payout(&self, id: &str) -> Value {
        self.get(&format!("{PAYOUTS}/{id}")).await.ok()
    }

    async fn notify_as(&self, key: &str, id: &str) -> Answer {
        let request = self
            .shop
            .request(Method::POST, &format!("{PAYOUTS}/notify/{id}"))
            .header(AUTHORIZATION, key);
        self.shop.send(request.body(Body::empty()).unwrap()).await
    }

    /// The number of payouts.
    async fn count(&self) -> u64 {
        self.get(PAYOUTS).await.ok()["paginationInfo"]["itemsCount"].as_u64().unwrap()
    }

    async fn set(&self, name: &str, value: &str) {
        let gateway = &self.shop.world.gateway;
        let act = Act { actor: "cli", at: gateway.time.now() };
        gateway.settings.set(&gateway.store, name, value, act).await.unwrap();
    }

    /// Moves the clock to the next midnight (UTC), or a few milliseconds later.
    async fn pass_midnight(&self) {
        let day_ms = 24 * 60 * 60_000;
        let rest = day_ms - self.shop.world.now_ms().rem_euclid(day_ms);
        self.shop.world.pass_ms(rest).await;
    }
}
