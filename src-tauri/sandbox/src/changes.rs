//! The change log: which transactions' facts changed, in a growing sequence, and the facts themselves.

use bitcoin::Txid;
use rusqlite::{Connection, OptionalExtension, params};

use crate::chain;
use crate::error::SandboxError;
use crate::store::{self, Place};
use crate::types::{Changes, TxPosition, TxView};

/// The next number of the sequence that transactions and reorganisations share.
pub(crate) fn next_seq(conn: &Connection) -> Result<i64, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT max(coalesce((SELECT max(changed_seq) FROM transactions), 0),
                    coalesce((SELECT max(seq) FROM reorgs), 0)) + 1",
    )?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Logs that a transaction moved: its own facts changed, those of every transaction that conflicts with it, and those
/// of their unconfirmed descendants.
pub(crate) fn log_transaction(conn: &Connection, id: i64) -> Result<(), SandboxError> {
    let affected = store::ids(
        conn,
        "WITH RECURSIVE affected(id) AS (
            SELECT ?1
            UNION SELECT o.spender_tx_id FROM spends m
                JOIN spends o ON o.prev_tx_id = m.prev_tx_id AND o.prev_vout = m.prev_vout
                WHERE m.spender_tx_id = ?1
            UNION SELECT s.spender_tx_id FROM affected a JOIN spends s ON s.prev_tx_id = a.id
                JOIN transactions t ON t.tx_id = s.spender_tx_id WHERE t.block_height IS NULL
         ) SELECT id FROM affected ORDER BY id",
        [id],
    )?;
    let mut seq = next_seq(conn)?;
    let mut update = conn.prepare_cached("UPDATE transactions SET changed_seq = ?2 WHERE tx_id = ?1")?;
    for id in affected {
        update.execute([id, seq])?;
        seq = seq.saturating_add(1);
    }
    Ok(())
}

/// Logs that all blocks above `fork_height` were taken off.
pub(crate) fn log_reorg(conn: &Connection, fork_height: u32) -> Result<(), SandboxError> {
    let seq = next_seq(conn)?;
    conn.prepare_cached("INSERT INTO reorgs (seq, fork_height) VALUES (?1, ?2)")?.execute(params![seq, fork_height])?;
    Ok(())
}

/// At most `limit` transactions that changed after `since`. The caller gives a connection with one consistent view.
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
        // Behind the reorganisations too.
        _ => since.max(next_seq(conn)?.saturating_sub(1)),
    };
    let reorged_to = conn
        .prepare_cached("SELECT min(fork_height) FROM reorgs WHERE seq > ?1")?
        .query_row([since], |row| row.get(0))?;
    let txs = page.iter().map(|(id, _)| view(conn, *id)).collect::<Result<_, _>>()?;
    Ok(Changes { cursor, more, tip: chain::tip(conn)?, reorged_to, txs })
}

/// A transaction's facts by its id.
pub(crate) fn view_by_txid(conn: &Connection, txid: &Txid) -> Result<Option<TxView>, SandboxError> {
    store::tx_by_txid(conn, txid)?.map(|row| view(conn, row.id)).transpose()
}

fn view(conn: &Connection, id: i64) -> Result<TxView, SandboxError> {
    let row = store::tx_by_id(conn, id)?;
    let position = match row.place {
        Place::Block { height, .. } => {
            let block = chain::block_at(conn, height)?
                .ok_or_else(|| SandboxError::Damaged(format!("block {height} is missing")))?;
            TxPosition::Block { height, hash: block.hash, time_ms: block.time_ms }
        }
        Place::Mempool { entered_ms } => TxPosition::Mempool { entered_ms },
        Place::Absent => TxPosition::Absent,
    };
    let mut view = TxView {
        tx: store::transaction(conn, id)?,
        txid: row.txid,
        position,
        has_unconfirmed_ancestors: has_unconfirmed_parent(conn, id)?,
        fee_rate_sat_vb: row.fee_rate_sat_vb(),
        conflict_in_chain: false,
        conflict_in_mempool: false,
        conflicts: Vec::new(),
    };
    // The transaction itself and all it rests on that is in no block; then whoever else spends what those spend.
    let mut statement = conn.prepare_cached(
        "WITH RECURSIVE line(id) AS (
            SELECT ?1
            UNION SELECT s.prev_tx_id FROM line JOIN spends s ON s.spender_tx_id = line.id
                JOIN transactions t ON t.tx_id = s.prev_tx_id WHERE t.block_height IS NULL
         ) SELECT DISTINCT t.txid, m.spender_tx_id = ?1, t.block_height IS NOT NULL, t.entered_ms IS NOT NULL
           FROM line JOIN spends m ON m.spender_tx_id = line.id
           JOIN spends o ON o.prev_tx_id = m.prev_tx_id AND o.prev_vout = m.prev_vout
                AND o.spender_tx_id <> m.spender_tx_id
           JOIN transactions t ON t.tx_id = o.spender_tx_id ORDER BY t.tx_id",
    )?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        if row.get::<_, bool>(1)? {
            view.conflicts.push(store::txid_column(row, 0)?);
        }
        view.conflict_in_chain |= row.get::<_, bool>(2)?;
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
