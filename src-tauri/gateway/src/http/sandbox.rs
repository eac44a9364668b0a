//! The sandbox's calls over HTTP, for the test suites of shops: any key of the environment may make
//! them, and anywhere but in the sandbox they are not there.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use serde_json::Value;
use tillgate_sandbox::SandboxError;

use super::Http;
use super::auth::Caller;
use super::body::read_json_body;
use super::error::Failure;
use super::json::JsonObject;
use super::respond::json_answer;
use crate::sandbox_calls::{self, CallError};
use crate::watcher::WatchError;

/// The paths of all calls, below `/v2`.
pub(super) const PATHS: [&str; 10] = [
    "/v2/sandbox",
    "/v2/sandbox/payments/{payment_id}/pay",
    "/v2/sandbox/transactions/{txid}/replace",
    "/v2/sandbox/transactions/{txid}/evict",
    "/v2/sandbox/blocks",
    "/v2/sandbox/reorg",
    "/v2/sandbox/clock",
    "/v2/sandbox/rates",
    "/v2/sandbox/send",
    "/v2/sandbox/faults",
];

/// Any of them: [`sandbox_calls::call`] tells them apart.
pub(super) async fn call(
    State(http): State<Arc<Http>>,
    caller: Result<Caller, Failure>,
    request: Request,
) -> Result<Response, Failure> {
    if http.gateway.sandbox.is_none() {
        return Err(CallError::NoSuchPath.into());
    }
    caller?;
    let (parts, body) = request.into_parts();
    let method = if parts.method == Method::HEAD { &Method::GET } else { &parts.method };
    let body = read_json_body(&parts.headers, body).await?;
    let body = if body.is_empty() {
        Value::Null
    } else {
        // Read twice: once for what only a strict reader sees, a name twice among it.
        JsonObject::parse(&body)?;
        serde_json::from_slice(&body).map_err(|error| Failure::malformed(error.to_string()))?
    };
    let path = parts.uri.path().strip_prefix("/v2").unwrap_or_default();
    let answer = sandbox_calls::call(&http.gateway, method.as_str(), path, body).await?;
    Ok(json_answer(answer.to_string()))
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NoSuchPath => Self::not_found("path"),
            CallError::MethodNotAllowed(allowed) => {
                Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", error.to_string())
                    .with(ALLOW, HeaderValue::from_static(allowed))
            }
            CallError::NotFound(message) => Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message),
            CallError::Invalid(faults) => Self::invalid(faults),
            CallError::Conflict(message) => Self::new(StatusCode::CONFLICT, "SANDBOX_REFUSED", message),
            CallError::Store(error) => error.into(),
            CallError::Look(WatchError::Store(error)) => error.into(),
            CallError::Look(error) => Self::internal(&error),
            CallError::Sandbox(error @ (SandboxError::Storage(_) | SandboxError::File(_))) => {
                tracing::error!(%error, "a call of the sandbox was refused because nothing could be stored");
                Self::unavailable("STORAGE_UNAVAILABLE", "Nothing can be stored at the moment; nothing was changed")
            }
            CallError::Sandbox(error) => Self::internal(&error),
            CallError::BrokenOff => Self::internal(&error),
        }
    }
}
