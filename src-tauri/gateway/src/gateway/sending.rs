//! How the sending of payouts goes, for use cases and people. Held in memory: a restart finds out anew.

use parking_lot::Mutex;
use tillgate_domain::time::Timestamp;

use crate::store::sender_hold::HoldCause;

/// The sender's memory between two passes.
#[derive(Default)]
pub struct Sending {
    inner: Mutex<Inner>,
}

/// Why nothing could be built for approved payouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cannot {
    /// The kind of obstacle.
    pub cause: Cause,
    /// In full, for people, without the remedy, which each shell names in its own words; it may name balances, paths and what a
    /// backend said.
    pub details: String,
}

/// An obstacle that keeps approved payouts from being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The coins are too few: it concerns those that wait for them, and no other.
    Coins,
    /// The coins rest on earlier payouts that no block holds yet: it concerns those that wait for them, and no other.
    Block,
    /// One transaction cannot spend the coins that are needed: it concerns payouts that are too large, and no other.
    SmallCoins,
    /// The secret store refused the wallet's words, or has another wallet's: staff may have it asked again.
    Keyring,
    /// The network asks for more than the cap.
    Fees,
    /// The chain is not watched, or its backend is silent: no payout fails for it.
    Chain,
    /// The sender holds, until staff release it.
    Hold,
    /// The same, of a restored copy: it would send what was given up or paid otherwise since.
    Compared,
    /// A restored copy of the wallet has not looked yet; it goes on by itself.
    Restored,
    /// The same, and its look was stopped: it goes on once staff let it.
    Stopped,
    /// Another copy of the wallet may pay it still: it concerns that payout, and no other.
    CopyPays,
    /// Anything else.
    Other,
}

impl From<HoldCause> for Cause {
    fn from(cause: HoldCause) -> Self {
        match cause {
            HoldCause::UntilReleased => Self::Hold,
            HoldCause::UntilCompared => Self::Compared,
            HoldCause::Restored => Self::Restored,
            HoldCause::Stopped => Self::Stopped,
        }
    }
}

impl Cause {
    /// That it keeps payouts from being sent, and how.
    pub(crate) fn because(self, details: impl Into<String>) -> Cannot {
        Cannot { cause: self, details: details.into() }
    }
}

/// The wallet's words could not be had, or were another wallet's.
#[derive(Debug, Clone)]
pub(crate) struct KeysRefused {
    pub at: Timestamp,
    /// For people.
    pub reason: String,
}

#[derive(Default)]
struct Inner {
    waits_for: Option<Cannot>,
    keys_refused: Option<KeysRefused>,
}

impl Sending {
    /// Why approved payouts wait; `None` where none does, or only for its turn.
    #[must_use]
    pub fn waits_for(&self) -> Option<Cannot> {
        self.inner.lock().waits_for.clone()
    }

    /// Notes why they wait, and answers whether that is new.
    pub(crate) fn set_waits_for(&self, cannot: Option<Cannot>) -> bool {
        let mut inner = self.inner.lock();
        let is_new = inner.waits_for != cannot;
        if let Some(cannot) = cannot.as_ref().filter(|_| is_new) {
            tracing::warn!(reason = cannot.details, "payouts wait");
        }
        inner.waits_for = cannot;
        is_new
    }

    /// The last refusal of the wallet's words, where they were not had since.
    pub(crate) fn keys_refused(&self) -> Option<KeysRefused> {
        self.inner.lock().keys_refused.clone()
    }

    /// Remembers that the words were refused, or forgets it.
    pub(crate) fn note_keys_refused(&self, refused: Option<KeysRefused>) {
        self.inner.lock().keys_refused = refused;
    }
}
