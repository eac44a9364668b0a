//! The rows of the best chain's blocks. `chain` checks their validity.

use bitcoin::block::Header;
use bitcoin::consensus::encode::{deserialize, serialize};
use bitcoin::hashes::Hash;
use bitcoin::{Block, BlockHash};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::SandboxError;
use crate::store;
use crate::transactions;
use crate::types::Tip;

/// Number of last blocks whose median time the next block must exceed (BIP113).
const MEDIAN_TIME_SPAN: u32 = 11;

/// The best block.
pub(crate) fn tip(conn: &Connection) -> Result<Tip, SandboxError> {
    let mut statement = conn
        .prepare_cached("SELECT height, hash, time_s FROM blocks ORDER BY height DESC LIMIT 1")?;
    Ok(statement.query_row([], tip_row)?)
}

/// Height of the initial chain, which no reorganisation replaces.
pub(crate) fn initial_height(conn: &Connection) -> Result<u32, SandboxError> {
    Ok(conn.prepare_cached("SELECT initial_height FROM meta")?.query_row([], |row| row.get(0))?)
}

/// The block of the best chain at a height, without its transactions.
pub(crate) fn block_at(conn: &Connection, height: u32) -> Result<Option<Tip>, SandboxError> {
    let mut statement =
        conn.prepare_cached("SELECT height, hash, time_s FROM blocks WHERE height = ?1")?;
    Ok(statement.query_row([height], tip_row).optional()?)
}

fn tip_row(row: &Row<'_>) -> rusqlite::Result<Tip> {
    let hash = BlockHash::from_byte_array(row.get::<_, [u8; 32]>(1)?);
    Ok(Tip { height: row.get(0)?, hash, time_ms: row.get::<_, i64>(2)?.saturating_mul(1000) })
}

/// The whole block of the best chain at a height.
pub(crate) fn full_block(conn: &Connection, height: u32) -> Result<Option<Block>, SandboxError> {
    if height == 0 {
        return Ok(Some(bitcoin::constants::genesis_block(bitcoin::Network::Regtest)));
    }
    let mut statement = conn.prepare_cached("SELECT header FROM blocks WHERE height = ?1")?;
    let Some(raw) = statement.query_row([height], |row| row.get::<_, Vec<u8>>(0)).optional()?
    else {
        return Ok(None);
    };
    let header: Header = deserialize(&raw)
        .map_err(|error| SandboxError::Damaged(format!("header {height}: {error}")))?;
    let txdata = transactions_at(conn, height)?
        .into_iter()
        .map(|id| transactions::transaction(conn, id))
        .collect::<Result<_, _>>()?;
    Ok(Some(Block { header, txdata }))
}

fn transactions_at(conn: &Connection, height: u32) -> Result<Vec<i64>, SandboxError> {
    store::ids(
        conn,
        "SELECT tx_id FROM transactions WHERE block_height = ?1 ORDER BY block_index",
        [height],
    )
}

/// The median time of the last 11 blocks up to `height`, in seconds (BIP113).
pub(crate) fn median_time_s(conn: &Connection, height: u32) -> Result<i64, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT time_s FROM blocks WHERE height <= ?1 ORDER BY height DESC LIMIT ?2",
    )?;
    let mut times: Vec<i64> = statement
        .query_map([height, MEDIAN_TIME_SPAN], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    times.sort_unstable();
    times
        .get(times.len() / 2)
        .copied()
        .ok_or_else(|| SandboxError::Damaged("there are no blocks".into()))
}

/// Stores a block's header as the new tip.
pub(crate) fn insert_header(
    conn: &Connection,
    height: u32,
    header: &Header,
) -> Result<(), SandboxError> {
    conn.prepare_cached(
        "INSERT INTO blocks (height, hash, header, time_s) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![
        height,
        header.block_hash().as_byte_array(),
        serialize(header),
        i64::from(header.time)
    ])?;
    Ok(())
}
