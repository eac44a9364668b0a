//! Whether the sender holds: while it does nothing new is signed.

use rusqlite::OptionalExtension as _;
use rusqlite::params;
use tillgate_domain::time::Timestamp;

use super::{Reader, StoreError, Tx};

/// Why the sender holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub since: Timestamp,
    /// For people.
    pub reason: String,
}

impl Reader<'_> {
    /// Why the sender holds; `None` where it does not.
    pub fn sender_hold(&self) -> Result<Option<Hold>, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT since, reason FROM sender_hold")?;
        let row: Option<(i64, String)> = query.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(row.map(|(since, reason)| Hold { since: Timestamp::from_ms(since), reason }))
    }
}

impl Tx<'_> {
    /// Lets the sender hold; the first reason stays.
    pub fn hold_sender(&self, since: Timestamp, reason: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("INSERT OR IGNORE INTO sender_hold (one, since, reason) VALUES (1, ?1, ?2)")?
            .execute(params![since.ms(), reason])?;
        Ok(())
    }

    /// Lets it go on, and answers whether it held.
    pub fn release_sender(&self) -> Result<bool, StoreError> {
        Ok(self.connection.prepare_cached("DELETE FROM sender_hold")?.execute([])? > 0)
    }
}
