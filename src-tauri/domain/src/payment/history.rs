//! The history of a payment: the cause of each change, and why a payment is INVALID.

use std::fmt;
use std::str::FromStr;

use super::state::PaymentState;

/// The cause of a payment's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its transactions or their confirmations.
    Chain,
    /// Time alone.
    Time,
    /// Staff accepted the received coins.
    Staff,
}

/// A text that is not a cause of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("a payment's change is caused by chain, time or staff")]
pub struct NotACause;

impl Cause {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Chain, Self::Time, Self::Staff];

    /// Its name in the database and in views.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Time => "time",
            Self::Staff => "staff",
        }
    }

    /// Whether a change by this cause, from `before_sats` counted to `after_sats`, is a withdrawal
    /// of coins. Transactions were then replaced or double-spent, or were missing until they were
    /// gone.
    #[must_use]
    pub const fn is_withdrawal(self, before_sats: u64, after_sats: u64) -> bool {
        match self {
            Self::Chain | Self::Time => after_sats < before_sats,
            Self::Staff => false,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Cause {
    type Err = NotACause;

    fn from_str(text: &str) -> Result<Self, NotACause> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == text).ok_or(NotACause)
    }
}

/// A change of a payment's `conflict_seen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "views", derive(serde::Serialize, serde::Deserialize, ts_rs::TS))]
#[cfg_attr(feature = "views", serde(rename_all = "SCREAMING_SNAKE_CASE"))]
pub enum ConflictChange {
    /// A transaction in the mempool began to take the coins back.
    Seen,
    /// No transaction in the mempool takes the coins back any more.
    Gone,
}

/// A text that is not a change of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a conflict is SEEN or GONE")]
pub struct NotAConflictChange;

impl ConflictChange {
    /// All values.
    pub const ALL: [Self; 2] = [Self::Seen, Self::Gone];

    /// The change between two looks; `None` if they agree.
    #[must_use]
    pub const fn between(before: bool, after: bool) -> Option<Self> {
        match (before, after) {
            (false, true) => Some(Self::Seen),
            (true, false) => Some(Self::Gone),
            (false, false) | (true, true) => None,
        }
    }

    /// Its name in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seen => "SEEN",
            Self::Gone => "GONE",
        }
    }
}

impl FromStr for ConflictChange {
    type Err = NotAConflictChange;

    fn from_str(text: &str) -> Result<Self, NotAConflictChange> {
        Self::ALL.into_iter().find(|change| change.as_str() == text).ok_or(NotAConflictChange)
    }
}

/// Why a payment is INVALID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "views", derive(serde::Serialize, serde::Deserialize, ts_rs::TS))]
#[cfg_attr(feature = "views", serde(rename_all = "SCREAMING_SNAKE_CASE"))]
pub enum WhyInvalid {
    /// Too few coins were received before the close.
    ShortPaid,
    /// One transaction paid too much, and the merchant refuses overpayments.
    Overpaid,
    /// It was confirmed, and the chain took the coins back.
    Reversed,
    /// The coins were double-spent, or missed for 14 days, before they were confirmed.
    Withdrawn,
}

impl WhyInvalid {
    /// `None` in every state but INVALID. `paid_sats` is the sum that counts in that state, and
    /// from `too_much_sats` on it is too much; `was_confirmed` tells whether the payment was ever
    /// CONFIRMED.
    #[must_use]
    pub const fn in_state(
        state: PaymentState,
        was_confirmed: bool,
        too_much_sats: u64,
        paid_sats: u64,
    ) -> Option<Self> {
        match state {
            PaymentState::New
            | PaymentState::Underpaid
            | PaymentState::Unconfirmed
            | PaymentState::Confirmed
            | PaymentState::Expired => None,
            PaymentState::Invalid if paid_sats >= too_much_sats => Some(Self::Overpaid),
            PaymentState::Invalid if was_confirmed => Some(Self::Reversed),
            PaymentState::Invalid if paid_sats == 0 => Some(Self::Withdrawn),
            PaymentState::Invalid => Some(Self::ShortPaid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_reads_back_its_name() {
        for cause in Cause::ALL {
            assert_eq!(cause.to_string().parse(), Ok(cause));
        }
        assert_eq!("withdrawn".parse::<Cause>(), Err(NotACause));
        for change in ConflictChange::ALL {
            assert_eq!(change.as_str().parse(), Ok(change));
        }
        assert_eq!("seen".parse::<ConflictChange>(), Err(NotAConflictChange));
    }

    #[test]
    fn coins_are_withdrawn_where_the_chain_holds_less_than_before() {
        assert!(Cause::Chain.is_withdrawal(1_000, 999));
        assert!(Cause::Time.is_withdrawal(1_000, 0), "they were missed for 14 days");
        for (cause, after_sats) in
            [(Cause::Chain, 1_000), (Cause::Chain, 1_001), (Cause::Time, 1_000), (Cause::Staff, 0)]
        {
            assert!(!cause.is_withdrawal(1_000, after_sats), "{cause} {after_sats}");
        }
    }

    #[test]
    fn only_an_invalid_payment_has_a_reason() {
        let why = |was_confirmed, paid_sats| {
            WhyInvalid::in_state(PaymentState::Invalid, was_confirmed, 1_000, paid_sats)
        };
        assert_eq!(why(false, 999), Some(WhyInvalid::ShortPaid));
        assert_eq!(why(false, 0), Some(WhyInvalid::Withdrawn));
        assert_eq!(why(true, 0), Some(WhyInvalid::Reversed));
        assert_eq!(why(true, 999), Some(WhyInvalid::Reversed));
        assert_eq!(why(false, 1_000), Some(WhyInvalid::Overpaid));
        for state in PaymentState::ALL.into_iter().filter(|state| *state != PaymentState::Invalid) {
            assert_eq!(WhyInvalid::in_state(state, true, 1_000, 0), None, "{state}");
        }
    }
}
