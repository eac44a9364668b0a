//! State of payout sending, for use cases and people. It is kept in memory: the first pass after a restart sets it
//! again.

use parking_lot::Mutex;
use tillgate_domain::time::Timestamp;

use crate::store::sender_hold::HoldCause;

/// The sender's memory between passes.
#[derive(Default)]
pub struct Sending {
    inner: Mutex<Inner>,
}

/// Reason why no transaction could be built for approved payouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    pub cause: ObstacleCause,
    /// The full reason, for people. It may name balances, paths and the backend's answer. Window and command line each
    /// add their own remedy.
    pub details: String,
}

/// An obstacle that keeps approved payouts from being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObstacleCause {
    /// There are too few coins. Only payouts that wait for them are affected.
    Coins,
    /// The coins are change of unconfirmed payouts. Only payouts that wait for them are affected.
    Block,
    /// One transaction cannot spend the needed coins. Only payouts that are too large are affected.
    SmallCoins,
    /// The secret store refused the wallet's words, or holds those of another wallet. Staff can ask it again.
    Keyring,
    /// The network's fee rate is above the cap.
    Fees,
    /// The chain is not watched, or its backend is silent. No payout fails because of this.
    Chain,
    /// The sender holds until staff release it.
    Hold,
    /// A restored copy holds until staff release it: its payouts may have been cancelled or paid otherwise since the
    /// backup.
    Compared,
    /// A restored copy has not scanned the chain yet. The sender continues by itself after the scan.
    Restored,
    /// Staff stopped the scan of a restored copy. The sender continues once staff resume it.
    Stopped,
    /// Another copy of the wallet may still pay the payout. No other payout is affected.
    PaidByCopy,
    Other,
}

impl From<HoldCause> for ObstacleCause {
    fn from(cause: HoldCause) -> Self {
        match cause {
            HoldCause::UntilReleased => Self::Hold,
            HoldCause::UntilCompared => Self::Compared,
            HoldCause::Restored => Self::Restored,
            HoldCause::Stopped => Self::Stopped,
        }
    }
}

impl ObstacleCause {
    /// Makes an obstacle of this cause with these details.
    pub(crate) fn because(self, details: impl Into<String>) -> Obstacle {
        Obstacle { cause: self, details: details.into() }
    }
}

/// A refusal of the wallet's words by the secret store, or words of another wallet.
#[derive(Debug, Clone)]
pub(crate) struct KeysRefused {
    pub at: Timestamp,
    pub reason: String,
}

#[derive(Default)]
struct Inner {
    waits_for: Option<Obstacle>,
    keys_refused: Option<KeysRefused>,
}

impl Sending {
    /// Why approved payouts wait; `None` if they wait only for the next pass.
    #[must_use]
    pub fn waits_for(&self) -> Option<Obstacle> {
        self.inner.lock().waits_for.clone()
    }

    /// Stores why approved payouts wait. Returns whether the reason changed.
    pub(crate) fn set_waits_for(&self, obstacle: Option<Obstacle>) -> bool {
        let mut inner = self.inner.lock();
        let is_new = inner.waits_for != obstacle;
        if let Some(obstacle) = obstacle.as_ref().filter(|_| is_new) {
            tracing::warn!(reason = obstacle.details, "payouts wait");
        }
        inner.waits_for = obstacle;
        is_new
    }

    /// The last refusal of the wallet's words; `None` after the words were read.
    pub(crate) fn keys_refused(&self) -> Option<KeysRefused> {
        self.inner.lock().keys_refused.clone()
    }

    pub(crate) fn note_keys_refused(&self, refused: Option<KeysRefused>) {
        self.inner.lock().keys_refused = refused;
    }
}
