//! The states of a payment.

use std::fmt;
use std::str::FromStr;

/// The state of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "views", derive(serde::Serialize, serde::Deserialize, ts_rs::TS))]
#[cfg_attr(feature = "views", serde(rename_all = "SCREAMING_SNAKE_CASE"))]
pub enum PaymentState {
    /// No coins count yet.
    New,
    /// Coins count, but too few.
    Underpaid,
    /// Enough coins count, but they lack the required confirmations.
    Unconfirmed,
    /// Enough coins count, with the required confirmations.
    Confirmed,
    /// Closed, and no coins count.
    Expired,
    /// Closed with too few coins, overpaid under `invalidate`, or reversed by the chain.
    Invalid,
}

/// Every change of state that a look can make; [`crate::advance::advance`] makes no other.
pub const TRANSITIONS: &[(PaymentState, PaymentState)] = {
    use PaymentState::{Confirmed, Expired, Invalid, New, Unconfirmed, Underpaid};
    &[
        (New, Underpaid),
        (Underpaid, New),
        (New, Unconfirmed),
        (Underpaid, Unconfirmed),
        (Unconfirmed, New),
        (Unconfirmed, Underpaid),
        (New, Confirmed),
        (Underpaid, Confirmed),
        (Unconfirmed, Confirmed),
        (New, Expired),
        (Underpaid, Expired),
        (New, Invalid),
        (Underpaid, Invalid),
        (Unconfirmed, Invalid),
        (Confirmed, Invalid),
        (Expired, Confirmed),
        (Invalid, Confirmed),
        // Under the rule `overpayment = invalidate`, when coins come back that were gone.
        (Expired, Invalid),
        // Staff accepts the received coins.
        (Expired, Unconfirmed),
        (Invalid, Unconfirmed),
    ]
};

/// A text that is not a payment state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("a payment's status is NEW, UNDERPAID, UNCONFIRMED, CONFIRMED, EXPIRED or INVALID")]
pub struct NotAPaymentState;

impl PaymentState {
    /// All values, in the order of a payment's life.
    pub const ALL: [Self; 6] = [
        Self::New,
        Self::Underpaid,
        Self::Unconfirmed,
        Self::Confirmed,
        Self::Expired,
        Self::Invalid,
    ];

    /// Its name in the interface and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::Underpaid => "UNDERPAID",
            Self::Unconfirmed => "UNCONFIRMED",
            Self::Confirmed => "CONFIRMED",
            Self::Expired => "EXPIRED",
            Self::Invalid => "INVALID",
        }
    }

    /// Whether the state ends a payment. A reversal by the chain, coins that come back or staff's
    /// acceptance can still change it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::New | Self::Underpaid | Self::Unconfirmed => false,
            Self::Confirmed | Self::Expired | Self::Invalid => true,
        }
    }
}

impl fmt::Display for PaymentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PaymentState {
    type Err = NotAPaymentState;

    fn from_str(text: &str) -> Result<Self, NotAPaymentState> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(NotAPaymentState)
    }
}
