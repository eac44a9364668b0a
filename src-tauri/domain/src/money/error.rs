//! Faults of an amount.

/// Why a text is not an amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum AmountError {
    /// Not a plain positive decimal number.
    #[error("must be a decimal number with a point and no comma, like 10.00, or 0.001 in Bitcoin")]
    NotANumber,
    /// Zero or less.
    #[error("must be more than 0")]
    NotPositive,
    /// More decimals than the currency has.
    #[error("{}", decimals(*.0))]
    TooManyDecimals(u8),
    /// More than can be handled.
    #[error("is too large")]
    TooLarge,
}

fn decimals(most: u8) -> String {
    if most == 0 { "may have no decimals".to_owned() } else { format!("may have at most {most} decimals") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_currency_without_decimals_has_its_own_message() {
        assert_eq!(AmountError::TooManyDecimals(0).to_string(), "may have no decimals");
        assert_eq!(AmountError::TooManyDecimals(2).to_string(), "may have at most 2 decimals");
    }
}
