//! The sandbox's calls over HTTP, for the test suites of shops: any key of the environment may make
//! them, and anywhere but in the sandbox they are not there.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use axum::routing::any;
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

/// The paths of all calls. They stand beside `/v2`, and below it too for clients that put all paths there.
const PATHS: [&str; 10] = [
    "/sandbox",
    "/sandbox/payments/{payment_id}/pay",
    "/sandbox/transactions/{txid}/replace",
    "/sandbox/transactions/{txid}/evict",
    "/sandbox/blocks",
    "/sandbox/reorg",
    "/sandbox/clock",
    "/sandbox/rates",
    "/sandbox/send",
    "/sandbox/faults",
];

const V2: &str = "/v2";

/// Every call, to be added to the API.
pub(super) fn routes() -> Router<Arc<Http>> {
    let with_both =
        |router: Router<Arc<Http>>, path| router.route(path, any(call)).route(&format!("{V2}{path}"), any(call));
    PATHS.into_iter().fold(Router::new(), with_both)
}

/// Any of them: [`sandbox_calls::call`] tells them apart.
async fn call(
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
    let path = parts.uri.path();
    let path = path.strip_prefix(V2).unwrap_or(path);
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
