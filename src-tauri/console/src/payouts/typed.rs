//! Reads the fields of a form that a person fills in.

use tillgate_domain::money::Currency;

use crate::error::CommandError;

/// The text of a field without surrounding blanks; `None` if it is empty.
pub fn typed(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A typed amount in BTC with a decimal point in place of a decimal comma. A text like `1,000`
/// stays as it is, and is refused later: it may mean a thousand.
pub fn plain_btc(text: String) -> String {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once(',') {
        Some((whole, decimals)) if is_digits(whole) && is_digits(decimals) => {
            let may_be_thousands = decimals.len() == 3 && !whole.starts_with('0');
            if may_be_thousands { text } else { format!("{whole}.{decimals}") }
        }
        _ => text,
    }
}

/// A typed fiat amount as a plain number. In an unknown currency the text stays as it is, because
/// the currency is refused later.
pub fn plain_fiat(currency: &str, text: String) -> Result<String, CommandError> {
    match Currency::from_code(currency) {
        Some(currency) => currency
            .plain_amount(&text)
            .map_err(|error| CommandError::invalid("fiatAmount", &error)),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_comma_is_a_decimal_comma() {
        for (text, plain) in [
            ("0,01", "0.01"),
            ("0,001", "0.001"),
            ("1,5", "1.5"),
            ("0.01", "0.01"),
            ("1,000", "1,000"),
            ("1,000e3", "1,000e3"),
            ("1,000,000", "1,000,000"),
            ("1,000.5", "1,000.5"),
        ] {
            assert_eq!(plain_btc(text.to_owned()), plain);
        }
    }
}
