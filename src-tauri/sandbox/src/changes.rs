//! Reads the transactions that changed after a number of the change log, each with its present
//! facts.

use bitcoin::BlockHash;
use rusqlite::{Connection, OptionalExtension};

use crate::blocks;
use crate::change_log;
use crate::error::SandboxError;
use crate::store;
use crate::transactions::{self, Position};
use crate::types::{Changes, TxPosition, TxView};

/// At most `limit` transactions that changed after `since`. The caller gives a connection with one
/// consistent view.
pub(crate) fn since(conn: &Connection, since: i64, limit: usize) -> Result<Changes, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT tx_id, changed_seq FROM transactions WHERE changed_seq > ?1 ORDER BY changed_seq LIMIT ?2",
    )?;
    let asked = i64::try_from(limit.max(1)).unwrap_or(i64::MAX);
    let rows: Vec<(i64, i64)> = statement
        .query_map([since, asked.saturating_add(1)], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let more = rows.len() > limit.max(1);
    let page = &rows[..rows.len().min(limit.max(1))];
    let cursor = match (more, page.last()) {
        (true, Some((_, seq))) => *seq,
        // After the last page, the cursor is past the reorganisations too.
        _ => since.max(change_log::next_seq(conn)?.saturating_sub(1)),
    };
    let txs = page.iter().map(|(id, _)| view(conn, *id)).collect::<Result<_, _>>()?;
    Ok(Changes { cursor, more, tip: blocks::tip(conn)?, txs })
}

/// Whether this block can have been the tip at change `seq`: it is in the best chain, or a later
/// reorganisation disconnected a block at its height.
pub(crate) fn was_at(
    conn: &Connection,
    seq: i64,
    height: u32,
    hash: BlockHash,
) -> Result<bool, SandboxError> {
    if seq >= change_log::next_seq(conn)? {
        return Ok(false);
    }
    if blocks::block_at(conn, height)?.is_some_and(|block| block.hash == hash) {
        return Ok(true);
    }
    let mut statement =
        conn.prepare_cached("SELECT 1 FROM reorgs WHERE seq > ?1 AND fork_height < ?2 LIMIT 1")?;
    Ok(statement.exists((seq, height))?)
}

/// All stored facts about a transaction.
pub(crate) fn view(conn: &Connection, id: i64) -> Result<TxView, SandboxError> {
    let row = transactions::tx_by_id(conn, id)?;
    let position = match row.position {
        Position::Block { height, .. } => {
            let block = blocks::block_at(conn, height)?
                .ok_or_else(|| SandboxError::Damaged(format!("block {height} is missing")))?;
            TxPosition::Block { height, hash: block.hash, time_ms: block.time_ms }
        }
        Position::Mempool { entered_ms } => TxPosition::Mempool { entered_ms },
        Position::Absent => TxPosition::Absent,
    };
    let mut view = TxView {
        tx: transactions::transaction(conn, id)?,
        txid: row.txid,
        position,
        has_unconfirmed_ancestors: has_unconfirmed_parent(conn, id)?,
        fee_rate_sat_vb: row.fee_rate_sat_vb(),
        conflict_height: None,
        conflict_in_mempool: false,
        conflicts: Vec::new(),
    };
    // The transaction and all its unconfirmed ancestors, then every other transaction that spends
    // one of their inputs.
    let mut statement = conn.prepare_cached(
        "WITH RECURSIVE line(id) AS (
            SELECT ?1
            UNION SELECT s.prev_tx_id FROM line JOIN spends s ON s.spender_tx_id = line.id
                JOIN transactions t ON t.tx_id = s.prev_tx_id WHERE t.block_height IS NULL
         ) SELECT DISTINCT t.txid, m.spender_tx_id = ?1, t.block_height, t.entered_ms IS NOT NULL
           FROM line JOIN spends m ON m.spender_tx_id = line.id
           JOIN spends o ON o.prev_tx_id = m.prev_tx_id AND o.prev_vout = m.prev_vout
                AND o.spender_tx_id <> m.spender_tx_id
           JOIN transactions t ON t.tx_id = o.spender_tx_id ORDER BY t.tx_id",
    )?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let in_chain_at: Option<u32> = row.get(2)?;
        let is_there = in_chain_at.is_some() || row.get(3)?;
        if row.get::<_, bool>(1)? && (is_there || view.position != TxPosition::Absent) {
            view.conflicts.push(store::txid_column(row, 0)?);
        }
        view.conflict_height = view.conflict_height.into_iter().chain(in_chain_at).min();
        view.conflict_in_mempool |= row.get::<_, bool>(3)?;
    }
    Ok(view)
}

fn has_unconfirmed_parent(conn: &Connection, id: i64) -> Result<bool, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT 1 FROM spends s JOIN transactions t ON t.tx_id = s.prev_tx_id
         WHERE s.spender_tx_id = ?1 AND t.block_height IS NULL LIMIT 1",
    )?;
    Ok(statement.query_row([id], |_| Ok(())).optional()?.is_some())
}
