//! Scripts of ours that a backend is asked about: their states, the hot scripts, and the position
//! of the round over all others.

use bitcoin::{Script, ScriptBuf, Transaction, consensus};
use rusqlite::{OptionalExtension as _, Row, params};
use tillgate_domain::chain::{KnownPosition, ScriptState, Urgency};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::keychains::Keychain;
use super::payment_lists::{INDEXED_PAYMENTS, UNINDEXED_PAYMENTS};
use super::reader::Reader;
use super::tx::Tx;
use super::values;

/// Most hot payments of each kind. Payments beyond are covered by the round, and by looks when they
/// are due.
const HOT_MAX: u32 = 50_000;

/// Number of the oldest coins, and of the largest coins, whose spends every look covers. A new
/// transaction would choose these coins.
const HOT_COINS_MAX: u32 = 1_000;

/// Position of the round over all scripts: the next number in one of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundPlace {
    pub part: RoundPart,
    pub next: u32,
}

/// The parts of the round, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundPart {
    /// Payments by `seq`.
    Payments,
    /// Our change by index.
    Change,
    /// Addresses not given to any payment, by index.
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptOf {
    Payment(ScriptBuf),
    /// The wallet, at this index of a keychain.
    Wallet(Keychain, u32),
}

impl RoundPlace {
    /// Before the first script.
    pub const START: Self = Self { part: RoundPart::Payments, next: 0 };
}

impl RoundPart {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Payments => "payments",
            Self::Change => "change",
            Self::Skipped => "skipped",
        }
    }

    fn of_column(column: &str) -> Result<Self, StoreError> {
        let parts = [Self::Payments, Self::Change, Self::Skipped];
        parts
            .into_iter()
            .find(|part| part.as_str() == column)
            .ok_or(StoreError::BadValue("script_round.part"))
    }
}

impl Reader<'_> {
    /// The last state that the backend returned for a script.
    pub fn script_state(&self, script: &Script) -> Result<Option<Vec<u8>>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT state FROM script_states WHERE script = ?1")?;
        Ok(query.query_row([script.as_bytes()], |row| row.get(0)).optional()?)
    }

    /// Position of the round over all scripts; the start before the first look.
    pub fn round_place(&self) -> Result<RoundPlace, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT part, next FROM script_round")?;
        let place: Option<(String, u32)> =
            query.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        match place {
            Some((part, next)) => Ok(RoundPlace { part: RoundPart::of_column(&part)?, next }),
            None => Ok(RoundPlace::START),
        }
    }

    /// `seq` and script of up to `limit` payments, from `seq` on.
    pub fn payment_scripts_from(
        &self,
        seq: u32,
        limit: u32,
    ) -> Result<Vec<(u32, ScriptBuf)>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT seq, script FROM payments WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
        )?;
        let rows = query
            .query_map([seq, limit], |row| Ok((row.get(0)?, ScriptBuf::from_bytes(row.get(1)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn script_of_payment(&self, seq: i64) -> Result<Option<ScriptBuf>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT script FROM payments WHERE seq = ?1")?;
        Ok(query.query_row([seq], |row| row.get(0).map(ScriptBuf::from_bytes)).optional()?)
    }

    /// Scripts of hot payments, each once or more. A payment is hot if it is open, waits for a time
    /// or a height, or was made since `since`. It is also hot while one of its transactions is
    /// missing, unconfirmed, or in a block above `settled_height`.
    pub fn hot_payments(
        &self,
        settled_height: u32,
        since: Timestamp,
    ) -> Result<Vec<(ScriptBuf, Urgency)>, StoreError> {
        let mut hot = Vec::new();
        for (query, bound, urgency) in hot_queries(settled_height, since) {
            let mut query = self.connection.prepare_cached(&format!("{query} LIMIT {HOT_MAX}"))?;
            let rows = query.query_map([bound], |row| row.get(0).map(ScriptBuf::from_bytes))?;
            for script in rows {
                hot.push((script?, urgency));
            }
        }
        Ok(hot)
    }

    /// Scripts of hot coins: the oldest and the largest unspent coins, and the inputs of our
    /// pending batches. Coins that twins spent are hot while the twin is in no block, or in a block
    /// above `settled_height`.
    pub fn hot_coins(&self, settled_height: u32) -> Result<Vec<ScriptOf>, StoreError> {
        let mut query = self.connection.prepare_cached(&coins_query())?;
        query.query_and_then([settled_height], script_of)?.collect()
    }

    /// Scripts of the inputs of pending batches, each with its batch, oldest first. The outcome of
    /// the payouts depends on these scripts.
    pub fn scripts_of_pending_batches(
        &self,
        limit: usize,
    ) -> Result<Vec<(i64, ScriptOf)>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT b.seq, c.keychain, c.derivation_index, p.script FROM batches AS b \
             CROSS JOIN batch_inputs AS i ON i.batch_seq = b.seq CROSS JOIN coins AS c ON c.txid = i.txid AND c.vout = i.vout \
             LEFT JOIN payments AS p ON p.seq = c.payment_seq WHERE b.pending = 1 ORDER BY b.seq LIMIT ?1",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        query.query_and_then([limit], |row| Ok((row.get("seq")?, script_of(row)?)))?.collect()
    }

    /// Transactions that pay a payment or spend its coins, and are not known to be absent.
    pub fn transactions_of_payment(
        &self,
        seq: i64,
    ) -> Result<Vec<(Transaction, KnownPosition)>, StoreError> {
        self.known(
            "SELECT t.raw, r.block_height FROM receipts AS r JOIN transactions AS t USING (txid) \
             WHERE r.payment_seq = ?1 AND r.set_aside = 0 AND r.position <> 'absent' AND ?2 IS NOT NULL \
             UNION SELECT t.raw, c.spent_height FROM receipts AS r JOIN coins AS c ON c.txid = r.txid \
             JOIN transactions AS t ON t.txid = c.spent_by WHERE r.payment_seq = ?1 AND r.set_aside = 0 AND c.payment_seq = ?1",
            (seq, 0),
        )
    }

    /// Like [`Self::transactions_of_payment`], for a wallet script that no payment has.
    pub fn transactions_of_index(
        &self,
        keychain: Keychain,
        index: u32,
    ) -> Result<Vec<(Transaction, KnownPosition)>, StoreError> {
        self.known(
            "SELECT t.raw, c.block_height FROM coins AS c JOIN transactions AS t USING (txid) \
             WHERE c.payment_seq IS NULL AND c.keychain = ?1 AND c.derivation_index = ?2 AND c.position <> 'absent' \
             UNION SELECT t.raw, c.spent_height FROM coins AS c JOIN transactions AS t ON t.txid = c.spent_by \
             WHERE c.payment_seq IS NULL AND c.keychain = ?1 AND c.derivation_index = ?2",
            (keychain.column(), i64::from(index)),
        )
    }

    fn known(
        &self,
        query: &str,
        key: (i64, i64),
    ) -> Result<Vec<(Transaction, KnownPosition)>, StoreError> {
        let mut query = self.connection.prepare_cached(query)?;
        let rows = query
            .query_map(key, |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Option<u32>>(1)?)))?;
        rows.map(|row| {
            let (raw, height) = row?;
            let tx = consensus::deserialize(&raw)
                .map_err(|_| StoreError::BadValue("transactions.raw"))?;
            Ok((tx, height.map_or(KnownPosition::Mempool, KnownPosition::Block)))
        })
        .collect()
    }
}

impl Tx<'_> {
    /// Stores the script states that the backend returned.
    pub fn save_script_states(&self, states: &[ScriptState]) -> Result<(), StoreError> {
        let mut save = self.connection.prepare_cached(
            "INSERT OR REPLACE INTO script_states (script, state) VALUES (?1, ?2)",
        )?;
        for ScriptState { script, state } in states {
            save.execute(params![script.as_bytes(), state])?;
        }
        Ok(())
    }

    /// Deletes all script states, after a change of the chain.
    pub fn forget_script_states(&self) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM script_states", [])?;
        Ok(())
    }

    pub fn save_round_place(&self, place: RoundPlace) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO script_round (one, part, next) VALUES (1, ?1, ?2)",
            )?
            .execute(params![place.part.as_str(), place.next])?;
        Ok(())
    }
}

/// Queries for hot payments, each with the value of `?1`. Each query uses its own index, so that
/// settled payments are not read. Unindexed payments are scanned with the same conditions.
fn hot_queries(settled_height: u32, since: Timestamp) -> Vec<(String, i64, Urgency)> {
    let of_receipts =
        "SELECT p.script FROM receipts AS r JOIN payments AS p ON p.seq = r.payment_seq";
    let mut queries = vec![
        ("SELECT script FROM payments WHERE next_due_height >= ?1".to_owned(), 0, Urgency::Moving),
        (
            format!("{of_receipts} WHERE r.block_height > ?1"),
            i64::from(settled_height),
            Urgency::Moving,
        ),
        (
            format!(
                "{of_receipts} WHERE r.block_height IS NULL AND r.position = 'mempool' AND ?1 IS NOT NULL"
            ),
            0,
            Urgency::Moving,
        ),
        (format!("{of_receipts} WHERE r.missing = 1 AND ?1 IS NOT NULL"), 0, Urgency::Moving),
    ];
    for payments in [INDEXED_PAYMENTS, UNINDEXED_PAYMENTS] {
        let of = |condition: &str| format!("SELECT script FROM {payments} AND {condition}");
        queries.extend([
            (of("created_at >= ?1 ORDER BY created_at DESC"), since.ms(), Urgency::Possible),
            (of("next_due_at >= ?1"), 0, Urgency::Moving),
            (of("state = 'UNCONFIRMED' AND ?1 IS NOT NULL"), 0, Urgency::Moving),
            (of("state = 'UNDERPAID' AND ?1 IS NOT NULL"), 0, Urgency::Awaited),
            (of("state = 'NEW' AND ?1 IS NOT NULL"), 0, Urgency::Awaited),
        ]);
    }
    queries
}

/// The query for hot coins; `?1` is the settled height. `CROSS JOIN` keeps SQLite from starting
/// with the coins, which are many.
fn coins_query() -> String {
    const OF_COIN: &str = "SELECT c.keychain, c.derivation_index, p.script FROM coins AS c";
    const OF_PAYMENT: &str = "LEFT JOIN payments AS p ON p.seq = c.payment_seq";
    format!(
        "SELECT * FROM ({OF_COIN} INDEXED BY coins_unspent {OF_PAYMENT} WHERE c.spent_by IS NULL AND c.block_height >= 0 \
             ORDER BY c.block_height LIMIT {HOT_COINS_MAX}) \
             UNION ALL SELECT * FROM ({OF_COIN} INDEXED BY coins_by_amount {OF_PAYMENT} WHERE c.spent_by IS NULL \
             ORDER BY c.amount_sats DESC LIMIT {HOT_COINS_MAX}) \
             UNION ALL SELECT c.keychain, c.derivation_index, p.script FROM batches AS b \
             CROSS JOIN batch_inputs AS i ON i.batch_seq = b.seq CROSS JOIN coins AS c ON c.txid = i.txid AND c.vout = i.vout \
             {OF_PAYMENT} WHERE b.pending = 1 \
             UNION ALL SELECT c.keychain, c.derivation_index, p.script FROM twins AS t \
             CROSS JOIN coins AS c ON c.spent_by = t.txid {OF_PAYMENT} WHERE t.block_height IS NULL OR t.block_height > ?1"
    )
}

fn script_of(row: &Row<'_>) -> Result<ScriptOf, StoreError> {
    let script: Option<Vec<u8>> = row.get("script")?;
    match script {
        Some(script) => Ok(ScriptOf::Payment(ScriptBuf::from_bytes(script))),
        None => Ok(ScriptOf::Wallet(
            Keychain::of_column(row.get("keychain")?),
            values::number(row, "derivation_index")?,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[test]
    fn hot_scripts_are_found_without_reading_settled_rows() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let queries = hot_queries(1, Timestamp::from_ms(0)).into_iter().map(|(query, ..)| query);
        // Unindexed payments are few, so they are scanned.
        let queries = queries.filter(|query| !query.contains("NOT INDEXED")).chain([coins_query()]);
        for query in queries {
            let plan = store.read(|reader| {
                let mut plan = reader.connection.prepare(&format!("EXPLAIN QUERY PLAN {query}"))?;
                let steps = plan
                    .query_map([1], |row| row.get("detail"))?
                    .collect::<Result<Vec<String>, _>>()?;
                Ok::<_, StoreError>(steps)
            });
            let scans = plan
                .unwrap()
                .into_iter()
                .filter(|step| step.starts_with("SCAN") && !step.starts_with("SCAN ("));
            // Twins are few, and so are the batches in that index.
            let scans: Vec<_> = scans
                .filter(|step| !step.contains("batches_pending") && step != "SCAN t")
                .collect();
            // The oldest and the largest coins are read in index order, up to a bound.
            let of_order =
                |step: &String| step.contains("coins_unspent") || step.contains("coins_by_amount");
            assert!(scans.iter().all(of_order), "{query}: {scans:?}");
        }
    }
}
