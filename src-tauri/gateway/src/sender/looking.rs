//! Looking at the chain before something is signed, until it is known what another copy of the wallet may have paid: all that
//! matters was told of since nobody knew, and what shows first was told of just now.

use std::sync::Arc;
use std::time::Duration;

use tillgate_domain::time::Timestamp;

use super::{LOOKED_WITHIN_MS, SendError, Sender};
use crate::gateway::{Cannot, Cause};
use crate::machine::clock::Moment;
use crate::watcher::{self, WatchError, Watcher};

/// How long a pass looks on for what one look did not come to.
const OF_A_PASS_MS: i64 = 5_000;

/// How long staff wait who have a transaction replaced.
const OF_STAFF_MS: i64 = 60_000;

/// A transaction that was made by an older view is not stored. Longer than slow backends and keyrings take; the machine may have
/// slept.
const STORED_WITHIN_MS: i64 = 60_000;

/// Nothing is stored that was made by an old view.
const LOOKED_TOO_LONG_AGO: &str =
    "the chain was last looked at too long ago when the transaction was signed; it is looked at again, and made anew";

/// Between looks that may ask a few questions a second.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) const NOT_ALL_TOLD: &str = "not all is known yet that another copy of the wallet may have done while the chain was not looked at: the backend is being asked";

/// How long looks go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// As long as one look after the other tells more: the next pass goes on.
    OfAPass,
    /// Until all is known, where that does not take long.
    OfStaff,
}

impl Patience {
    /// Whether it has come to its end with what began at a moment.
    fn is_over(self, began: Moment, is_all_told: bool) -> bool {
        match self {
            Self::OfAPass => !is_all_told || !began.is_within(OF_A_PASS_MS),
            Self::OfStaff => !began.is_within(OF_STAFF_MS),
        }
    }
}

/// Why nothing may be signed.
#[derive(Debug)]
pub(super) enum Unseen {
    /// The next looks will tell.
    NotYet(Cannot),
    /// The chain is not watched.
    Silent(Cannot),
}

impl Sender {
    /// Looks where no look since `since` is young enough, and as long as something is not known. Answers why something may not be
    /// signed all the same.
    pub(super) async fn look_first(
        &self,
        watcher: &Watcher,
        since: Timestamp,
        patience: Patience,
    ) -> Result<Option<Unseen>, SendError> {
        let (gateway, began) = (&self.gateway, Moment::now());
        let mut has_looked = gateway.last_look.is_fresh(since, gateway.clock.now(), LOOKED_WITHIN_MS);
        loop {
            // What is asked once more is told of last: until then it would be asked in vain.
            let is_all_told = gateway.last_look.is_all_told();
            if has_looked && is_all_told && self.ask_again().await? == 0 {
                return Ok(None);
            }
            if has_looked && patience.is_over(began, is_all_told) {
                return Ok(Some(Unseen::NotYet(Cause::Chain.because(NOT_ALL_TOLD))));
            }
            if has_looked && !is_all_told {
                tokio::time::sleep(PAUSE).await;
            }
            match watcher.look_soon().await {
                Ok(()) => has_looked = true,
                // What another copy paid meanwhile may be in the blocks that are left.
                Err(WatchError::Behind(catching_up)) => {
                    return Ok(Some(Unseen::NotYet(Cause::Chain.because(catching_up.to_string()))));
                }
                Err(error) => {
                    let why = format!("the chain is not watched: {error}");
                    return Ok(Some(Unseen::Silent(Cause::Chain.because(why))));
                }
            }
        }
    }

    /// Whether the view that a transaction was made by, of a look since `since`, is young enough for it to be stored.
    ///
    /// # Errors
    /// Why it is not.
    pub(super) fn check_view(&self, since: Timestamp) -> Result<(), Cannot> {
        let (last_look, now) = (&self.gateway.last_look, self.gateway.clock.now());
        if last_look.is_fresh(since, now, STORED_WITHIN_MS) {
            return Ok(());
        }
        Err(Cause::Chain.because(LOOKED_TOO_LONG_AGO))
    }

    /// Has the next looks ask about what shows first of another copy of the wallet. Answers how much of it is open.
    async fn ask_again(&self) -> Result<usize, SendError> {
        let gateway = Arc::clone(&self.gateway);
        let ask = move || Ok::<_, SendError>(gateway.asked_again.ask(watcher::to_ask_again(&gateway)?));
        tokio::task::spawn_blocking(ask).await.map_err(|_| SendError::BrokenOff)?
    }
}
