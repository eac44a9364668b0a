//! The change log: one growing sequence of numbers for changed transactions and for
//! reorganisations.

use rusqlite::{Connection, params};

use crate::error::SandboxError;
use crate::store;

/// The next number of the sequence that transactions and reorganisations share.
pub(crate) fn next_seq(conn: &Connection) -> Result<i64, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT max(coalesce((SELECT max(changed_seq) FROM transactions), 0),
                    coalesce((SELECT max(seq) FROM reorgs), 0)) + 1",
    )?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Logs that a transaction's position changed. The facts of every conflicting transaction change
/// with it, and those of all their unconfirmed descendants. `is_in_chain`: the transaction entered
/// a block or left one.
///
/// If only the mempool changed, a conflicting transaction is skipped when a third transaction in
/// mempool or chain spends the same output. The skipped one was ruled out before and still is. So
/// each new replacement of a payment changes two transactions, however many replacements came
/// before.
pub(crate) fn log_transaction(
    conn: &Connection,
    id: i64,
    is_in_chain: bool,
) -> Result<(), SandboxError> {
    let affected = store::ids(
        conn,
        "WITH RECURSIVE affected(id) AS (
            SELECT ?1
            UNION SELECT o.spender_tx_id FROM spends m
                JOIN spends o ON o.prev_tx_id = m.prev_tx_id AND o.prev_vout = m.prev_vout
                WHERE m.spender_tx_id = ?1 AND (?2 OR NOT EXISTS (SELECT 1 FROM spends r
                    JOIN transactions t ON t.tx_id = r.spender_tx_id
                    WHERE r.prev_tx_id = m.prev_tx_id AND r.prev_vout = m.prev_vout
                    AND r.spender_tx_id NOT IN (?1, o.spender_tx_id)
                    AND (t.block_height IS NOT NULL OR t.entered_ms IS NOT NULL)))
            UNION SELECT s.spender_tx_id FROM affected a JOIN spends s ON s.prev_tx_id = a.id
                JOIN transactions t ON t.tx_id = s.spender_tx_id WHERE t.block_height IS NULL
         ) SELECT id FROM affected ORDER BY id",
        (id, is_in_chain),
    )?;
    let mut seq = next_seq(conn)?;
    let mut update =
        conn.prepare_cached("UPDATE transactions SET changed_seq = ?2 WHERE tx_id = ?1")?;
    for id in affected {
        update.execute([id, seq])?;
        seq = seq.saturating_add(1);
    }
    Ok(())
}

/// Logs that all blocks above `fork_height` were disconnected.
pub(crate) fn log_reorg(conn: &Connection, fork_height: u32) -> Result<(), SandboxError> {
    let seq = next_seq(conn)?;
    conn.prepare_cached("INSERT INTO reorgs (seq, fork_height) VALUES (?1, ?2)")?
        .execute(params![seq, fork_height])?;
    Ok(())
}
