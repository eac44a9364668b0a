//! Receipts: what each transaction pays to a payment's address, and the transactions themselves.

use bitcoin::hashes::Hash as _;
use bitcoin::{OutPoint, Transaction, Txid, consensus};
use rusqlite::{OptionalExtension, Row, params};
use tillgate_domain::advance::Verdict;
use tillgate_domain::receipt::{Position, Receipt};
use tillgate_domain::time::Timestamp;

use super::values::{self, Columns as _, InOrder, sats_column};
use super::{Reader, StoreError, Tx};

/// In the order in which [`read`] reads them.
const COLUMNS: &str = "position, block_height, block_time, txid, amount_sats, first_seen_at, last_seen_at, \
     earliest_at, conflict_in_chain, conflict_in_mempool, last_conflict_at, relays_well, eligible_sats, counted_sats, \
     gone, EXISTS (SELECT 1 FROM anomalies AS a WHERE a.payment_seq = r.payment_seq \
     AND a.resolution IN ('REFUNDING', 'REFUNDED') AND instr(a.txids, r.txid) > 0) AS refunded";

impl Reader<'_> {
    /// All receipts of a payment, the first seen first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn receipts(&self, payment_seq: i64) -> Result<Vec<Receipt>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM receipts AS r WHERE payment_seq = ?1 ORDER BY first_seen_at, txid"
        ))?;
        let mut rows = query.query([payment_seq])?;
        let mut receipts = Vec::new();
        while let Some(row) = rows.next()? {
            receipts.push(read(row)?);
        }
        drop(rows);
        for receipt in &mut receipts {
            receipt.conflicts_with = self.receipt_conflicts(payment_seq, &receipt.txid)?;
        }
        Ok(receipts)
    }

    /// The receipt of this transaction for this payment.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn receipt(&self, payment_seq: i64, txid: &Txid) -> Result<Option<Receipt>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM receipts AS r WHERE payment_seq = ?1 AND txid = ?2"))?;
        let mut rows = query.query(params![payment_seq, txid.as_byte_array()])?;
        let Some(mut receipt) = rows.next()?.map(read).transpose()? else { return Ok(None) };
        receipt.conflicts_with = self.receipt_conflicts(payment_seq, txid)?;
        Ok(Some(receipt))
    }

    /// Numbers of the payments that this transaction pays.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn payments_of_transaction(&self, txid: &Txid) -> Result<Vec<i64>, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT payment_seq FROM receipts WHERE txid = ?1")?;
        let rows = query.query_map([txid.as_byte_array()], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Transactions that are in neither mempool nor chain and are to be broadcast again.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn missing_transactions(&self) -> Result<Vec<Transaction>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT DISTINCT raw FROM transactions JOIN receipts USING (txid) WHERE missing = 1")?;
        let rows = query.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
        rows.map(|raw| consensus::deserialize(&raw?).map_err(|_| StoreError::BadValue("transactions.raw"))).collect()
    }

    /// Whether this transaction is kept already.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn has_transaction(&self, txid: &Txid) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT 1 FROM transactions WHERE txid = ?1")?;
        Ok(query.query_row([txid.as_byte_array()], |_| Ok(())).optional()?.is_some())
    }

    fn receipt_conflicts(&self, payment_seq: i64, txid: &Txid) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT other_txid FROM receipt_conflicts WHERE payment_seq = ?1 AND txid = ?2 ORDER BY other_txid",
        )?;
        let rows = query.query_map(params![payment_seq, txid.as_byte_array()], |row| row.get::<_, [u8; 32]>(0))?;
        rows.map(|txid| Ok(Txid::from_byte_array(txid?))).collect()
    }
}

impl Tx<'_> {
    /// Keeps a transaction; the first sight of it stays.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn keep_transaction(&self, tx: &Transaction, txid: &Txid, seen_at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("INSERT OR IGNORE INTO transactions (txid, raw, first_seen_at) VALUES (?1, ?2, ?3)")?
            .execute(params![txid.as_byte_array(), consensus::serialize(tx), seen_at.ms()])?;
        Ok(())
    }

    /// Writes the facts of a receipt (its verdicts are [`Tx::save_verdict`]'s). The transaction is
    /// kept already.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn upsert_receipt(&self, payment_seq: i64, receipt: &Receipt) -> Result<(), StoreError> {
        let (position, height, time) = match receipt.position {
            Position::Block { height, time } => ("block", Some(height), Some(time.ms())),
            Position::Mempool => ("mempool", None, None),
            Position::Absent => ("absent", None, None),
        };
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO receipts (payment_seq, txid, amount_sats, first_seen_at, last_seen_at, earliest_at, position, \
             block_height, block_time, conflict_in_chain, conflict_in_mempool, last_conflict_at, relays_well) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
             ON CONFLICT (payment_seq, txid) DO UPDATE SET last_seen_at = ?5, earliest_at = ?6, position = ?7, \
             block_height = ?8, block_time = ?9, conflict_in_chain = ?10, conflict_in_mempool = ?11, \
             last_conflict_at = ?12, relays_well = ?13",
        )?;
        upsert.execute(params![
            payment_seq,
            receipt.txid.as_byte_array(),
            sats_column(receipt.amount_sats),
            receipt.first_seen_at.ms(),
            receipt.last_seen_at.ms(),
            receipt.earliest_at.ms(),
            position,
            height,
            time,
            receipt.conflict_in_chain,
            receipt.conflict_in_mempool,
            receipt.last_conflict_at.map(Timestamp::ms),
            receipt.relays_well,
        ])?;
        Ok(())
    }

    /// Notes that two receipts of one payment spend one of the same inputs, in both directions.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn keep_receipt_conflict(&self, payment_seq: i64, one: &Txid, other: &Txid) -> Result<(), StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT OR IGNORE INTO receipt_conflicts (payment_seq, txid, other_txid) VALUES (?1, ?2, ?3), (?1, ?3, ?2)",
        )?;
        insert.execute(params![payment_seq, one.as_byte_array(), other.as_byte_array()])?;
        Ok(())
    }

    /// Keeps what a look judged of a receipt.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn save_verdict(&self, payment_seq: i64, verdict: &Verdict) -> Result<(), StoreError> {
        let mut update = self.connection.prepare_cached(
            "UPDATE receipts SET eligible_sats = ?3, counted_sats = ?4, gone = ?5, missing = ?6 \
             WHERE payment_seq = ?1 AND txid = ?2",
        )?;
        update.execute(params![
            payment_seq,
            verdict.txid.as_byte_array(),
            sats_column(verdict.eligible_sats),
            sats_column(verdict.counted_sats),
            verdict.gone,
            verdict.missing,
        ])?;
        Ok(())
    }

    /// Keeps one output that pays a payment's address. Its receipt is kept already.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn keep_coin(
        &self,
        payment_seq: i64,
        outpoint: &OutPoint,
        derivation_index: u32,
        amount_sats: u64,
    ) -> Result<(), StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT OR IGNORE INTO coins (txid, vout, payment_seq, derivation_index, amount_sats) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        insert.execute(params![
            outpoint.txid.as_byte_array(),
            outpoint.vout,
            payment_seq,
            derivation_index,
            sats_column(amount_sats),
        ])?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> Result<Receipt, StoreError> {
    let row = &InOrder::of(row);
    let position = values::text(row, "position")?;
    let height: Option<u32> = row.value("block_height")?;
    let time = values::optional_time(row, "block_time")?;
    let position = match (position, height, time) {
        ("block", Some(height), Some(time)) => Position::Block { height, time },
        ("mempool", ..) => Position::Mempool,
        ("absent", ..) => Position::Absent,
        _ => return Err(StoreError::BadValue("position")),
    };
    Ok(Receipt {
        txid: values::txid(row, "txid")?,
        amount_sats: values::sats(row, "amount_sats")?,
        first_seen_at: values::time(row, "first_seen_at")?,
        last_seen_at: values::time(row, "last_seen_at")?,
        earliest_at: values::time(row, "earliest_at")?,
        position,
        conflict_in_chain: row.value("conflict_in_chain")?,
        conflict_in_mempool: row.value("conflict_in_mempool")?,
        last_conflict_at: values::optional_time(row, "last_conflict_at")?,
        relays_well: row.value("relays_well")?,
        conflicts_with: Vec::new(),
        eligible_sats: values::optional_sats(row, "eligible_sats")?,
        counted_sats: values::sats(row, "counted_sats")?,
        gone: row.value("gone")?,
        refunded: row.value("refunded")?,
    })
}
