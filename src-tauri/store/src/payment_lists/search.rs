//! The search for payments by a part of a text.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use tillgate_domain::money::Currency;

/// The shortest part of a transaction's id that is searched for. A shorter one matches too many.
const TXID_PART_MIN: usize = 6;

const BTC_DECIMALS: usize = 8;

/// The SQL term for payments with this text in their reference, message, address, id, number of a
/// sale, amount or transactions. `bind` returns the placeholder of a value.
pub(super) fn term(part: &str, bind: &mut dyn FnMut(Value) -> String) -> String {
    let pattern = bind(Value::Text(anywhere(part)));
    let like = |column: &str, pattern: &str| format!("{column} LIKE {pattern} ESCAPE '\\'");
    let mut places = ["merchant_transaction_id", "message", "address"]
        .map(|column| like(column, &pattern))
        .to_vec();
    if is_hex(part) {
        places.push(like("hex(id)", &pattern));
        for in_txid in in_txids(part) {
            let found = like("hex(txid)", &bind(Value::Text(in_txid)));
            places.push(format!("seq IN (SELECT payment_seq FROM receipts WHERE {found})"));
        }
    }
    if let Some(number) = sale_number(part) {
        let number = bind(Value::Integer(number.into()));
        places.push(format!("seq IN (SELECT payment_seq FROM sales WHERE number = {number})"));
    }
    if let Some(sats) = units(part, BTC_DECIMALS) {
        places.push(format!("amount_sats = {}", bind(Value::Integer(sats))));
    }
    for (minor, codes) in prices(part) {
        let price = bind(Value::Integer(minor));
        let codes: Vec<String> =
            codes.into_iter().map(|code| bind(Value::Text(code.to_owned()))).collect();
        places.push(format!("(price_minor = {price} AND currency IN ({}))", codes.join(", ")));
    }
    format!("({})", places.join(" OR "))
}

/// The pattern of `LIKE` for a text that holds this part.
fn anywhere(part: &str) -> String {
    let mut pattern = String::from("%");
    for character in part.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// The number of a sale, with or without the words before it: `12`, `No. 12`.
fn sale_number(part: &str) -> Option<u32> {
    part.trim_start_matches(|it: char| !it.is_ascii_digit()).parse().ok()
}

/// Whether a text may be a part of an id.
fn is_hex(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The patterns for a part of a transaction's id in its stored bytes. People see an id with its
/// bytes reversed. The part may begin in the middle of a byte, so there are two patterns.
fn in_txids(part: &str) -> Vec<String> {
    if part.len() < TXID_PART_MIN {
        return Vec::new();
    }
    [part.to_owned(), format!("_{part}")].map(|aligned| reversed_bytes(&aligned)).into()
}

fn reversed_bytes(aligned: &str) -> String {
    let nibbles: Vec<char> =
        aligned.chars().chain((aligned.len() % 2 == 1).then_some('_')).collect();
    let bytes = nibbles.chunks(2).rev().flatten();
    std::iter::once(&'%').chain(bytes).chain(std::iter::once(&'%')).collect()
}

/// The prices in minor units that a typed number like `22.50` or `22,50` means, each with its
/// currencies.
fn prices(typed: &str) -> BTreeMap<i64, Vec<&'static str>> {
    let mut prices = BTreeMap::<i64, Vec<&'static str>>::new();
    for currency in Currency::ALL {
        if let Some(minor) = units(typed, usize::from(currency.minor_units())) {
            prices.entry(minor).or_default().push(currency.code());
        }
    }
    prices
}

/// A number with at most these decimals, in units of the last one.
fn units(typed: &str, decimals: usize) -> Option<i64> {
    let (whole, part) = typed.split_once(['.', ',']).unwrap_or((typed, ""));
    let is_number =
        !whole.is_empty() && whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_number || part.len() > decimals {
        return None;
    }
    format!("{whole}{part:0<decimals$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_number_means_a_price_with_the_decimals_of_its_currency() {
        let found = prices("22,5");
        assert_eq!(found.keys().collect::<Vec<_>>(), [&2_250, &22_500]);
        assert!(found[&2_250].contains(&"USD") && !found[&22_500].contains(&"USD"), "{found:?}");
        assert!(found[&22_500].contains(&"KWD"), "{found:?}");
        assert_eq!(units("0.00015574", BTC_DECIMALS), Some(15_574));
        assert!(prices("0.00015574").is_empty());
        for text in ["", "order 7", "1.2.3", "-5", "99999999999999999999"] {
            assert!(prices(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn signs_of_a_pattern_are_searched_as_text() {
        assert_eq!(anywhere("50%_a\\"), "%50\\%\\_a\\\\%");
    }

    #[test]
    fn a_part_of_a_txid_is_searched_in_reversed_bytes() {
        assert_eq!(in_txids("a1b2c3"), ["%c3b2a1%", "%3_2c1b_a%"]);
        assert!(in_txids("a1b2c").is_empty());
    }
}
