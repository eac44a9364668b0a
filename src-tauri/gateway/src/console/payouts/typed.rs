//! The fields of a form, as a person types them.

use tillgate_domain::money::Currency;

use crate::console::error::CommandError;

/// The text of an optional field; `None` if empty.
pub(super) fn typed(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A typed fiat amount as a plain number. With an unknown currency it stays as it is, because the currency is refused.
pub(super) fn plain_fiat(currency: &str, text: String) -> Result<String, CommandError> {
    match Currency::from_code(currency) {
        Some(currency) => currency.plain_amount(&text).map_err(|error| CommandError::invalid("fiatAmount", &error)),
        None => Ok(text),
    }
}
