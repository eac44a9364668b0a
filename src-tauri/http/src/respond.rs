//! Answers to successful requests.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use tokio_stream::StreamExt as _;

/// 1 January 2026. The header needs a date of deprecation, and the interface names none.
const DEPRECATED_SINCE: HeaderValue = HeaderValue::from_static("@1767225600");

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// 200 with a JSON text.
pub fn json_answer(json: impl Into<Body>) -> Response {
    let mut response = Response::new(json.into());
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// The first answer to a request that was sent again with its `Idempotency-Key` (interface, section
/// 1).
pub fn replayed(answer: Vec<u8>) -> Response {
    let mut response = json_answer(answer);
    response
        .headers_mut()
        .insert(HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("true"));
    response
}

/// The same answer; `held` is dropped after the body was sent or the client disconnected.
pub fn holding<T: Send + 'static>(response: Response, held: T) -> Response {
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |part| {
            let _held = &held;
            part
        }))
    })
}

/// The answer to a resend. Its value is 200 if a notification was queued, and 402 if there is none
/// to send, or no URL.
pub fn resend_answer(queued: u32) -> Response {
    json_answer(if queued > 0 { r#"{"value":200}"# } else { r#"{"value":402}"# })
}

/// Marks the answer of a deprecated call (RFC 9745).
pub fn deprecated(mut response: Response, successor: Option<HeaderValue>) -> Response {
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("deprecation"), DEPRECATED_SINCE);
    if let Some(successor) = successor {
        headers.insert(axum::http::header::LINK, successor);
    }
    response
}
