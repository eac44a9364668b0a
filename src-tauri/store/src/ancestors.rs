//! Transactions of others that are ancestors of ours, kept until their descendants are settled.

use bitcoin::hashes::Hash as _;
use bitcoin::{Transaction, Txid, consensus};
use rusqlite::{Row, params};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::transactions::{IS_UNSETTLED, Source};
use super::tx::Tx;
use super::values;

/// Limit of all kept bytes: some 80 packages of the maximum size that nodes relay. Others control
/// the number of ancestors, so the database needs a limit. Above it, only others can rebroadcast an
/// ancestor.
const BYTES_MAX: i64 = 32 * 1_024 * 1_024;

impl Reader<'_> {
    /// The kept ancestors of a transaction of ours, in no particular order.
    pub fn kept_ancestors(&self, descendant: &Txid) -> Result<Vec<Transaction>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT a.raw FROM ancestor_needs AS n JOIN ancestors AS a ON a.txid = n.ancestor WHERE n.descendant = ?1",
        )?;
        let rows = query.query_map([descendant.as_byte_array()], |row| row.get::<_, Vec<u8>>(0))?;
        rows.map(|raw| {
            consensus::deserialize(&raw?).map_err(|_| StoreError::BadValue("ancestors.raw"))
        })
        .collect()
    }

    /// The ancestor with this txid, if it is kept.
    pub fn kept_ancestor(&self, txid: &Txid) -> Result<Option<Transaction>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT raw FROM ancestors WHERE txid = ?1")?;
        let mut rows = query.query([txid.as_byte_array()])?;
        let raw: Option<Vec<u8>> = rows.next()?.map(|row| row.get("raw")).transpose()?;
        raw.map(|raw| {
            consensus::deserialize(&raw).map_err(|_| StoreError::BadValue("ancestors.raw"))
        })
        .transpose()
    }

    /// Mempool transactions that pay payments and have no kept ancestor.
    pub fn waiting_without_ancestors(&self) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT DISTINCT txid FROM receipts WHERE block_height IS NULL AND position = 'mempool' \
             AND NOT EXISTS (SELECT 1 FROM ancestor_needs AS n WHERE n.descendant = receipts.txid)",
        )?;
        query.query_and_then([], txid)?.collect()
    }

    /// Transactions of others in blocks above `above` that pending batches spend. A reorganisation
    /// may remove them and their ancestors from the chain.
    pub fn shallow_inputs(&self, above: u32) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT DISTINCT c.txid FROM batches AS b JOIN batch_inputs AS i ON i.batch_seq = b.seq \
             JOIN coins AS c ON c.txid = i.txid AND c.vout = i.vout WHERE b.pending = 1 AND c.block_height > ?1 \
             AND c.is_coinbase = 0 AND NOT EXISTS (SELECT 1 FROM versions AS v WHERE v.txid = c.txid)",
        )?;
        query.query_and_then([above], txid)?.collect()
    }

    /// Descendants whose ancestors are no longer needed: blocks up to `height` settled them, or no
    /// look has seen them since `since`.
    pub fn settled_descendants(
        &self,
        height: u32,
        since: Timestamp,
    ) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT DISTINCT descendant AS txid FROM ancestor_needs WHERE descendant NOT IN ( \
             SELECT t.txid FROM transactions AS t WHERE {IS_UNSETTLED} \
             UNION ALL SELECT i.txid FROM batches AS b JOIN batch_inputs AS i ON i.batch_seq = b.seq \
             JOIN coins AS c ON c.txid = i.txid AND c.vout = i.vout \
             WHERE b.pending = 1 AND ifnull(c.block_height, ?1 + 1) > ?1)"
        ))?;
        query.query_and_then(params![height, since.ms()], txid)?.collect()
    }
}

impl Tx<'_> {
    /// Keeps ancestors, except those stored for other reasons. A new witness replaces the known one
    /// unless it is known to be worse. Returns whether there was room for all.
    pub fn keep_ancestors(
        &self,
        descendant: &Txid,
        ancestors: &[Transaction],
    ) -> Result<bool, StoreError> {
        if self.stored_transaction(descendant)?.is_none() {
            return Ok(true);
        }
        for ancestor in ancestors {
            let txid = ancestor.compute_txid();
            if self.stored_transaction(&txid)?.is_some() {
                self.mend_transaction(ancestor, &txid)?;
                continue;
            }
            let known = self.kept_ancestor(&txid)?;
            let is_better = known
                .as_ref()
                .map_or(Ok(true), |known| self.is_better(ancestor, known, Source::Afresh))?;
            let (raw, freed) =
                (consensus::serialize(ancestor), known.map_or(0, |known| known.total_size()));
            let bytes = self
                .bytes_of_ancestors()?
                .saturating_sub(freed as i64)
                .saturating_add(raw.len() as i64);
            if is_better && bytes > BYTES_MAX {
                return Ok(false);
            }
            if is_better {
                self.connection
                    .prepare_cached(
                        "INSERT INTO ancestors (txid, raw) VALUES (?1, ?2) ON CONFLICT (txid) DO UPDATE SET raw = ?2",
                    )?
                    .execute(params![txid.as_byte_array(), raw])?;
            }
            self.connection
                .prepare_cached(
                    "INSERT OR IGNORE INTO ancestor_needs (descendant, ancestor) VALUES (?1, ?2)",
                )?
                .execute(params![descendant.as_byte_array(), txid.as_byte_array()])?;
        }
        Ok(true)
    }

    /// Removes the needs of a descendant, and all ancestors that no other descendant needs.
    pub fn forget_ancestors_of(&self, descendant: &Txid) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("DELETE FROM ancestor_needs WHERE descendant = ?1")?
            .execute([descendant.as_byte_array()])?;
        self.connection
            .prepare_cached(
                "DELETE FROM ancestors WHERE NOT EXISTS (SELECT 1 FROM ancestor_needs AS n WHERE n.ancestor = ancestors.txid)",
            )?
            .execute([])?;
        Ok(())
    }

    fn bytes_of_ancestors(&self) -> Result<i64, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT ifnull(sum(length(raw)), 0) FROM ancestors")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }
}

fn txid(row: &Row<'_>) -> Result<Txid, StoreError> {
    values::txid(row, "txid")
}

#[cfg(test)]
mod tests {
    use bitcoin::absolute::LockTime;
    use bitcoin::{OutPoint, ScriptBuf, Sequence, TxIn, Witness, transaction};

    use super::*;
    use crate::Store;

    /// Bytes of the largest transaction that nodes relay.
    const LARGE: usize = 399_000;

    fn tx(number: u32, bytes: usize) -> Transaction {
        let input = TxIn {
            previous_output: OutPoint { txid: Txid::from_byte_array([7; 32]), vout: number },
            script_sig: ScriptBuf::new(),
            sequence: Sequence::MAX,
            witness: Witness::from_slice(&[vec![0; bytes]]),
        };
        let (version, lock_time) = (transaction::Version::TWO, LockTime::ZERO);
        Transaction { version, lock_time, input: vec![input], output: Vec::new() }
    }

    fn counts(store: &Store) -> (usize, usize) {
        let rows = |table| store.read(|reader| reader.rows_of(table)).unwrap().len();
        (rows("ancestors"), rows("ancestor_needs"))
    }

    #[tokio::test]
    async fn an_ancestor_is_kept_once_while_any_descendant_needs_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let (one, two, shared, own) = (tx(1, 0), tx(2, 0), tx(3, 0), tx(4, 0));
        let keep = move |tx: &Tx<'_>| {
            for ours in [&one, &two, &own] {
                tx.store_transaction(ours, &ours.compute_txid(), Timestamp::from_ms(0))?;
            }
            for ours in [&one, &two] {
                assert!(tx.keep_ancestors(&ours.compute_txid(), &[shared.clone(), own.clone()])?);
            }
            assert!(
                tx.keep_ancestors(&shared.compute_txid(), std::slice::from_ref(&own))?,
                "a transaction that is not ours needs no ancestors"
            );
            Ok::<_, StoreError>((one.compute_txid(), two.compute_txid(), shared))
        };
        let (one, two, shared) = store.write(keep).await.unwrap();
        assert_eq!(counts(&store), (1, 2), "an ancestor that is ours is not kept twice");
        assert_eq!(store.read(|reader| reader.kept_ancestors(&one)).unwrap(), [shared]);
        store.write(move |tx| tx.forget_ancestors_of(&one)).await.unwrap();
        assert_eq!(counts(&store), (1, 1));
        let settled =
            store.read(|reader| reader.settled_descendants(0, Timestamp::from_ms(0))).unwrap();
        assert_eq!(settled, [two], "the other descendant is settled");
        store.write(move |tx| tx.forget_ancestors_of(&two)).await.unwrap();
        assert_eq!(counts(&store), (0, 0));
    }

    #[tokio::test]
    async fn kept_ancestors_stay_within_the_limit_of_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let fill = |tx: &Tx<'_>| {
            let ours = self::tx(0, 0);
            let txid = ours.compute_txid();
            tx.store_transaction(&ours, &txid, Timestamp::from_ms(0))?;
            let mut has_room = true;
            for number in 1..100 {
                has_room = tx.keep_ancestors(&txid, &[self::tx(number, LARGE)])?;
                if !has_room {
                    break;
                }
            }
            let first = tx.keep_ancestors(&txid, &[self::tx(1, LARGE)])?;
            Ok::<_, StoreError>((has_room, first, tx.bytes_of_ancestors()?))
        };
        let (has_room, first, bytes) = store.write(fill).await.unwrap();
        assert!(!has_room && first, "a new ancestor is refused, and a kept one is accepted");
        assert!((BYTES_MAX - 2 * LARGE as i64..=BYTES_MAX).contains(&bytes), "{bytes}");
    }
}
