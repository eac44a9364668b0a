//! A payout and the states it passes through (interface, section 4): the merchant sends coins.

pub mod address;
pub mod limit;
pub mod offer;

use std::fmt;
use std::str::FromStr;

/// The state of a payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "views", derive(serde::Serialize, serde::Deserialize, ts_rs::TS))]
#[cfg_attr(feature = "views", serde(rename_all = "SCREAMING_SNAKE_CASE"))]
pub enum PayoutState {
    /// An offer: it waits for approval, and nothing was sent.
    New,
    /// Not approved in time, so it is never sent.
    Expired,
    /// Approved; it is sent without further action.
    Queued,
    /// A backend accepted a transaction that pays it, or shows such a transaction.
    Sent,
    /// Abandoned by staff, not sent within the queue timeout, or every transaction that pays it is
    /// ruled out.
    Failed,
}

/// Every change of a payout's state.
pub const TRANSITIONS: &[(PayoutState, PayoutState)] = {
    use PayoutState::{Expired, Failed, New, Queued, Sent};
    &[
        (New, Queued),
        (New, Expired),
        (Queued, Sent),
        (Queued, Failed),
        (Sent, Failed),
        // A transaction that pays it was mined after all.
        (Failed, Sent),
        // Another copy of the wallet approved and sent it.
        (New, Sent),
        (Expired, Sent),
    ]
};

/// A text that is not a payout state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("a payout's status is NEW, EXPIRED, QUEUED, SENT or FAILED")]
pub struct NotAPayoutState;

impl PayoutState {
    /// All values, in the order of a payout's life.
    pub const ALL: [Self; 5] = [Self::New, Self::Expired, Self::Queued, Self::Sent, Self::Failed];

    /// Its name in the interface and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::Expired => "EXPIRED",
            Self::Queued => "QUEUED",
            Self::Sent => "SENT",
            Self::Failed => "FAILED",
        }
    }

    /// Whether a payout may go from this state to `next`.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        TRANSITIONS.contains(&(self, next))
    }
}

impl fmt::Display for PayoutState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PayoutState {
    type Err = NotAPayoutState;

    fn from_str(text: &str) -> Result<Self, NotAPayoutState> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(NotAPayoutState)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_back_its_name() {
        for state in PayoutState::ALL {
            assert_eq!(state.to_string().parse(), Ok(state));
        }
        assert_eq!("new".parse::<PayoutState>(), Err(NotAPayoutState));
    }

    #[test]
    fn an_expired_or_sent_payout_is_never_queued() {
        use PayoutState::{Expired, Failed, New, Queued, Sent};
        assert!(
            !Expired.may_become(Queued) && !Expired.may_become(New) && !Expired.may_become(Failed)
        );
        assert!(!New.may_become(Failed));
        assert!(!Sent.may_become(Queued) && !Failed.may_become(Queued));
    }
}
