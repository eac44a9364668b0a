//! A copy of a wallet that was restored, and how far it has looked. Until it has looked through the whole chain it does not
//! know what another copy gave and sent meanwhile, so that it gives no address and sends nothing.

use std::fmt;
use std::str::FromStr;

/// How far a restored copy has looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RestoreState {
    /// Nothing was looked at since: the next look begins at the wallet's birth, wherever the last one ended.
    Awaited,
    /// A look began at the wallet's birth, and has not come to the best block.
    Scanning,
    /// Somebody stopped it: nothing is looked at until they let it go on.
    Stopped,
    /// A look came from the wallet's birth to the best block.
    Looked,
}

/// Addresses that a copy which was restored before is reckoned to have given since.
const GIVEN_SINCE: u32 = 500;

/// Every change of the state of one restore. One that is begun anew stands in the place of the one before, whatever became of it.
pub const TRANSITIONS: &[(RestoreState, RestoreState)] = {
    use RestoreState::{Awaited, Looked, Scanning, Stopped};
    &[
        (Awaited, Scanning),
        (Awaited, Stopped),
        (Scanning, Stopped),
        (Scanning, Looked),
        // It goes on where it stood.
        (Stopped, Awaited),
        (Stopped, Scanning),
    ]
};

/// A text that is no state of a restored copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a restored copy is AWAITED, SCANNING, STOPPED or LOOKED")]
pub struct NotARestoreState;

/// How many addresses that were given may be without a coin in a row, where nobody says it: as long a run as `skip` reckons
/// with, and what a copy that was restored before gave since.
#[must_use]
pub const fn usual_run(skip: u32) -> u32 {
    skip.saturating_add(GIVEN_SINCE)
}

/// How many addresses a restored copy looks at beyond the highest in use, where `run` that were given may be without a coin in a
/// row: another copy that was restored before gave none of the next `skip`, and left a run unpaid only behind them.
#[must_use]
pub const fn looks_ahead(run: u32, skip: u32) -> u32 {
    run.saturating_add(skip)
}

impl RestoreState {
    /// All of them.
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

    /// Whether the copy does not know the whole chain yet.
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
    fn only_a_look_that_began_at_the_birth_ends_the_danger() {
        let ending = RestoreState::ALL.into_iter().filter(|state| state.may_become(RestoreState::Looked));
        assert_eq!(ending.collect::<Vec<_>>(), [RestoreState::Scanning]);
    }

    #[test]
    fn the_transition_table_has_each_change_once_and_no_standstill() {
        for (number, (from, to)) in TRANSITIONS.iter().enumerate() {
            assert_ne!(from, to);
            assert!(!TRANSITIONS[..number].contains(&(*from, *to)));
        }
    }
}
