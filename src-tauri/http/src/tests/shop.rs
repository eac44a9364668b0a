//! A served gateway with an API key, and the HTTP client of a shop.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tillgate_gateway::access::api_keys::{ApiKeys, KeyRequest};
use tillgate_gateway::testing::World;
use tillgate_machine::entropy::SystemEntropy;
use tillgate_store::notify_hosts::NotifyHosts;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{Http, Limits, Surface, serve};

pub const NEW: &str = "/v2/payments/new";

pub struct Shop {
    pub world: World,
    pub authority: String,
    pub authorization: String,
    client: Client<HttpConnector, Body>,
    pub stop: CancellationToken,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The record or list of an answer that must be 200.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text());
        self.json()
    }

    /// The error types of a failure, which must have this status.
    pub fn codes(&self, status: u16) -> Vec<String> {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.headers[CONTENT_TYPE], "application/json");
        let field_errors = self.json();
        field_errors
            .as_array()
            .unwrap()
            .iter()
            .map(|field_error| field_error["errorType"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The fields that a 400 names.
    pub fn fields(&self) -> Vec<String> {
        self.codes(400);
        let field_errors = self.json();
        field_errors
            .as_array()
            .unwrap()
            .iter()
            .map(|field_error| field_error["field"].as_str().unwrap_or("").to_owned())
            .collect()
    }
}

/// Makes a wallet whose words are in memory.
pub async fn make_wallet(world: &World) {
    world.make_wallet().await;
}

pub async fn make_key(
    keys: &Arc<ApiKeys>,
    name: &str,
    permissions: &str,
    url_optional: bool,
) -> String {
    let request = KeyRequest {
        name: name.to_owned(),
        permissions: permissions.parse().unwrap(),
        notification_url_optional: url_optional,
        own_only: false,
        notify_hosts: NotifyHosts::default(),
    };
    make_key_of(keys, request).await
}

pub async fn make_key_of(keys: &Arc<ApiKeys>, request: KeyRequest) -> String {
    let name = request.name.clone();
    let now = tillgate_domain::time::Timestamp::from_ms(0);
    let (_, secret) = keys.create(request, &SystemEntropy, now, "cli").await.unwrap();
    basic(&name, &secret)
}

pub fn basic(name: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{name}:{secret}")))
}

/// A valid body for a new payment.
pub fn order() -> Value {
    json!({
        "amount": "10.00", "currency": "USD", "message": "2 × café", "merchantTransactionId": "order-1",
        "notificationUrl": "http://shop.test/notify", "anomalyNotificationUrl": "http://shop.test/anomalies",
    })
}

/// An order with one field changed.
pub fn order_with(field: &str, value: impl Into<Value>) -> Value {
    let mut order = order();
    order[field] = value.into();
    order
}

impl Shop {
    /// A served gateway with a wallet, and a key with all permissions for payments.
    pub async fn open() -> Self {
        let world = World::new().await;
        make_wallet(&world).await;
        Self::serve(world).await
    }

    pub async fn serve(world: World) -> Self {
        Self::serve_within(world, Limits::with_descriptors(1_024)).await
    }

    /// Serves as [`Self::serve`] does, within the test's own limits.
    pub async fn serve_within(world: World, limits: Limits) -> Self {
        let authorization = make_key(&world.gateway.access.keys, "shop", "shop", false).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let stop = CancellationToken::new();
        let http = Http::new(Arc::clone(&world.app), limits);
        tokio::spawn(serve(http, listener, Surface::Everything, None, stop.clone()));
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { world, authority, authorization, client, stop }
    }

    pub fn request(&self, method: Method, path: &str) -> axum::http::request::Builder {
        Request::builder().method(method).uri(format!("http://{}{path}", self.authority))
    }

    pub fn signed(&self, method: Method, path: &str) -> axum::http::request::Builder {
        self.request(method, path).header(AUTHORIZATION, &self.authorization)
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.client.request(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(Body::new(body), 1 << 24).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.signed(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    pub async fn get_as(&self, authorization: &str, path: &str) -> Answer {
        let request = self.request(Method::GET, path).header(AUTHORIZATION, authorization);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub async fn post_empty(&self, path: &str) -> Answer {
        self.send(self.signed(Method::POST, path).body(Body::empty()).unwrap()).await
    }

    pub async fn post(&self, path: &str, body: impl Into<Body>) -> Answer {
        let request = self.signed(Method::POST, path).header(CONTENT_TYPE, "application/json");
        self.send(request.body(body.into()).unwrap()).await
    }

    pub async fn ask(&self, order: &Value) -> Answer {
        self.post(NEW, order.to_string()).await
    }

    /// The number of payments.
    pub async fn count(&self) -> u64 {
        self.get("/v2/payments/1/0").await.ok()["paginationInfo"]["itemsCount"].as_u64().unwrap()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
