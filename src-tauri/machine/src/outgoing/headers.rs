//! Parses headers of answers.

use hyper::HeaderMap;
use hyper::header::{DATE, HeaderName, RETRY_AFTER};
use tillgate_domain::time::Timestamp;

use crate::clock::machine_now;

/// Time for which the server wants no further request, in milliseconds. The header holds seconds,
/// or a date by the server's clock.
pub fn retry_after_ms(headers: &HeaderMap) -> Option<i64> {
    let text = text(headers, RETRY_AFTER)?;
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number too large to parse is a long time.
        return Some(text.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1_000));
    }
    let until = Timestamp::parse_http_date(text).ok()?;
    let from = date(headers).unwrap_or_else(machine_now);
    Some(until.ms().saturating_sub(from.ms()).max(0))
}

/// Time of the answer, by the server's clock.
pub fn date(headers: &HeaderMap) -> Option<Timestamp> {
    Timestamp::parse_http_date(text(headers, DATE)?).ok()
}

/// A header's text, if there is one.
pub fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}
