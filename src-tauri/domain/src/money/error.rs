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
    /// Decimals of a currency without decimals.
    #[error("may have no decimals")]
    NoDecimals,
    /// More decimals than the currency has.
    #[error("may have at most {0} decimals")]
    TooManyDecimals(u8),
    /// More than can be handled.
    #[error("is too large: check its digits")]
    TooLarge,
}

impl AmountError {
    /// More decimals than these.
    pub(super) const fn too_many_decimals(most: u8) -> Self {
        if most == 0 { Self::NoDecimals } else { Self::TooManyDecimals(most) }
    }
}
