//! Stored raw transactions. A txid does not cover the witness, so the first report of a transaction
//! may carry a bad witness. A better witness replaces it. A witness too large for relay is not
//! stored.
//!
//! This module also finds unsettled transactions: a block may still change their positions, or they
//! are missing.

use std::borrow::Cow;

use bitcoin::hashes::Hash as _;
use bitcoin::{Transaction, Txid, Witness, consensus};
use rusqlite::params;
use tillgate_domain::chain::{Fact, is_relayed};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values;
use crate::witness::{has_good_witness, spent_outputs};

/// Most inputs of a transaction whose witnesses are checked: the writer waits for the check.
const JUDGED_MAX: usize = 500;

/// SQL condition for an unsettled transaction `t`: a block above the height `?1` may still change
/// its position, or it is missing, or absent since `?2` or later. Each part uses its own index, so
/// that settled transactions are not read. Without ALL, SQLite would merge the parts in the order
/// of their txids.
pub(super) const IS_UNSETTLED: &str = "t.txid IN ( \
       SELECT txid FROM receipts WHERE block_height > ?1 \
       UNION ALL SELECT txid FROM receipts WHERE block_height IS NULL AND position = 'mempool' \
       UNION ALL SELECT txid FROM receipts WHERE missing = 1 \
       UNION ALL SELECT txid FROM receipts \
         WHERE block_height IS NULL AND position = 'absent' AND absent_since >= ?2 AND set_aside = 0 \
       UNION ALL SELECT txid FROM coins WHERE payment_seq IS NULL AND block_height > ?1 \
       UNION ALL SELECT txid FROM coins WHERE payment_seq IS NULL AND block_height IS NULL AND position = 'mempool' \
       UNION ALL SELECT v.txid FROM batches AS b JOIN versions AS v ON v.batch_seq = b.seq WHERE b.pending = 1 \
       UNION ALL SELECT txid FROM versions WHERE block_height > ?1 \
       UNION ALL SELECT txid FROM versions WHERE block_height IS NULL AND position = 'mempool' \
       UNION ALL SELECT txid FROM twins WHERE block_height > ?1 \
       UNION ALL SELECT txid FROM twins WHERE block_height IS NULL \
         AND (position = 'mempool' OR ifnull(conflict_height, ?1 + 1) > ?1)) \
     AND NOT EXISTS (SELECT 1 FROM coins AS c WHERE c.txid = t.txid AND c.conflict_height <= ?1)";

/// The origin of a witness for a stored transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A look, in which the backend may repeat the stored witness.
    InLook,
    /// A fresh request for the transaction.
    Afresh,
}

impl Reader<'_> {
    pub fn stored_transaction(&self, txid: &Txid) -> Result<Option<Transaction>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT raw FROM transactions WHERE txid = ?1")?;
        let mut rows = query.query([txid.as_byte_array()])?;
        let raw: Option<Vec<u8>> = rows.next()?.map(|row| row.get("raw")).transpose()?;
        raw.map(|raw| {
            consensus::deserialize(&raw).map_err(|_| StoreError::BadValue("transactions.raw"))
        })
        .transpose()
    }

    /// Whether the witness of a transaction is valid for the outputs that it spends. The answer is
    /// unknown if one of these outputs is unknown, or there are more than `JUDGED_MAX` inputs.
    pub fn has_good_witness(&self, tx: &Transaction) -> Result<Fact, StoreError> {
        if tx.input.len() > JUDGED_MAX {
            return Ok(Fact::Unknown);
        }
        let spent = spent_outputs(tx, |txid| match self.stored_transaction(txid)? {
            Some(parent) => Ok(Some(parent)),
            None => self.kept_ancestor(txid),
        })?;
        Ok(has_good_witness(tx, &spent))
    }

    /// Whether a transaction is still followed. A transaction that is gone is not followed if it
    /// was absent before `since`, or if all payments that it pays have set it aside. A transaction
    /// without stored coins counts as followed.
    pub fn is_followed(&self, txid: &Txid, since: Timestamp) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM receipts WHERE txid = ?1 \
               AND (position <> 'absent' OR missing = 1 OR (set_aside = 0 AND absent_since >= ?2))) \
             OR EXISTS (SELECT 1 FROM coins WHERE txid = ?1 AND payment_seq IS NULL AND position <> 'absent') \
             OR EXISTS (SELECT 1 FROM versions WHERE txid = ?1) OR EXISTS (SELECT 1 FROM twins WHERE txid = ?1) \
             OR NOT EXISTS (SELECT 1 FROM coins WHERE txid = ?1)",
        )?;
        Ok(query.query_row(params![txid.as_byte_array(), since.ms()], |row| row.get(0))?)
    }

    /// Transactions in neither mempool nor chain that must be broadcast again.
    pub fn missing_transactions(&self) -> Result<Vec<Transaction>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT DISTINCT raw FROM transactions JOIN receipts USING (txid) WHERE missing = 1",
        )?;
        let rows = query.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
        rows.map(|raw| {
            consensus::deserialize(&raw?).map_err(|_| StoreError::BadValue("transactions.raw"))
        })
        .collect()
    }

    /// Transactions of ours in no block, or in blocks above `height`. Transactions that a block up
    /// to `height` rules out are omitted, and so are transactions gone since before `since`.
    pub fn unsettled_transactions(
        &self,
        height: u32,
        since: Timestamp,
    ) -> Result<Vec<Transaction>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached(&format!("SELECT raw FROM transactions AS t WHERE {IS_UNSETTLED}"))?;
        let rows = query.query_map(params![height, since.ms()], |row| row.get::<_, Vec<u8>>(0))?;
        rows.map(|raw| {
            consensus::deserialize(&raw?).map_err(|_| StoreError::BadValue("transactions.raw"))
        })
        .collect()
    }

    /// Transactions of ours that blocks above `height` held or ruled out.
    pub fn transactions_decided_above(&self, height: u32) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txid FROM receipts WHERE block_height > ?1 \
             UNION SELECT txid FROM coins WHERE payment_seq IS NULL AND block_height > ?1 \
             UNION SELECT txid FROM versions WHERE block_height > ?1 \
             UNION SELECT txid FROM twins WHERE block_height > ?1 \
             UNION SELECT txid FROM coins WHERE conflict_height > ?1 \
             UNION SELECT txid FROM twins WHERE conflict_height > ?1",
        )?;
        query.query_and_then([height], |row| values::txid(row, "txid"))?.collect()
    }

    /// Whether a reported transaction should replace the known one.
    pub(super) fn is_better(
        &self,
        told: &Transaction,
        known: &Transaction,
        from: Source,
    ) -> Result<bool, StoreError> {
        if told == known {
            return Ok(false);
        }
        let now = if lacks_witness(known) { Fact::No } else { self.has_good_witness(known)? };
        Ok(match self.has_good_witness(told)? {
            Fact::Yes => now != Fact::Yes,
            Fact::Unknown => now == Fact::No || (now == Fact::Unknown && from == Source::Afresh),
            Fact::No => false,
        })
    }
}

/// The transaction, without its witness if that is too large for relay. Nodes would not accept such
/// a witness, and a server could report four megabytes of it with each payment.
fn of_bounded_size(tx: &Transaction) -> Cow<'_, Transaction> {
    if is_relayed(tx) {
        return Cow::Borrowed(tx);
    }
    let mut tx = tx.clone();
    tx.input.iter_mut().for_each(|input| input.witness = Witness::new());
    Cow::Owned(tx)
}

/// Whether an input has neither a script nor a witness, so that nothing proves its owner's consent.
fn lacks_witness(tx: &Transaction) -> bool {
    tx.input.iter().any(|input| input.script_sig.is_empty() && input.witness.is_empty())
}

impl Tx<'_> {
    /// Stores a transaction. The first report stays, unless its witness is bad or too large.
    pub fn store_transaction(
        &self,
        tx: &Transaction,
        txid: &Txid,
        seen_at: Timestamp,
    ) -> Result<(), StoreError> {
        let stored = self
            .connection
            .prepare_cached(
                "INSERT OR IGNORE INTO transactions (txid, raw, first_seen_at) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![
                txid.as_byte_array(),
                consensus::serialize(&*of_bounded_size(tx)),
                seen_at.ms()
            ])?;
        if stored > 0 { Ok(()) } else { self.mend(tx, txid, Source::InLook) }
    }

    /// Replaces the witness of a stored transaction by a freshly requested witness, unless the
    /// stored witness is known to be better.
    pub fn mend_transaction(&self, tx: &Transaction, txid: &Txid) -> Result<(), StoreError> {
        self.mend(tx, txid, Source::Afresh)
    }

    /// Our own transactions are never replaced: they were checked before they were stored.
    fn mend(&self, tx: &Transaction, txid: &Txid, from: Source) -> Result<(), StoreError> {
        let Some(known) = self.stored_transaction(txid)? else { return Ok(()) };
        if known == *tx
            || !is_relayed(tx)
            || self.batch_of_version(txid)?.is_some()
            || !self.is_better(tx, &known, from)?
        {
            return Ok(());
        }
        self.connection
            .prepare_cached("UPDATE transactions SET raw = ?2 WHERE txid = ?1")?
            .execute(params![txid.as_byte_array(), consensus::serialize(tx)])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::absolute::LockTime;
    use bitcoin::{OutPoint, Sequence, TxIn, Witness, transaction};

    use super::*;
    use crate::Store;

    /// A transaction that spends an output unknown here, with this witness.
    fn spends_a_customers_coin(witness: u8) -> Transaction {
        let previous_output = OutPoint { txid: Txid::from_byte_array([7; 32]), vout: 0 };
        let witness = Witness::from_slice(&[vec![witness; 64]]);
        let input = TxIn { previous_output, sequence: Sequence::MAX, witness, ..TxIn::default() };
        let (version, lock_time) = (transaction::Version::TWO, LockTime::ZERO);
        Transaction { version, lock_time, input: vec![input], output: Vec::new() }
    }

    #[tokio::test]
    async fn a_fresh_witness_replaces_one_that_nobody_can_check() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let (first, second) = (spends_a_customers_coin(1), spends_a_customers_coin(2));
        let txid = first.compute_txid();
        assert_eq!(txid, second.compute_txid());
        let stored = move |tx: &Tx<'_>| {
            tx.mend_transaction(&first, &txid)?;
            assert!(
                tx.stored_transaction(&txid)?.is_none(),
                "a fresh witness does not store a new transaction"
            );
            for told in [&first, &second] {
                tx.store_transaction(told, &txid, Timestamp::from_ms(0))?;
            }
            assert_eq!(
                tx.stored_transaction(&txid)?.as_ref(),
                Some(&first),
                "a look may repeat the stored witness"
            );
            tx.mend_transaction(&second, &txid)?;
            assert_eq!(tx.stored_transaction(&txid)?.as_ref(), Some(&second));
            Ok::<_, StoreError>(())
        };
        store.write(stored).await.unwrap();
    }

    #[tokio::test]
    async fn a_witness_too_large_for_relay_is_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let honest = spends_a_customers_coin(1);
        let mut bloated = honest.clone();
        bloated.input[0].witness = Witness::from_slice(&[vec![0; 3_900_000]]);
        let txid = honest.compute_txid();
        let stored = move |tx: &Tx<'_>| {
            tx.store_transaction(&bloated, &txid, Timestamp::from_ms(0))?;
            let stored = tx.stored_transaction(&txid)?.unwrap();
            assert_eq!((stored.compute_txid(), stored.input[0].witness.len()), (txid, 0));
            tx.store_transaction(&honest, &txid, Timestamp::from_ms(0))?;
            assert_eq!(tx.stored_transaction(&txid)?.as_ref(), Some(&honest));
            tx.store_transaction(&bloated, &txid, Timestamp::from_ms(0))?;
            tx.mend_transaction(&bloated, &txid)?;
            assert_eq!(
                tx.stored_transaction(&txid)?.as_ref(),
                Some(&honest),
                "a witness that is too large replaces no other"
            );
            Ok::<_, StoreError>(())
        };
        store.write(stored).await.unwrap();
    }

    #[tokio::test]
    async fn a_later_report_replaces_a_kept_ancestor() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let (first, second) = (spends_a_customers_coin(1), spends_a_customers_coin(2));
        let kept = move |tx: &Tx<'_>| {
            let previous_output = OutPoint { txid: first.compute_txid(), vout: 0 };
            let mut ours = spends_a_customers_coin(3);
            ours.input.iter_mut().for_each(|input| input.previous_output = previous_output);
            let txid = ours.compute_txid();
            tx.store_transaction(&ours, &txid, Timestamp::from_ms(0))?;
            for told in [first, second.clone()] {
                assert!(tx.keep_ancestors(&txid, &[told])?);
            }
            assert_eq!(tx.kept_ancestors(&txid)?, [second]);
            Ok::<_, StoreError>(())
        };
        store.write(kept).await.unwrap();
    }

    #[test]
    fn unsettled_transactions_are_found_by_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let plan = store.read(|reader| {
            let unsettled = format!("SELECT raw FROM transactions AS t WHERE {IS_UNSETTLED}");
            let mut query =
                reader.connection.prepare(&format!("EXPLAIN QUERY PLAN {unsettled}"))?;
            let steps = query
                .query_map([1, 1], |row| row.get("detail"))?
                .collect::<Result<Vec<String>, _>>()?;
            Ok::<_, StoreError>(steps)
        });
        let scans: Vec<_> = plan
            .unwrap()
            .into_iter()
            .filter(|step| step.starts_with("SCAN") && !step.contains("INDEX batches_pending"))
            .collect();
        assert_eq!(scans, Vec::<String>::new());
    }
}
