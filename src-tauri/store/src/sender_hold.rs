//! The hold of the sender, during which no new transaction is signed.

use rusqlite::{OptionalExtension as _, params};
use tillgate_domain::restore::RestoreState;
use tillgate_domain::time::Timestamp;
use tillgate_told::{Telling, TellingValue, Told};

use super::error::StoreError;
use super::reader::Reader;
use super::telling;
use super::tx::Tx;

/// Most bytes of several reasons; beyond that, only the first ones and the last are kept.
const REASONS_MAX: usize = 1_500;

/// The reasons of a hold that the database knows itself, and several reasons as one.
#[derive(Debug, thiserror::Error, Told)]
pub enum HoldReason {
    #[error(
        "this copy of the wallet was restored, and has not looked through the whole chain yet for transactions of another copy; the sender continues by itself after that"
    )]
    Restored,
    #[error(
        "this copy of the wallet was restored, and its look through the chain for transactions of another copy was stopped before its end"
    )]
    Stopped,
    #[error("{first}; {next}")]
    Both { first: Telling, next: Telling },
    #[error("{first}; others; and {last}")]
    Others { first: Telling, last: Telling },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub since: Timestamp,
    /// The reason, for staff.
    pub reason: Telling,
    /// The cause, which decides how the hold ends.
    pub cause: HoldCause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldCause {
    /// Staff must read the reason, act on it, and release the sender.
    UntilReleased,
    /// As [`Self::UntilReleased`], in a restored copy. The copy does not know which payouts were
    /// cancelled or paid in another way after its backup, and would send them.
    UntilCompared,
    /// A restored copy is not scanned yet: only the end of the scan releases the sender.
    Restored,
    /// Staff stopped the scan of a restored copy: the hold stays until they resume the scan.
    Stopped,
}

impl Reader<'_> {
    /// The hold of the sender; `None` without one.
    pub fn sender_hold(&self) -> Result<Option<Hold>, StoreError> {
        if let Some(restore) = self.dangerous_restore()? {
            let (reason, cause) = match restore.state {
                RestoreState::Stopped => (HoldReason::Stopped, HoldCause::Stopped),
                RestoreState::Awaited | RestoreState::Scanning | RestoreState::Looked => {
                    (HoldReason::Restored, HoldCause::Restored)
                }
            };
            return Ok(Some(Hold { since: restore.begun_at, reason: reason.telling(), cause }));
        }
        self.stored_hold()
    }

    fn stored_hold(&self) -> Result<Option<Hold>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT since, reason, is_of_restored FROM sender_hold")?;
        let hold = query.query_row([], |row| {
            Ok(Hold {
                since: Timestamp::from_ms(row.get(0)?),
                reason: telling::from_column(row.get(1)?),
                cause: if row.get(2)? {
                    HoldCause::UntilCompared
                } else {
                    HoldCause::UntilReleased
                },
            })
        });
        Ok(hold.optional()?)
    }
}

impl Tx<'_> {
    /// Makes the sender hold. A second reason is added to the first, so that staff read both before
    /// a release.
    pub fn hold_sender(&self, since: Timestamp, reason: &impl Told) -> Result<(), StoreError> {
        self.hold(since, reason.telling(), false)
    }

    /// Like [`Self::hold_sender`], for a restored copy after its scan: staff must compare the
    /// payouts that wait in it.
    pub fn hold_restored(&self, since: Timestamp, reason: &impl Told) -> Result<(), StoreError> {
        self.hold(since, reason.telling(), true)
    }

    fn hold(
        &self,
        since: Timestamp,
        reason: Telling,
        is_of_restored: bool,
    ) -> Result<(), StoreError> {
        let reasons = match self.stored_hold()? {
            None => reason,
            Some(hold) if hold.reason.message.contains(&reason.message) => return Ok(()),
            Some(hold) => and(hold.reason, reason),
        };
        self.connection
            .prepare_cached(
                "INSERT INTO sender_hold (one, since, reason, is_of_restored) VALUES (1, ?1, ?2, ?3) \
                 ON CONFLICT (one) DO UPDATE SET reason = ?2, is_of_restored = max(is_of_restored, ?3)",
            )?
            .execute(params![since.ms(), telling::written(&reasons), is_of_restored])?;
        Ok(())
    }

    /// Releases the sender. Returns whether it held.
    pub fn release_sender(&self) -> Result<bool, StoreError> {
        Ok(self.connection.prepare_cached("DELETE FROM sender_hold")?.execute([])? > 0)
    }
}

/// Two reasons as one. Beyond [`REASONS_MAX`] bytes the last one replaces those after the first.
fn and(reasons: Telling, next: Telling) -> Telling {
    if let Some(first) = before_others(&reasons) {
        return HoldReason::Others { first, last: next }.telling();
    }
    if reasons.message.len().saturating_add(next.message.len()) < REASONS_MAX {
        return HoldReason::Both { first: reasons, next }.telling();
    }
    HoldReason::Others { first: reasons, last: next }.telling()
}

/// The first reasons of a sentence that leaves others out.
fn before_others(reasons: &Telling) -> Option<Telling> {
    let is_others = reasons.values.contains_key("last");
    match reasons.values.get("first").filter(|_| is_others)? {
        TellingValue::Telling(first) => Some((**first).clone()),
        TellingValue::Text(_) | TellingValue::Sum { .. } | TellingValue::Time { .. } => None,
    }
}
