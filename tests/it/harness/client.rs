//! A shop's program: HTTP with Basic authentication only.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper_util::client::legacy::Client as Hyper;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::TIMEOUT;

/// Limit for the body of a response, in bytes.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// Name and secret of an API key.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub name: String,
    pub secret: String,
}

impl Credentials {
    /// The value of the `Authorization` header.
    pub fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.name, self.secret)))
    }
}

/// A response to a request.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: no JSON ({error}): {}", self.status, self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The JSON of a response that must be 200.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text());
        self.json()
    }

    /// The `errorType`s and `field`s of a response that must be a failure with this status.
    pub fn field_errors(&self, status: u16) -> Vec<(String, Option<String>)> {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        let body = self.json();
        let field_errors = body.as_array().unwrap_or_else(|| panic!("no array: {body}"));
        assert!(!field_errors.is_empty());
        field_errors
            .iter()
            .map(|field_error| {
                assert!(field_error["message"].is_string(), "{field_error}");
                let kind = field_error["errorType"].as_str().unwrap().to_owned();
                (kind, field_error["field"].as_str().map(str::to_owned))
            })
            .collect()
    }
}

/// Calls one gateway with one key.
#[derive(Clone)]
pub struct Client {
    hyper: Hyper<HttpConnector, Body>,
    base: String,
    key: Credentials,
}

impl Client {
    pub fn new(base: &str, key: Credentials) -> Self {
        let hyper = Hyper::builder(TokioExecutor::new()).build_http();
        Self { hyper, base: base.to_owned(), key }
    }

    /// The same gateway with another key.
    pub fn with_key(&self, key: Credentials) -> Self {
        Self { key, ..self.clone() }
    }

    /// Calls this address from now on, because the gateway was restarted.
    pub fn set_address(&mut self, base: &str) {
        *self = Self::new(base, self.key.clone());
    }

    /// `http://address:port`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The API key of its requests.
    pub fn key(&self) -> &Credentials {
        &self.key
    }

    /// A request to `path` (from the root) with this key; the caller adds headers and a body.
    pub fn request(&self, method: Method, path: &str) -> axum::http::request::Builder {
        let uri = if path.starts_with("http://") {
            path.to_owned()
        } else {
            format!("{}{path}", self.base)
        };
        Request::builder().method(method).uri(uri).header(AUTHORIZATION, self.key.basic())
    }

    /// Sends a request; `None` if the gateway was killed before it answered.
    pub async fn try_send(&self, request: Request<Body>) -> Option<Answer> {
        let what = format!("{} {}", request.method(), request.uri());
        let exchange = async {
            let response = self.hyper.request(request).await.ok()?;
            let (parts, body) = response.into_parts();
            let body = to_bytes(Body::new(body), MAX_ANSWER).await.ok()?;
            Some(Answer { status: parts.status, headers: parts.headers, body })
        };
        let answered = tokio::time::timeout(TIMEOUT, exchange).await;
        answered.unwrap_or_else(|_| panic!("no response to {what} within {TIMEOUT:?}"))
    }

    /// Sends a request, and fails if no response comes.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let what = format!("{} {}", request.method(), request.uri());
        self.try_send(request).await.unwrap_or_else(|| panic!("no response to {what}"))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    /// POST without a body.
    pub async fn post_empty(&self, path: &str) -> Answer {
        self.send(self.request(Method::POST, path).body(Body::empty()).unwrap()).await
    }

    /// POST of a JSON document.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send_json(Method::POST, path, body).await
    }

    /// Sends a JSON document by any method.
    pub async fn send_json(&self, method: Method, path: &str, body: &Value) -> Answer {
        self.send(self.json_request(method, path, body)).await
    }

    /// A request with a JSON document.
    pub fn json_request(&self, method: Method, path: &str, body: &Value) -> Request<Body> {
        let bytes = serde_json::to_vec(body).unwrap();
        self.request(method, path)
            .header(CONTENT_TYPE, "application/json")
            .body(Body::from(bytes))
            .unwrap()
    }

    /// The current record of a payment.
    pub async fn payment(&self, id: &str) -> Value {
        self.get(&format!("/v2/payments/{id}")).await.ok()
    }

    /// The anomalies of a payment, oldest first.
    pub async fn anomalies(&self, payment_id: &str) -> Vec<Value> {
        let page = self.get(&format!("/v2/anomalies?paymentId={payment_id}")).await.ok();
        let mut items = page["items"].as_array().unwrap().clone();
        items.reverse();
        items
    }

    /// Requests a payment whose notifications go to the shop at `shop_url`.
    pub async fn new_payment(&self, price: &str, shop_url: &str) -> Value {
        self.post("/v2/payments/new", &payment_request(price, shop_url)).await.ok()
    }
}

/// A complete request for a payment in US dollars.
pub fn payment_request(price: &str, shop_url: &str) -> Value {
    json!({
        "amount": price,
        "currency": "USD",
        "notificationUrl": format!("{shop_url}/payment"),
        "anomalyNotificationUrl": format!("{shop_url}/anomaly"),
        "message": "Two coffees",
        "merchantTransactionId": "order-1",
    })
}

/// A JSON string's text.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}")).to_owned()
}
