//! What the headers of an answer say, for whoever asks servers.

use hyper::HeaderMap;
use hyper::header::{DATE, HeaderName, RETRY_AFTER};
use tillgate_domain::time::Timestamp;

use crate::machine::clock::machine_now;

/// How long the server wants to be left alone: seconds, or a date by its own clock.
pub(crate) fn retry_after_ms(headers: &HeaderMap) -> Option<i64> {
    let text = text(headers, RETRY_AFTER)?;
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Too many digits for a number are a long time.
        return Some(text.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1_000));
    }
    let until = Timestamp::parse_http_date(text).ok()?;
    let from = date(headers).unwrap_or_else(machine_now);
    Some(until.ms().saturating_sub(from.ms()).max(0))
}

/// When the answer was made, by the server's clock.
pub(crate) fn date(headers: &HeaderMap) -> Option<Timestamp> {
    Timestamp::parse_http_date(text(headers, DATE)?).ok()
}

/// A header's text, where there is any.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}
