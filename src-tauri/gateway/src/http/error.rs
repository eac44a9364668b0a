//! How failures look on the wire: an array of faults, a status, sometimes a header. An internal
//! failure shows a reference number that stands in the log too, and nothing else.

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::respond::json_answer;
use crate::entropy::{Entropy, SystemEntropy};
use crate::faults::Fault;
use crate::outbox::OutboxError;
use crate::payments::CreateError;
use crate::store::StoreError;

/// A failed request's answer.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    faults: Vec<Fault>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Failure {
    /// One fault of the whole request.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, faults: vec![Fault::general(code, message)], header: None }
    }

    /// 400 with every fault.
    pub(crate) fn invalid(faults: Vec<Fault>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, faults, header: None }
    }

    /// 400 for a body that is no JSON object of ours.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "MALFORMED_JSON", message)
    }

    /// 404; `what` is what there is none of ("payment").
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", format!("There is no such {what}"))
    }

    /// 401, with the one way to sign in.
    pub(crate) fn unauthorized() -> Self {
        let message = "Sign in with HTTP Basic: the API key's name and secret";
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
            .with(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Basic realm="Tillgate", charset="UTF-8""#))
    }

    /// 429 after too many failed sign-ins.
    pub(crate) fn too_many_sign_ins(retry_after_seconds: u32) -> Self {
        let message = "Too many failed sign-ins from this address: wait, then sign in with a valid key";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_SIGN_INS", message)
            .with(RETRY_AFTER, HeaderValue::from(retry_after_seconds))
    }

    /// 405. The router adds `Allow`.
    pub(crate) fn method_not_allowed(method: &Method) -> Self {
        let message = format!("{method} is not possible here");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message)
    }

    /// 500: the reason goes to the log under a reference number.
    pub(crate) fn internal(reason: &dyn std::fmt::Display) -> Self {
        let reference = SystemEntropy.id().map_or_else(|_| "unknown".to_owned(), |id| id.to_string()[..12].to_owned());
        tracing::error!(reference, %reason, "a request failed");
        let message = format!("Something went wrong here; the log has it under {reference}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", message)
    }

    /// 503.
    pub(super) fn unavailable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// The same with a header.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let faults = self.faults.iter().map(|fault| {
            let mut object = json!({ "errorType": fault.code, "message": fault.message });
            if let Some(field) = &fault.field {
                object["field"] = json!(field);
            }
            object
        });
        let mut response = json_answer(serde_json::Value::from_iter(faults).to_string());
        *response.status_mut() = self.status;
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::DiskFull
            | StoreError::ReadOnly
            | StoreError::Locked
            | StoreError::Io { .. }
            | StoreError::Closed
            | StoreError::CommitFailed(_) => {
                tracing::error!(%error, "a request was refused because nothing could be stored");
                Self::unavailable("STORAGE_UNAVAILABLE", "Nothing can be stored at the moment; nothing was changed")
            }
            StoreError::NewerSchema { .. }
            | StoreError::NotOurs { .. }
            | StoreError::Corrupt(_)
            | StoreError::BadValue(_)
            | StoreError::Sqlite(_) => Self::internal(&error),
        }
    }
}

impl From<OutboxError> for Failure {
    fn from(error: OutboxError) -> Self {
        match error {
            OutboxError::Store(error) => error.into(),
            OutboxError::Entropy(error) => Self::internal(&error),
        }
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Invalid(faults) => Self::invalid(faults),
            CreateError::KeyReused => Self::new(StatusCode::CONFLICT, "IDEMPOTENCY_KEY_REUSED", error.to_string()),
            CreateError::Rate(unavailable) => Self::unavailable("RATE_UNAVAILABLE", unavailable.to_string()),
            CreateError::ChainNotReady => Self::unavailable("CHAIN_NOT_READY", error.to_string()),
            CreateError::WalletNotReady => Self::unavailable("WALLET_NOT_READY", error.to_string()),
            CreateError::Wallet(error) => Self::internal(&error),
            CreateError::Entropy(error) => Self::internal(&error),
            CreateError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shown(failure: Failure) -> (u16, String) {
        let response = failure.into_response();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn an_internal_failure_tells_a_reference_number_and_nothing_else() {
        let (status, one) = shown(StoreError::Corrupt("page 7 of till.db".to_owned()).into()).await;
        let (_, other) = shown(StoreError::BadValue("payments.state").into()).await;
        assert_eq!(status, 500);
        assert!(!one.contains("page 7") && !other.contains("payments.state"), "{one} {other}");
        assert_ne!(one, other, "each has its own number");
    }

    #[tokio::test]
    async fn what_could_not_be_stored_is_503() {
        for error in [StoreError::DiskFull, StoreError::ReadOnly, StoreError::Locked, StoreError::Closed] {
            let (status, body) = shown(error.into()).await;
            assert_eq!(status, 503);
            assert!(body.contains("STORAGE_UNAVAILABLE"), "{body}");
        }
    }
}
