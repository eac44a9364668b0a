//! A restored copy of a wallet, and how far it has looked through the chain. Another copy may have
//! given addresses and sent payouts meanwhile. So the restored copy gives no address and sends
//! nothing before it has looked through the whole chain.

use std::fmt;
use std::str::FromStr;

/// The progress of a restored copy's look through the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "views", derive(serde::Serialize, serde::Deserialize, ts_rs::TS))]
#[cfg_attr(feature = "views", serde(rename_all = "SCREAMING_SNAKE_CASE"))]
pub enum RestoreState {
    /// Not looked since the restore: the next look begins at the wallet's birth, not at the end of
    /// the last one.
    Awaited,
    /// A look began at the wallet's birth and has not reached the best block.
    Scanning,
    /// A person stopped it; it looks at nothing until they resume it.
    Stopped,
    /// A look reached the best block from the wallet's birth.
    Looked,
}

/// Addresses that an earlier restored copy may have given since its restore.
const GIVEN_SINCE: u32 = 500;

/// Every change of the state of one restore. A new restore replaces the one before, in any state.
pub const TRANSITIONS: &[(RestoreState, RestoreState)] = {
    use RestoreState::{Awaited, Looked, Scanning, Stopped};
    &[
        (Awaited, Scanning),
        (Awaited, Stopped),
        (Scanning, Stopped),
        (Scanning, Looked),
        // Resumed: back to the state in which it was stopped.
        (Stopped, Awaited),
        (Stopped, Scanning),
    ]
};

/// A text that is not a state of a restored copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("a restored copy is AWAITED, SCANNING, STOPPED or LOOKED")]
pub struct NotARestoreState;

/// The default `run` for [`looks_ahead`]: an earlier restored copy skipped `skip` indices, and may
/// then have given [`GIVEN_SINCE`] addresses that nobody paid.
#[must_use]
pub const fn usual_run(skip: u32) -> u32 {
    skip.saturating_add(GIVEN_SINCE)
}

/// Number of addresses that a restored copy watches beyond the highest used one. Up to `run` given
/// addresses in a row may hold no coin. Another restored copy may have skipped `skip` addresses
/// before such a run.
#[must_use]
pub const fn looks_ahead(run: u32, skip: u32) -> u32 {
    run.saturating_add(skip)
}

impl RestoreState {
    /// All values.
    pub const ALL: [Self; 4] = [Self::Awaited, Self::Scanning, Self::Stopped, Self::Looked];

    /// Its name in the database and in views.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Awaited => "AWAITED",
            Self::Scanning => "SCANNING",
            Self::Stopped => "STOPPED",
            Self::Looked => "LOOKED",
        }
    }

    /// Whether a restored copy may go from this state to `next`.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        TRANSITIONS.contains(&(self, next))
    }

    /// Whether the copy does not yet know the whole chain.
    #[must_use]
    pub const fn is_dangerous(self) -> bool {
        match self {
            Self::Awaited | Self::Scanning | Self::Stopped => true,
            Self::Looked => false,
        }
    }
}

impl fmt::Display for RestoreState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RestoreState {
    type Err = NotARestoreState;

    fn from_str(text: &str) -> Result<Self, NotARestoreState> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(NotARestoreState)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_back_its_name() {
        for state in RestoreState::ALL {
            assert_eq!(state.to_string().parse(), Ok(state));
        }
        assert_eq!("looked".parse::<RestoreState>(), Err(NotARestoreState));
    }

    #[test]
    fn only_a_scan_leads_to_looked() {
        let ending =
            RestoreState::ALL.into_iter().filter(|state| state.may_become(RestoreState::Looked));
        assert_eq!(ending.collect::<Vec<_>>(), [RestoreState::Scanning]);
    }

    #[test]
    fn the_transition_table_has_no_duplicate_and_no_self_loop() {
        for (number, (from, to)) in TRANSITIONS.iter().enumerate() {
            assert_ne!(from, to);
            assert!(!TRANSITIONS[..number].contains(&(*from, *to)));
        }
    }
}
