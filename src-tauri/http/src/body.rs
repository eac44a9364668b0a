//! Reads a request's body, within limits of size and time. For the API it must be JSON in UTF-8.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use tokio_stream::StreamExt as _;

use super::error::Failure;
use tillgate_gateway::error_type::ErrorType;

/// The largest body (interface, section 1).
const BODY_MAX: usize = 64 * 1_024;

/// Limit of bytes read from a body that is too large. Many clients read the answer only after they
/// have sent the whole body.
const DRAIN_MAX: usize = 1_024 * 1_024;

/// Time limit for reading a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a call that needs none. Its size and type are checked, and its contents are ignored.
pub struct Unused;

impl<S: Send + Sync> FromRequest<S> for Unused {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        read_json_body(&parts.headers, body).await.map(|_| Self)
    }
}

/// The whole body, of any type.
pub async fn read_body(body: Body) -> Result<Bytes, Failure> {
    let read = tokio::time::timeout(BODY_TIMEOUT, read_bounded(body)).await;
    read.map_err(|_| {
        Failure::new(ErrorType::RequestTimeout, "The body did not arrive within 10 seconds")
    })?
}

/// The whole body. Unless it is empty, it must be JSON that is not compressed.
pub async fn read_json_body(headers: &HeaderMap, body: Body) -> Result<Bytes, Failure> {
    let body = read_body(body).await?;
    let message = if body.is_empty() {
        return Ok(body);
    } else if headers.contains_key(CONTENT_ENCODING) {
        "The body must not be compressed: send it without Content-Encoding"
    } else if !says_json(headers) {
        "The body must be application/json in UTF-8"
    } else {
        return Ok(body);
    };
    Err(Failure::new(ErrorType::UnsupportedMediaType, message))
}

async fn read_bounded(body: Body) -> Result<Bytes, Failure> {
    let mut chunks = body.into_data_stream();
    let broken = |_| Failure::new(ErrorType::BrokenBody, "The body could not be read");
    let Some(first) = chunks.next().await.transpose().map_err(broken)? else {
        return Ok(Bytes::new());
    };
    let Some(second) = chunks.next().await.transpose().map_err(broken)? else {
        return bounded(first);
    };
    let mut whole = Vec::with_capacity(BODY_MAX.min(2 * (first.len() + second.len())));
    let mut next = Some(first);
    let mut then = Some(second);
    let mut received = 0;
    while let Some(chunk) = next {
        received += chunk.len();
        if received <= BODY_MAX {
            whole.extend_from_slice(&chunk);
        } else if received > DRAIN_MAX {
            break;
        }
        next = match then.take() {
            Some(chunk) => Some(chunk),
            None => chunks.next().await.transpose().map_err(broken)?,
        };
    }
    if received > BODY_MAX { Err(too_large()) } else { Ok(whole.into()) }
}

fn bounded(body: Bytes) -> Result<Bytes, Failure> {
    if body.len() > BODY_MAX { Err(too_large()) } else { Ok(body) }
}

fn too_large() -> Failure {
    Failure::new(ErrorType::BodyTooLarge, "The body may have at most 65536 bytes")
}

fn says_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Ok(value) = value.to_str() else { return false };
    let (essence, parameters) = value.split_once(';').unwrap_or((value, ""));
    let charset = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    essence.trim().eq_ignore_ascii_case("application/json")
        && charset.is_none_or(|charset| {
            charset.eq_ignore_ascii_case("utf-8") || charset.eq_ignore_ascii_case("utf8")
        })
}
