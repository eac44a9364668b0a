//! Whether the sender holds: while it does nothing new is signed.

use rusqlite::OptionalExtension as _;
use rusqlite::params;
use tillgate_domain::restore::RestoreState;
use tillgate_domain::time::Timestamp;

use super::{Reader, StoreError, Tx};

/// The longest text of several reasons, in bytes; of more than fit the first ones and the last are told.
const REASONS_MAX: usize = 1_500;

const OTHERS: &str = "; others; and ";

const RESTORED: &str = "this copy of the wallet was restored, and has not looked through the whole chain yet for what another \
     copy did meanwhile; it goes on by itself once it has";

const STOPPED: &str = "this copy of the wallet was restored, and its look through the chain for what another copy did meanwhile \
     was stopped before its end";

/// Why the sender holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub since: Timestamp,
    /// For people.
    pub reason: String,
    /// What ends it.
    pub cause: HoldCause,
}

/// What a hold is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldCause {
    /// Staff have to read the reason, do what it asks for, and release the sender.
    UntilReleased,
    /// The same, and this copy was restored: it does not know what was given up or paid otherwise since, and would send it again.
    UntilCompared,
    /// This copy was restored and has not looked yet: nobody can release it, the look does.
    Restored,
    /// The same, and staff stopped the look: it ends nothing before they let it go on.
    Stopped,
}

impl Reader<'_> {
    /// Why the sender holds; `None` where it does not.
    pub fn sender_hold(&self) -> Result<Option<Hold>, StoreError> {
        if let Some(restore) = self.dangerous_restore()? {
            let (reason, cause) = match restore.state {
                RestoreState::Stopped => (STOPPED, HoldCause::Stopped),
                RestoreState::Awaited | RestoreState::Scanning | RestoreState::Looked => {
                    (RESTORED, HoldCause::Restored)
                }
            };
            return Ok(Some(Hold { since: restore.begun_at, reason: reason.to_owned(), cause }));
        }
        self.stored_hold()
    }

    fn stored_hold(&self) -> Result<Option<Hold>, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT since, reason, is_of_restored FROM sender_hold")?;
        let hold = query.query_row([], |row| {
            Ok(Hold {
                since: Timestamp::from_ms(row.get(0)?),
                reason: row.get(1)?,
                cause: if row.get(2)? { HoldCause::UntilCompared } else { HoldCause::UntilReleased },
            })
        });
        Ok(hold.optional()?)
    }
}

impl Tx<'_> {
    /// Lets the sender hold. A second reason is told beside the first, so that nobody releases it unread.
    pub fn hold_sender(&self, since: Timestamp, reason: &str) -> Result<(), StoreError> {
        self.hold(since, reason, false)
    }

    /// The same where this copy was restored and has looked: staff compare what waits in it.
    pub fn hold_restored(&self, since: Timestamp, reason: &str) -> Result<(), StoreError> {
        self.hold(since, reason, true)
    }

    fn hold(&self, since: Timestamp, reason: &str, is_of_restored: bool) -> Result<(), StoreError> {
        let reasons = match self.stored_hold()? {
            None => reason.to_owned(),
            Some(hold) if hold.reason.contains(reason) => return Ok(()),
            Some(hold) => and(&hold.reason, reason),
        };
        self.connection
            .prepare_cached(
                "INSERT INTO sender_hold (one, since, reason, is_of_restored) VALUES (1, ?1, ?2, ?3) \
                 ON CONFLICT (one) DO UPDATE SET reason = ?2, is_of_restored = max(is_of_restored, ?3)",
            )?
            .execute(params![since.ms(), reasons, is_of_restored])?;
        Ok(())
    }

    /// Lets it go on, and answers whether it held.
    pub fn release_sender(&self) -> Result<bool, StoreError> {
        Ok(self.connection.prepare_cached("DELETE FROM sender_hold")?.execute([])? > 0)
    }
}

fn and(reasons: &str, reason: &str) -> String {
    let first = reasons.split(OTHERS).next().unwrap_or_default();
    if first.len() == reasons.len() && reasons.len() + reason.len() < REASONS_MAX {
        return format!("{reasons}; {reason}");
    }
    format!("{first}{OTHERS}{reason}")
}
