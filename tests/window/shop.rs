//! A shop's program, which calls the API.

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use base64::Engine as _;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// The most bytes of an answer that are read.
const ANSWER_MAX: usize = 65_536;

/// A shop with an API key.
pub struct Shop {
    api: String,
    authorization: String,
}

impl Shop {
    /// A shop with the key of this name and secret.
    pub fn new(api: String, name: &str, secret: &str) -> Self {
        let key = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{secret}"));
        Self { api, authorization: format!("Basic {key}") }
    }

    /// Posts a body to a path of the API, and returns the answer.
    pub async fn posts(&self, path: &str, body: &Value) -> Value {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}{path}", self.api))
            .header("authorization", &self.authorization)
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        let answer =
            Client::builder(TokioExecutor::new()).build_http().request(request).await.unwrap();
        let status = answer.status();
        let bytes = to_bytes(Body::new(answer.into_body()), ANSWER_MAX).await.unwrap();
        assert!(status.is_success(), "{path}: {}", String::from_utf8_lossy(&bytes));
        if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() }
    }
}
