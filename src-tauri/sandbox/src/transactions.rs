//! The rows of transactions, their outputs and the outputs they spend. `mempool` and `chain` check
//! their validity.

use bitcoin::consensus::encode::{deserialize, serialize};
use bitcoin::hashes::Hash;
use bitcoin::{Amount, OutPoint, Script, ScriptBuf, Transaction, TxOut, Txid};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::change_log;
use crate::error::SandboxError;
use crate::store::txid_column;
use crate::types::PaidOutput;

/// Blocks that must pass before a coinbase's output can be spent (consensus).
pub(crate) const COINBASE_MATURITY: u32 = 100;

/// The position of a transaction, as its row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Block { height: u32, index: u32 },
    Mempool { entered_ms: i64 },
    Absent,
}

impl Position {
    fn from_columns(height: Option<u32>, index: Option<u32>, entered_ms: Option<i64>) -> Position {
        match (height, index, entered_ms) {
            (Some(height), Some(index), _) => Position::Block { height, index },
            (_, _, Some(entered_ms)) => Position::Mempool { entered_ms },
            _ => Position::Absent,
        }
    }
}

/// A transaction's row without its bytes.
#[derive(Debug, Clone)]
pub(crate) struct TxRow {
    pub id: i64,
    pub txid: Txid,
    pub weight: u64,
    pub fee_sats: Option<u64>,
    pub is_own: bool,
    pub evicted_after_blocks: Option<i64>,
    pub position: Position,
}

impl TxRow {
    pub(crate) fn vsize(&self) -> u64 {
        self.weight.div_ceil(4)
    }

    pub(crate) fn fee_rate_sat_vb(&self) -> u64 {
        self.fee_sats.unwrap_or(0) / self.vsize().max(1)
    }
}

const TX_COLUMNS: &str = "tx_id, txid, weight, fee_sats, is_own, evicted_after_blocks, block_height, block_index, entered_ms";

fn tx_row(row: &Row<'_>) -> rusqlite::Result<TxRow> {
    Ok(TxRow {
        id: row.get(0)?,
        txid: txid_column(row, 1)?,
        weight: row.get(2)?,
        fee_sats: row.get(3)?,
        is_own: row.get(4)?,
        evicted_after_blocks: row.get(5)?,
        position: Position::from_columns(row.get(6)?, row.get(7)?, row.get(8)?),
    })
}

pub(crate) fn tx_by_txid(conn: &Connection, txid: &Txid) -> Result<Option<TxRow>, SandboxError> {
    let sql = format!("SELECT {TX_COLUMNS} FROM transactions WHERE txid = ?1");
    Ok(conn.prepare_cached(&sql)?.query_row([txid.as_byte_array()], tx_row).optional()?)
}

pub(crate) fn tx_by_id(conn: &Connection, id: i64) -> Result<TxRow, SandboxError> {
    let sql = format!("SELECT {TX_COLUMNS} FROM transactions WHERE tx_id = ?1");
    Ok(conn.prepare_cached(&sql)?.query_row([id], tx_row)?)
}

pub(crate) fn transaction(conn: &Connection, id: i64) -> Result<Transaction, SandboxError> {
    let mut statement = conn.prepare_cached("SELECT raw FROM transactions WHERE tx_id = ?1")?;
    let raw: Vec<u8> = statement.query_row([id], |row| row.get(0))?;
    deserialize(&raw)
        .map_err(|error| SandboxError::Damaged(format!("transaction row {id}: {error}")))
}

/// An output of a known transaction.
#[derive(Debug, Clone)]
pub(crate) struct Coin {
    pub tx_id: i64,
    pub outpoint: OutPoint,
    pub amount_sats: u64,
    pub script: ScriptBuf,
    pub customer_key: Option<u32>,
    pub is_coinbase: bool,
    pub position: Position,
}

impl Coin {
    pub(crate) fn tx_out(&self) -> TxOut {
        TxOut { value: Amount::from_sat(self.amount_sats), script_pubkey: self.script.clone() }
    }
}

pub(crate) const COIN_COLUMNS: &str =
    "o.tx_id, t.txid, o.vout, o.amount_sats, o.script, o.customer_key, t.fee_sats IS NULL,
     t.block_height, t.block_index, t.entered_ms
     FROM outputs o JOIN transactions t ON t.tx_id = o.tx_id";

pub(crate) fn coin_row(row: &Row<'_>) -> rusqlite::Result<Coin> {
    Ok(Coin {
        tx_id: row.get(0)?,
        outpoint: OutPoint { txid: txid_column(row, 1)?, vout: row.get(2)? },
        amount_sats: row.get(3)?,
        script: ScriptBuf::from_bytes(row.get(4)?),
        customer_key: row.get(5)?,
        is_coinbase: row.get(6)?,
        position: Position::from_columns(row.get(7)?, row.get(8)?, row.get(9)?),
    })
}

/// The output of a known transaction, spent or not.
pub(crate) fn coin(conn: &Connection, outpoint: &OutPoint) -> Result<Option<Coin>, SandboxError> {
    let sql = format!("SELECT {COIN_COLUMNS} WHERE t.txid = ?1 AND o.vout = ?2");
    let params = params![outpoint.txid.as_byte_array(), outpoint.vout];
    Ok(conn.prepare_cached(&sql)?.query_row(params, coin_row).optional()?)
}

/// The outputs to a script of transactions in the best chain, whose tip is at `tip_height`, and in
/// the mempool.
pub(crate) fn outputs_to(
    conn: &Connection,
    script: &Script,
    tip_height: u32,
) -> Result<Vec<PaidOutput>, SandboxError> {
    let sql = format!(
        "SELECT {COIN_COLUMNS} WHERE o.script = ?1 AND (t.block_height IS NOT NULL OR t.entered_ms IS NOT NULL)
         ORDER BY t.block_height IS NULL, t.block_height, t.block_index, o.tx_id, o.vout"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut outputs = Vec::new();
    for coin in statement.query_map([script.as_bytes()], coin_row)? {
        let coin = coin?;
        let confirmations = match coin.position {
            Position::Block { height, .. } => tip_height.saturating_sub(height).saturating_add(1),
            Position::Mempool { .. } | Position::Absent => 0,
        };
        outputs.push(PaidOutput {
            outpoint: coin.outpoint,
            amount_sats: coin.amount_sats,
            confirmations,
        });
    }
    Ok(outputs)
}

/// The transaction of the best chain that spends an output.
pub(crate) fn confirmed_spender(
    conn: &Connection,
    coin: &Coin,
) -> Result<Option<i64>, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT s.spender_tx_id FROM spends s JOIN transactions t ON t.tx_id = s.spender_tx_id
         WHERE s.prev_tx_id = ?1 AND s.prev_vout = ?2 AND t.block_height IS NOT NULL",
    )?;
    Ok(statement.query_row(params![coin.tx_id, coin.outpoint.vout], |row| row.get(0)).optional()?)
}

/// Facts that are computed once, when a transaction is accepted.
pub(crate) struct NewTx<'a> {
    pub tx: &'a Transaction,
    pub sigop_cost: u64,
    /// `None` for a coinbase.
    pub fee_sats: Option<u64>,
    /// The outputs that it spends, in the order of its inputs; empty for a coinbase.
    pub spent: &'a [Coin],
}

/// Stores a transaction, absent from chain and mempool. A known transaction keeps its row and
/// position, and gets the new witness.
pub(crate) fn store_transaction(conn: &Connection, new: &NewTx<'_>) -> Result<i64, SandboxError> {
    let txid = new.tx.compute_txid();
    let weight = new.tx.weight().to_wu();
    let fee_rate = new.fee_sats.map(|fee| fee.saturating_mul(1000) / weight.div_ceil(4).max(1));
    let raw = serialize(new.tx);
    if let Some(known) = tx_by_txid(conn, &txid)? {
        conn.prepare_cached(
            "UPDATE transactions SET raw = ?2, weight = ?3, fee_rate_sat_kvb = ?4 WHERE tx_id = ?1",
        )?
        .execute(params![known.id, raw, weight, fee_rate])?;
        return Ok(known.id);
    }
    let is_own = !new.spent.is_empty() && new.spent.iter().all(|coin| coin.customer_key.is_some());
    conn.prepare_cached(
        "INSERT INTO transactions (txid, raw, weight, sigop_cost, fee_sats, fee_rate_sat_kvb, is_own, changed_seq)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        txid.as_byte_array(),
        raw,
        weight,
        new.sigop_cost,
        new.fee_sats,
        fee_rate,
        is_own,
        change_log::next_seq(conn)?
    ])?;
    let id = conn.last_insert_rowid();
    let mut insert = conn.prepare_cached(
        "INSERT INTO outputs (tx_id, vout, amount_sats, script, customer_key)
         VALUES (?1, ?2, ?3, ?4, (SELECT key_index FROM customer_scripts WHERE script = ?4))",
    )?;
    for (vout, output) in
        new.tx.output.iter().enumerate().filter(|(_, output)| !output.script_pubkey.is_op_return())
    {
        insert.execute(params![
            id,
            vout,
            output.value.to_sat(),
            output.script_pubkey.as_bytes()
        ])?;
    }
    let mut insert = conn.prepare_cached(
        "INSERT INTO spends (prev_tx_id, prev_vout, spender_tx_id) VALUES (?1, ?2, ?3)",
    )?;
    for coin in new.spent {
        insert.execute(params![coin.tx_id, coin.outpoint.vout, id])?;
    }
    Ok(id)
}

/// Sets a transaction's position, updates the customer's coins, and logs the change.
pub(crate) fn set_position(
    conn: &Connection,
    id: i64,
    position: Position,
) -> Result<(), SandboxError> {
    let (height, index, entered_ms) = match position {
        Position::Block { height, index } => (Some(height), Some(index), None),
        Position::Mempool { entered_ms } => (None, None, Some(entered_ms)),
        Position::Absent => (None, None, None),
    };
    let was_in_block: bool = conn
        .prepare_cached("SELECT block_height IS NOT NULL FROM transactions WHERE tx_id = ?1")?
        .query_row([id], |row| row.get(0))?;
    // A transaction that returns to the mempool or a block is no longer evicted.
    let returns = position != Position::Absent;
    conn.prepare_cached(
        "UPDATE transactions SET block_height = ?2, block_index = ?3, entered_ms = ?4,
         evicted_after_blocks = CASE WHEN ?5 THEN NULL ELSE evicted_after_blocks END WHERE tx_id = ?1",
    )?
    .execute(params![id, height, index, entered_ms, returns])?;
    refresh_customer_coins(conn, id)?;
    change_log::log_transaction(conn, id, was_in_block || height.is_some())
}

/// Marks a transaction as refused until the next block. Its coins stay reserved, so that the
/// customer's next payment does not turn the eviction into a double-spend.
pub(crate) fn mark_evicted(conn: &Connection, id: i64) -> Result<(), SandboxError> {
    conn.prepare_cached(
        "UPDATE transactions SET evicted_after_blocks = (SELECT blocks_mined FROM meta) WHERE tx_id = ?1",
    )?
    .execute([id])?;
    refresh_customer_coins(conn, id)
}

/// Recomputes `spendable_from` of this transaction's outputs, and of those that it spends.
fn refresh_customer_coins(conn: &Connection, id: i64) -> Result<(), SandboxError> {
    const FRESH: &str = "UPDATE outputs SET spendable_from = (
            SELECT t.block_height + CASE WHEN t.fee_sats IS NULL THEN ?2 ELSE 1 END FROM transactions t
            WHERE t.tx_id = outputs.tx_id AND t.block_height IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM spends s JOIN transactions u ON u.tx_id = s.spender_tx_id
                WHERE s.prev_tx_id = outputs.tx_id AND s.prev_vout = outputs.vout
                AND (u.block_height IS NOT NULL OR u.entered_ms IS NOT NULL OR u.evicted_after_blocks IS NOT NULL)))";
    let made = format!("{FRESH} WHERE tx_id = ?1 AND customer_key IS NOT NULL");
    conn.prepare_cached(&made)?.execute(params![id, COINBASE_MATURITY])?;
    let spent = format!(
        "{FRESH} WHERE customer_key IS NOT NULL
         AND (tx_id, vout) IN (SELECT prev_tx_id, prev_vout FROM spends WHERE spender_tx_id = ?1)"
    );
    conn.prepare_cached(&spent)?.execute(params![id, COINBASE_MATURITY])?;
    Ok(())
}
