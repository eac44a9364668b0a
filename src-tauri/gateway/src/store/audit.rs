//! Who did what: a row for each administrative act, in the transaction of the act itself.

use rusqlite::params;
use tillgate_domain::time::Timestamp;

use super::{Reader, StoreError, Tx, values};

/// One administrative act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// When, on the environment's clock.
    pub at: Timestamp,
    /// Who: `cli`, `panel`.
    pub actor: String,
    /// What: `keys revoke`.
    pub act: String,
    /// To what.
    pub subject: String,
}

impl Reader<'_> {
    /// The newest acts, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn newest_acts(&self, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
        self.connection
            .prepare_cached("SELECT at, actor, act, subject FROM audit ORDER BY seq DESC LIMIT ?1")?
            .query_and_then([limit], |row| {
                Ok(AuditRow {
                    at: values::time(row, "at")?,
                    actor: row.get("actor")?,
                    act: row.get("act")?,
                    subject: row.get("subject")?,
                })
            })?
            .collect()
    }
}

impl Tx<'_> {
    /// Keeps an act. `actor` is who did it (`cli`, `panel`), `act` what it was (`keys revoke`), `subject` what
    /// it was done to; never a secret.
    ///
    /// # Errors
    /// When nothing can be stored.
    pub fn audit(&self, at: Timestamp, actor: &str, act: &str, subject: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("INSERT INTO audit (at, actor, act, subject) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![at.ms(), actor, act, subject])?;
        Ok(())
    }
}
