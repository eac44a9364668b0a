//! Receipts: the amount that one transaction pays to a payment's address.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bitcoin::hashes::Hash as _;
use bitcoin::{FeeRate, OutPoint, Transaction, Txid, consensus};
use rusqlite::{Row, params};
use tillgate_domain::advance::Verdict;
use tillgate_domain::receipt::{Position, Receipt};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values::{self, Columns as _, InOrder, sats_column};

/// Approximate bytes of a transaction's rows, without its raw bytes.
pub(super) const BYTES_OF_ROWS: u64 = 1_000;

/// SQL for transactions that paid a payment and are in neither mempool nor chain.
const MISSING: &str = "FROM receipts AS r JOIN transactions AS t ON t.txid = r.txid \
     WHERE r.payment_seq = ?1 AND r.position = 'absent'";

/// In the order in which [`read`] reads them.
const COLUMNS: &str = "position, block_height, block_time, absent_since, txid, amount_sats, first_seen_at, last_seen_at, \
     earliest_at, conflict_in_chain, conflict_in_mempool, last_conflict_at, zero_conf_sat_kwu, eligible_sats, \
     counted_sats, gone";

/// SQL for the receipts of a payment that looks consider.
const NOT_SET_ASIDE: &str =
    "FROM receipts INDEXED BY receipts_not_set_aside WHERE payment_seq = ?1 AND set_aside = 0";

/// Most gone receipts of a payment that looks still consider: more than the replacements of an
/// honest customer.
const GONE_KEPT: u32 = 10;

impl Reader<'_> {
    /// The receipts of a payment in the order of first sight, except those set aside
    /// ([`Tx::set_gone_aside`]).
    pub fn receipts(&self, payment_seq: i64) -> Result<Vec<Receipt>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} {NOT_SET_ASIDE} ORDER BY first_seen_at, txid"
        ))?;
        let mut receipts = query
            .query_and_then([payment_seq], receipt_from_row)?
            .collect::<Result<Vec<_>, _>>()?;
        let mut conflicts = self.receipt_conflicts(payment_seq)?;
        let refunded = self.refunded(payment_seq)?;
        for receipt in &mut receipts {
            receipt.conflicts_with = conflicts.remove(&receipt.txid).unwrap_or_default();
            receipt.refunded = refunded.contains(&receipt.txid);
        }
        Ok(receipts)
    }

    /// The receipts of these transactions for a payment, in the order of first sight. Conflicts and
    /// refunds are left out, because records do not show them.
    pub fn receipts_of(
        &self,
        payment_seq: i64,
        txids: &[Txid],
    ) -> Result<Vec<Receipt>, StoreError> {
        let found =
            txids.iter().filter_map(|txid| self.receipt_facts(payment_seq, txid).transpose());
        let mut receipts = found.collect::<Result<Vec<_>, _>>()?;
        receipts.sort_by_key(|receipt| (receipt.first_seen_at, receipt.txid.to_byte_array()));
        Ok(receipts)
    }

    /// The receipt of a transaction for a payment, without conflicts and refunds.
    pub fn receipt_facts(
        &self,
        payment_seq: i64,
        txid: &Txid,
    ) -> Result<Option<Receipt>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM receipts WHERE payment_seq = ?1 AND txid = ?2"
        ))?;
        let mut rows = query.query(params![payment_seq, txid.as_byte_array()])?;
        rows.next()?.map(receipt_from_row).transpose()
    }

    /// At most `limit` transactions whose coins count for a payment, in the order of first sight.
    pub fn counted_txids(&self, payment_seq: i64, limit: u32) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT txid {NOT_SET_ASIDE} AND counted_sats > 0 ORDER BY first_seen_at, txid LIMIT ?2"
        ))?;
        query
            .query_and_then(params![payment_seq, limit], |row| values::txid(row, "txid"))?
            .collect()
    }

    /// Bytes stored for missing transactions that paid a payment, rows included.
    pub fn missing_bytes(&self, payment_seq: i64) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT ifnull(sum(length(t.raw) + {BYTES_OF_ROWS}), 0) AS bytes {MISSING}"
        ))?;
        query.query_row([payment_seq], |row| Ok(values::number(row, "bytes")))?
    }

    /// Like [`Self::missing_bytes`], for missing transactions that share an input with `tx`. Reads
    /// all missing transactions of the payment.
    pub fn missing_bytes_in_place_of(
        &self,
        payment_seq: i64,
        tx: &Transaction,
    ) -> Result<u64, StoreError> {
        let spends: HashSet<&OutPoint> =
            tx.input.iter().map(|input| &input.previous_output).collect();
        let mut query = self.connection.prepare_cached(&format!("SELECT t.raw {MISSING}"))?;
        let (mut rows, mut bytes) = (query.query([payment_seq])?, 0);
        while let Some(row) = rows.next()? {
            let raw: Vec<u8> = row.get("raw")?;
            let other: Transaction =
                consensus::deserialize(&raw).map_err(|_| StoreError::BadValue("raw"))?;
            if other.input.iter().any(|input| spends.contains(&input.previous_output)) {
                bytes += raw.len() as u64 + BYTES_OF_ROWS;
            }
        }
        Ok(bytes)
    }

    /// Whether a payment has more than `few` receipts. Reads at most `few` + 1 receipts.
    pub fn has_more_receipts_than(&self, payment_seq: i64, few: u32) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM receipts WHERE payment_seq = ?1 LIMIT ?2 + 1)",
        )?;
        Ok(query.query_row(params![payment_seq, few], |row| row.get::<_, u32>(0))? > few)
    }

    /// The txids of a payment's receipts that are not set aside.
    pub fn transactions_with_receipts(
        &self,
        payment_seq: i64,
    ) -> Result<HashSet<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!("SELECT txid {NOT_SET_ASIDE}"))?;
        query.query_and_then([payment_seq], |row| values::txid(row, "txid"))?.collect()
    }

    pub fn payments_of_transaction(&self, txid: &Txid) -> Result<Vec<i64>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT payment_seq FROM receipts WHERE txid = ?1")?;
        let rows = query.query_map([txid.as_byte_array()], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn receipt_conflicts(&self, payment_seq: i64) -> Result<BTreeMap<Txid, Vec<Txid>>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txid, other_txid FROM receipt_conflicts WHERE payment_seq = ?1 ORDER BY txid, other_txid",
        )?;
        let mut rows = query.query([payment_seq])?;
        let mut conflicts: BTreeMap<Txid, Vec<Txid>> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            conflicts
                .entry(values::txid(row, "txid")?)
                .or_default()
                .push(values::txid(row, "other_txid")?);
        }
        Ok(conflicts)
    }

    /// Transactions of a payment whose coins are being refunded or were refunded.
    fn refunded(&self, payment_seq: i64) -> Result<BTreeSet<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txids FROM anomalies WHERE payment_seq = ?1 AND resolution IN ('REFUNDING', 'REFUNDED')",
        )?;
        let mut rows = query.query([payment_seq])?;
        let mut refunded = BTreeSet::new();
        while let Some(row) = rows.next()? {
            refunded.extend(values::txids(row, "txids")?);
        }
        Ok(refunded)
    }
}

impl Tx<'_> {
    /// Stores the facts of a receipt; [`Tx::save_verdict`] stores its verdict. Call this after its
    /// transaction is stored.
    pub fn upsert_receipt(&self, payment_seq: i64, receipt: &Receipt) -> Result<(), StoreError> {
        let (position, height, time, absent_since) = match receipt.position {
            Position::Block { height, time } => ("block", Some(height), Some(time), None),
            Position::Mempool => ("mempool", None, None, None),
            Position::Absent { since } => ("absent", None, None, Some(since)),
        };
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO receipts (payment_seq, txid, amount_sats, first_seen_at, last_seen_at, earliest_at, position, \
             block_height, block_time, absent_since, conflict_in_chain, conflict_in_mempool, last_conflict_at, \
             zero_conf_sat_kwu) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
             ON CONFLICT (payment_seq, txid) DO UPDATE SET last_seen_at = ?5, earliest_at = ?6, position = ?7, \
             block_height = ?8, block_time = ?9, absent_since = ?10, conflict_in_chain = ?11, \
             conflict_in_mempool = ?12, last_conflict_at = ?13, zero_conf_sat_kwu = ?14, set_aside = 0",
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
            time.map(Timestamp::ms),
            absent_since.map(Timestamp::ms),
            receipt.conflict_in_chain,
            receipt.conflict_in_mempool,
            receipt.last_conflict_at.map(Timestamp::ms),
            receipt.zero_conf_rate.map(|rate| sats_column(rate.to_sat_per_kwu())),
        ])?;
        Ok(())
    }

    /// Stores that two receipts of a payment share an input, in both directions.
    pub fn store_receipt_conflict(
        &self,
        payment_seq: i64,
        one: &Txid,
        other: &Txid,
    ) -> Result<(), StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT OR IGNORE INTO receipt_conflicts (payment_seq, txid, other_txid) VALUES (?1, ?2, ?3), (?1, ?3, ?2)",
        )?;
        insert.execute(params![payment_seq, one.as_byte_array(), other.as_byte_array()])?;
        Ok(())
    }

    /// Sets aside the gone receipts of a payment, except the `GONE_KEPT` seen last. Looks ignore
    /// receipts set aside until their transactions are reported again. So a look takes the same
    /// time, however many replacements came before.
    pub fn set_gone_aside(&self, payment_seq: i64) -> Result<(), StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT txid {NOT_SET_ASIDE} AND gone = 1 AND position = 'absent' \
             ORDER BY last_seen_at DESC, txid LIMIT -1 OFFSET ?2"
        ))?;
        let found: Vec<Txid> = query
            .query_and_then([payment_seq, i64::from(GONE_KEPT)], |row| values::txid(row, "txid"))?
            .collect::<Result<_, _>>()?;
        for txid in found {
            for write in [
                "DELETE FROM receipt_conflicts WHERE payment_seq = ?1 AND (txid = ?2 OR other_txid = ?2)",
                "UPDATE receipts SET set_aside = 1 WHERE payment_seq = ?1 AND txid = ?2",
            ] {
                self.connection
                    .prepare_cached(write)?
                    .execute(params![payment_seq, txid.as_byte_array()])?;
            }
        }
        Ok(())
    }

    /// Stores that a broadcast was refused because a transaction's inputs are spent, if no look has
    /// reported a conflict. The next look decides the effect on its payments.
    pub fn note_spent_inputs(&self, txid: &Txid, at: Timestamp) -> Result<(), StoreError> {
        let noted = self
            .connection
            .prepare_cached(
                "UPDATE receipts SET conflict_in_mempool = 1, last_conflict_at = ?2 WHERE txid = ?1 \
                 AND position = 'absent' AND conflict_in_chain = 0 AND conflict_in_mempool = 0",
            )?
            .execute(params![txid.as_byte_array(), at.ms()])?;
        if noted > 0 {
            self.connection
                .prepare_cached(
                    "UPDATE payments SET next_due_at = min(ifnull(next_due_at, ?2), ?2) \
                     WHERE seq IN (SELECT payment_seq FROM receipts WHERE txid = ?1)",
                )?
                .execute(params![txid.as_byte_array(), at.ms()])?;
        }
        Ok(())
    }

    /// Stores the verdict of a look on a receipt; an unchanged verdict is not written.
    pub fn save_verdict(&self, payment_seq: i64, verdict: &Verdict) -> Result<(), StoreError> {
        let mut update = self.connection.prepare_cached(
            "UPDATE receipts SET eligible_sats = ?3, counted_sats = ?4, gone = ?5, missing = ?6 \
             WHERE payment_seq = ?1 AND txid = ?2 \
             AND NOT (eligible_sats IS ?3 AND counted_sats = ?4 AND gone = ?5 AND missing = ?6)",
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
}

/// Reads one row; conflicts and refunds are in other tables.
fn receipt_from_row(row: &Row<'_>) -> Result<Receipt, StoreError> {
    let row = &InOrder::new(row);
    let position = values::text(row, "position")?;
    let height: Option<u32> = row.value("block_height")?;
    let time = values::optional_time(row, "block_time")?;
    let absent_since = values::optional_time(row, "absent_since")?;
    let position = match (position, height, time, absent_since) {
        ("block", Some(height), Some(time), _) => Position::Block { height, time },
        ("mempool", ..) => Position::Mempool,
        ("absent", _, _, Some(since)) => Position::Absent { since },
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
        zero_conf_rate: values::optional_sats(row, "zero_conf_sat_kwu")?
            .map(FeeRate::from_sat_per_kwu),
        conflicts_with: Vec::new(),
        eligible_sats: values::optional_sats(row, "eligible_sats")?,
        counted_sats: values::sats(row, "counted_sats")?,
        gone: row.value("gone")?,
        refunded: false,
    })
}
