//! Shared readers for answers of public sources. A JSON object with a repeated name is refused, and
//! prices are never converted to a float.

use rust_decimal::Decimal;
use serde_json::value::RawValue;
use tillgate_domain::money::Currency;
use tillgate_domain::rates::parse_price;
use tillgate_domain::time::Timestamp;
use tillgate_machine::json::JsonObject;

/// Most characters of a server's own message that are shown.
const WORDS_MAX: usize = 200;

/// A source's quote for one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted {
    pub currency: Currency,
    /// Units for one Bitcoin.
    pub price: Decimal,
    /// Time of the quote by the source's own clock, if given.
    pub at: Option<Timestamp>,
}

/// An answer that differs from the source's documentation. No part of it is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum Unreadable {
    /// The answer is not JSON, or does not have the expected structure.
    #[error("the answer is not the JSON that was expected: {0}")]
    NotJson(String),
    /// A member is missing that every answer should have.
    #[error("the answer has no {0}")]
    Missing(&'static str),
    /// A number is malformed or out of range.
    #[error("the answer's {what} {why}")]
    Number {
        /// The name of the number.
        what: String,
        /// The fault, as the end of a sentence that begins with the number's name.
        why: String,
    },
    /// The source itself reports an error.
    #[error("the source reports: \"{0}\"")]
    Reported(String),
    /// The answer is about another asset than Bitcoin.
    #[error("the answer is not about Bitcoin")]
    OtherAsset,
}

/// Reads a JSON object.
pub fn object(json: &str) -> Result<JsonObject<'_>, Unreadable> {
    JsonObject::parse(json.as_bytes())
        .map_err(|error| Unreadable::NotJson(words(&error.to_string())))
}

/// Reads a JSON array into the texts of its items.
pub fn array(json: &str) -> Result<Vec<&RawValue>, Unreadable> {
    serde_json::from_str(json).map_err(|error| Unreadable::NotJson(words(&error.to_string())))
}

pub fn member<'a>(of: &JsonObject<'a>, name: &'static str) -> Result<JsonObject<'a>, Unreadable> {
    object(of.get(name).ok_or(Unreadable::Missing(name))?)
}

/// A price written as a JSON string.
pub fn price_in_string(json: &str, what: &str) -> Result<Decimal, Unreadable> {
    let inner = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
    price(inner.ok_or_else(|| not_a_number(what, "is not a string that holds a number"))?, what)
}

/// A price written as a JSON number.
pub fn price_in_number(json: &str, what: &str) -> Result<Decimal, Unreadable> {
    if json.starts_with('"') {
        return Err(not_a_number(what, "is a string, not a number"));
    }
    price(json, what)
}

/// A time in whole seconds since 1970, as a JSON number.
pub fn seconds(json: &str, what: &'static str) -> Result<Timestamp, Unreadable> {
    let seconds: Option<u32> = json.parse().ok();
    let seconds = seconds.filter(|_| json.bytes().all(|byte| byte.is_ascii_digit()));
    seconds
        .map(|seconds| Timestamp::from_ms(i64::from(seconds).saturating_mul(1_000)))
        .ok_or_else(|| not_a_number(what, "is not a time in seconds"))
}

/// A time in whole seconds since 1970, as a JSON string.
pub fn seconds_in_string(json: &str, what: &'static str) -> Result<Timestamp, Unreadable> {
    seconds(json.trim_matches('"'), what)
}

/// The beginning of a server's message, safe to show. Without backticks it cannot look like a
/// command of ours.
pub fn words(text: &str) -> String {
    let plain = text
        .chars()
        .filter(|one| !one.is_control())
        .map(|one| if matches!(one, '`' | '"') { '\'' } else { one });
    plain.take(WORDS_MAX).collect()
}

fn price(text: &str, what: &str) -> Result<Decimal, Unreadable> {
    parse_price(text).map_err(|error| not_a_number(what, &error.to_string()))
}

fn not_a_number(what: &str, why: &str) -> Unreadable {
    Unreadable::Number { what: what.to_owned(), why: why.to_owned() }
}
