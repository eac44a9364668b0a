//! How far the chain was watched: one row.

use bitcoin::BlockHash;
use bitcoin::hashes::Hash as _;
use rusqlite::{OptionalExtension as _, params};
use tillgate_domain::time::Timestamp;

use super::{Reader, StoreError, Tx, values};
use tillgate_domain::chain::{Identity, Tip};

/// How far the chain was watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedChain {
    /// Where the last look ended; `None` in a database whose older schema does not say on which chain that was.
    pub cursor: Option<Cursor>,
    /// The best block of the last look.
    pub tip: Tip,
    /// Start of the last look, a minute late at most.
    pub looked_at: Timestamp,
    /// When a look last found another chain than the look before it.
    pub begun_anew_at: Option<Timestamp>,
}

/// Where a look ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// On which chain.
    pub chain: Identity,
    /// Where it ended, in the backend's own words.
    pub token: Vec<u8>,
}

impl Reader<'_> {
    /// How far the chain was watched; `None` before the first look.
    pub fn watched_chain(&self) -> Result<Option<WatchedChain>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT genesis, instance, token, tip_height, tip_hash, tip_time, looked_at, begun_anew_at FROM chain",
        )?;
        let mut rows = query.query([])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let cursor = match (row.get("genesis")?, row.get("token")?) {
            (Some(genesis), Some(token)) => {
                let chain = Identity { genesis: BlockHash::from_byte_array(genesis), instance: row.get("instance")? };
                Some(Cursor { chain, token })
            }
            _ => None,
        };
        Ok(Some(WatchedChain {
            cursor,
            tip: Tip {
                height: values::number(row, "tip_height")?,
                hash: values::block_hash(row, "tip_hash")?,
                time: values::time(row, "tip_time")?,
            },
            looked_at: values::time(row, "looked_at")?,
            begun_anew_at: values::optional_time(row, "begun_anew_at")?,
        }))
    }

    /// Height of the best block that this snapshot knows, by which its confirmations count; 0
    /// before the first look.
    pub fn tip_height(&self) -> Result<u32, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT tip_height FROM chain")?;
        Ok(query.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
    }
}

impl Tx<'_> {
    /// Stores how far the chain was watched, and where the wallet began if it is new.
    pub fn save_watched_chain(&self, watched: &WatchedChain) -> Result<(), StoreError> {
        self.note_birth(watched.tip.height)?;
        let mut save = self.connection.prepare_cached(
            "INSERT OR REPLACE INTO chain (one, genesis, instance, token, tip_height, tip_hash, tip_time, looked_at, \
             begun_anew_at) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        let cursor = watched.cursor.as_ref();
        save.execute(params![
            cursor.map(|cursor| cursor.chain.genesis.to_byte_array()),
            cursor.and_then(|cursor| cursor.chain.instance),
            cursor.map(|cursor| &cursor.token),
            watched.tip.height,
            watched.tip.hash.as_byte_array(),
            watched.tip.time.ms(),
            watched.looked_at.ms(),
            watched.begun_anew_at.map(Timestamp::ms),
        ])?;
        Ok(())
    }
}
