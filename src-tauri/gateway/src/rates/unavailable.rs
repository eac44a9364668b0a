//! The error of a missing rate.

/// There is no rate that a price may rest on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no fresh exchange rate for {currency}: {reason}")]
pub struct RateUnavailable {
    /// ISO code of the currency.
    pub currency: String,
    /// Why, for people.
    pub reason: String,
}
