//! The sandbox's receiver: takes notifications in place of a shop's server. It needs no key, as a
//! shop's server has none.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use tillgate_gateway::notifications::Received;

use super::body::read_json_body;
use super::error::Failure;
use super::respond::json_answer;
use super::state::Http;

/// The header with the signature for existing integrations (interface, section 5).
const SIGNATURE: &str = "x-bpg-signature";

/// Takes a notification and checks its signature.
pub async fn take(State(http): State<Arc<Http>>, request: Request) -> Result<Response, Failure> {
    let (parts, body) = request.into_parts();
    let body = read_json_body(&parts.headers, body).await?;
    let signature = signature_of(&parts.headers);
    let check = http.app.notifier.keys.check(&body, signature.as_deref()).await?;
    let at = http.app.gateway.time.now();
    http.app.receiver.take(Received {
        at,
        body: String::from_utf8_lossy(&body).into_owned(),
        signature,
        check,
    });
    http.app.gateway.signals.note_change();
    Ok(json_answer("{}".to_owned()))
}

fn signature_of(headers: &HeaderMap) -> Option<String> {
    headers.get(SIGNATURE)?.to_str().ok().map(str::to_owned)
}
