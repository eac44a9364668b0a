//! Reads the fields of a form that a person fills in.

use tillgate_domain::money::Currency;

use crate::console::error::CommandError;

/// The text of a field without surrounding blanks; `None` if it is empty.
pub(super) fn typed(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A typed fiat amount as a plain number. In an unknown currency the text stays as it is, because the currency is
/// refused later.
pub(super) fn plain_fiat(currency: &str, text: String) -> Result<String, CommandError> {
    match Currency::from_code(currency) {
        Some(currency) => currency.plain_amount(&text).map_err(|error| CommandError::invalid("fiatAmount", &error)),
        None => Ok(text),
    }
}
