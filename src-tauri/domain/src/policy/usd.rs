//! Sums in US dollars.

use rust_decimal::Decimal;

/// Reads a setting's sum in US dollars, such as `zeroConfUpTo`: 0 or more, in plain decimal
/// notation (`1000`, `1000.50`).
#[must_use]
pub fn parse_usd(text: &str) -> Option<Decimal> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && text.len() <= 20;
    if plain { Decimal::from_str_exact(text).ok().map(|sum| sum.normalize()) } else { None }
}
