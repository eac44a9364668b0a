//! The watched chain and the end of the last look, in one row.

use bitcoin::hashes::Hash as _;
use rusqlite::{OptionalExtension as _, params};
use tillgate_domain::chain::{Identity, Tip};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedChain {
    /// End of the last look.
    pub cursor: Cursor,
    /// The best block of the last look.
    pub tip: Tip,
    /// Start of the last look; the stored time lags by at most a minute.
    pub looked_at: Timestamp,
    /// When a look last found another chain than the look before it.
    pub begun_anew_at: Option<Timestamp>,
}

/// The end of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub chain: Identity,
    /// Position on the chain, opaque to all but the backend.
    pub token: Vec<u8>,
}

impl Reader<'_> {
    /// Progress of watching the chain; `None` before the first look.
    pub fn watched_chain(&self) -> Result<Option<WatchedChain>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT genesis, instance, token, tip_height, tip_hash, tip_time, looked_at, begun_anew_at FROM chain",
        )?;
        let mut rows = query.query([])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let chain = Identity {
            genesis: values::block_hash(row, "genesis")?,
            instance: row.get("instance")?,
        };
        Ok(Some(WatchedChain {
            cursor: Cursor { chain, token: row.get("token")? },
            tip: Tip {
                height: values::number(row, "tip_height")?,
                hash: values::block_hash(row, "tip_hash")?,
                time: values::time(row, "tip_time")?,
            },
            looked_at: values::time(row, "looked_at")?,
            begun_anew_at: values::optional_time(row, "begun_anew_at")?,
        }))
    }

    /// Height of the best block in this snapshot, from which confirmations count; 0 before the
    /// first look.
    pub fn tip_height(&self) -> Result<u32, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT tip_height FROM chain")?;
        Ok(query.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
    }
}

impl Tx<'_> {
    /// Stores the progress, and the birth height of a new wallet.
    pub fn save_watched_chain(&self, watched: &WatchedChain) -> Result<(), StoreError> {
        self.note_birth(watched.tip.height)?;
        let mut save = self.connection.prepare_cached(
            "INSERT OR REPLACE INTO chain (one, genesis, instance, token, tip_height, tip_hash, tip_time, looked_at, \
             begun_anew_at) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        save.execute(params![
            watched.cursor.chain.genesis.as_byte_array(),
            watched.cursor.chain.instance,
            watched.cursor.token,
            watched.tip.height,
            watched.tip.hash.as_byte_array(),
            watched.tip.time.ms(),
            watched.looked_at.ms(),
            watched.begun_anew_at.map(Timestamp::ms),
        ])?;
        Ok(())
    }
}
