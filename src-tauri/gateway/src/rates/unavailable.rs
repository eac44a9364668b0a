//! The error of a missing rate.

use crate::answer::{Answer, Answered};
use crate::error_type::ErrorType;

/// There is no fresh rate for a price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("there is no fresh exchange rate for {currency}: {reason}")]
pub struct RateUnavailable {
    /// ISO code of the currency.
    pub currency: String,
    /// The reason, for people.
    pub reason: tillgate_told::Telling,
}

impl Answered for RateUnavailable {
    fn answer(&self) -> Answer<'_> {
        Answer::new(ErrorType::RateUnavailable)
    }
}
