//! How far the chain was watched: one row.

use bitcoin::hashes::Hash as _;
use rusqlite::{OptionalExtension as _, params};
use tillgate_domain::time::Timestamp;

use super::{Reader, StoreError, Tx, values};
use crate::chain::Tip;

/// How far the chain was watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedChain {
    /// The backend's cursor to ask with next.
    pub cursor: i64,
    /// The best block of the last look.
    pub tip: Tip,
    /// Start of the last look, a minute late at most.
    pub looked_at: Timestamp,
}

impl Reader<'_> {
    /// How far the chain was watched; `None` before the first look.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn watched_chain(&self) -> Result<Option<WatchedChain>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT cursor, tip_height, tip_hash, tip_time, looked_at FROM chain")?;
        let mut rows = query.query([])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(WatchedChain {
            cursor: row.get("cursor")?,
            tip: Tip {
                height: values::number(row, "tip_height")?,
                hash: values::block_hash(row, "tip_hash")?,
                time: values::time(row, "tip_time")?,
            },
            looked_at: values::time(row, "looked_at")?,
        }))
    }

    /// Height of the best block that this snapshot knows, by which its confirmations count; 0
    /// before the first look.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn tip_height(&self) -> Result<u32, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT tip_height FROM chain")?;
        Ok(query.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
    }
}

impl Tx<'_> {
    /// Keeps how far the chain was watched.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn save_watched_chain(&self, watched: &WatchedChain) -> Result<(), StoreError> {
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO chain (one, cursor, tip_height, tip_hash, tip_time, looked_at) VALUES (1, ?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (one) DO UPDATE SET cursor = ?1, tip_height = ?2, tip_hash = ?3, tip_time = ?4, looked_at = ?5",
        )?;
        upsert.execute(params![
            watched.cursor,
            watched.tip.height,
            watched.tip.hash.as_byte_array(),
            watched.tip.time.ms(),
            watched.looked_at.ms(),
        ])?;
        Ok(())
    }
}
