//! Twins: what pays in our stead or spends our coins and was not made here. Another copy of this wallet made it where it moves what is
//! ours ([`TwinRow::moves_ours`]), else a stranger did, as far as is known: a copy may pay from coins of which this one knows nothing.

use std::collections::BTreeSet;

use bitcoin::hashes::Hash as _;
use bitcoin::{Script, Transaction, TxOut, Txid, consensus};
use rusqlite::params;
use tillgate_domain::batch::{Position, decided_up_to};
use tillgate_domain::time::Timestamp;

use super::values;
use super::{Reader, StoreError, Tx};
use crate::chain::TxPosition;

/// Payouts to one address of one amount, beside as many as a twin has such outputs, among which those are looked for that it pays.
const LIKE_MAX: usize = 100;

/// The payouts that are SENT under the id `?1` of a twin.
const SENT_BY: &str = "FROM twin_outputs AS o JOIN payouts AS p ON p.seq = o.payout_seq \
     WHERE o.txid = ?1 AND p.state = 'SENT' AND p.txid = ?1";

/// Payouts that are SENT by transactions which were not made here, of which a block above the height `?1` may still decide something.
/// Read from the few twins on: SQLite would else walk all payouts that were ever SENT.
pub(super) const SENT_BY_ANOTHER: &str = "twins AS w CROSS JOIN twin_outputs AS o CROSS JOIN payouts AS p \
     WHERE o.txid = w.txid AND p.seq = o.payout_seq AND p.state = 'SENT' AND p.txid = w.txid \
     AND ifnull(w.block_height, ifnull(w.conflict_height, ?1 + 1)) > ?1";

/// Whether the payout `p` has a twin, whether or not that can still be mined.
pub(super) const HAS_TWIN: &str = "EXISTS (SELECT 1 FROM twin_outputs AS o WHERE o.payout_seq = p.seq)";

/// A twin as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwinRow {
    pub txid: Txid,
    /// Where the last look found it.
    pub position: Position,
    pub noticed_at: Timestamp,
    /// It moves coins of this wallet as only a copy of it can. Any other was noticed because it pays what a payout is to pay.
    pub moves_ours: bool,
    /// A block held it once, whatever became of that.
    pub was_in_block: bool,
    /// The lowest height of a block with a transaction that rules it out.
    pub conflict_height: Option<u32>,
    /// What the ledger holds of it beyond the payouts that it pays.
    pub booked_sats: i64,
    pub tx: Transaction,
}

impl Reader<'_> {
    /// The twin of this id.
    pub fn twin(&self, txid: &Txid) -> Result<Option<TwinRow>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT w.noticed_at, w.moves_ours, w.position, w.block_height, w.was_in_block, w.conflict_height, w.booked_sats, t.raw \
             FROM twins AS w JOIN transactions AS t ON t.txid = w.txid WHERE w.txid = ?1",
        )?;
        let mut rows = query.query([txid.as_byte_array()])?;
        rows.next()?
            .map(|row| {
                let raw: Vec<u8> = row.get("raw")?;
                Ok(TwinRow {
                    txid: *txid,
                    position: values::batch_position(row)?,
                    noticed_at: values::time(row, "noticed_at")?,
                    moves_ours: row.get("moves_ours")?,
                    was_in_block: row.get("was_in_block")?,
                    conflict_height: row.get("conflict_height")?,
                    booked_sats: row.get("booked_sats")?,
                    tx: consensus::deserialize(&raw).map_err(|_| StoreError::BadValue("raw"))?,
                })
            })
            .transpose()
    }

    /// Whether a transaction is a twin.
    pub fn is_twin(&self, txid: &Txid) -> Result<bool, StoreError> {
        Ok(self.connection.prepare_cached("SELECT 1 FROM twins WHERE txid = ?1")?.exists([txid.as_byte_array()])?)
    }

    /// Twins of which a block may still decide something: all but those that are deep in the chain, or ruled out as deep.
    /// There are few: of strangers' transactions no more than some hundreds are followed for each sum to a payee (`watcher/twins.rs`).
    pub fn pending_twins(&self, tip_height: u32) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txid FROM twins WHERE ifnull(block_height, ifnull(conflict_height, ?1 + 1)) > ?1",
        )?;
        query.query_and_then([decided_up_to(tip_height)], |row| values::txid(row, "txid"))?.collect()
    }

    /// Those noticed since a moment that dropped out, as far as a block may still decide something, under whose ids payouts are SENT.
    pub fn absent_payers(&self, tip_height: u32, since: Timestamp) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT DISTINCT w.txid FROM {SENT_BY_ANOTHER} AND w.position = 'absent' AND w.noticed_at >= ?2"
        ))?;
        query.query_and_then(params![decided_up_to(tip_height), since.ms()], |row| values::txid(row, "txid"))?.collect()
    }

    /// The payouts that a twin pays and of which something is computed from that, each with its batch: what nobody approved stays as it is,
    /// whoever pays it.
    pub fn approved_payouts_of_twin(&self, txid: &Txid) -> Result<Vec<(i64, Option<i64>)>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT p.seq, p.batch_seq FROM twin_outputs AS o JOIN payouts AS p ON p.seq = o.payout_seq \
             WHERE o.txid = ?1 AND p.approved_at IS NOT NULL",
        )?;
        query.query_and_then([txid.as_byte_array()], |row| Ok((row.get("seq")?, row.get("batch_seq")?)))?.collect()
    }

    /// Whether a payout is SENT under a twin's id.
    pub fn has_sent(&self, txid: &Txid) -> Result<bool, StoreError> {
        Ok(self.connection.prepare_cached(&format!("SELECT 1 {SENT_BY}"))?.exists([txid.as_byte_array()])?)
    }

    /// What the payouts come to that are SENT under a twin's id.
    pub fn sent_sats(&self, txid: &Txid) -> Result<u64, StoreError> {
        let mut query =
            self.connection.prepare_cached(&format!("SELECT ifnull(sum(p.amount_sats), 0) AS sats {SENT_BY}"))?;
        let mut rows = query.query([txid.as_byte_array()])?;
        rows.next()?.map_or(Ok(0), |row| values::sats(row, "sats"))
    }

    /// The twins that pay a payout, without those of strangers that were for something else, the first noticed first.
    pub fn twins_of_payout(&self, payout_seq: i64) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT w.txid FROM twin_outputs AS o JOIN twins AS w ON w.txid = o.txid WHERE o.payout_seq = ?1 \
             AND (o.is_for_else = 0 OR w.moves_ours = 1) ORDER BY w.noticed_at, w.txid",
        )?;
        query.query_and_then([payout_seq], |row| values::txid(row, "txid"))?.collect()
    }

    /// All of them, in no order, and of each whether a block holds it.
    pub fn twins_and_whether_mined(&self, payout_seq: i64) -> Result<Vec<(Txid, bool)>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT w.txid, w.block_height IS NOT NULL AS is_mined FROM twin_outputs AS o JOIN twins AS w ON w.txid = o.txid \
             WHERE o.payout_seq = ?1",
        )?;
        query.query_and_then([payout_seq], |row| Ok((values::txid(row, "txid")?, row.get("is_mined")?)))?.collect()
    }

    /// Whether a payout has a twin.
    pub fn has_twin(&self, payout_seq: i64) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT 1 FROM twin_outputs WHERE payout_seq = ?1")?;
        Ok(query.exists([payout_seq])?)
    }

    /// Whether any payout is, or was, to pay somebody exactly this sum: one that is offered or was approved.
    pub fn has_payout_like(&self, (script, amount_sats): (&Script, u64)) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT 1 FROM payouts WHERE script = ?1 AND amount_sats = ?2 AND (approved_at IS NOT NULL OR state = 'NEW')",
        )?;
        Ok(query.exists(params![script.as_bytes(), values::sats_column(amount_sats)])?)
    }

    /// How many twins of strangers wait that pay somebody exactly this sum, whichever of his payouts, and how many more stand nowhere that no
    /// block ruled out for good. Once `most_gone` of these are counted, the rest is not.
    pub fn count_strangers(
        &self,
        (script, amount_sats): (&Script, u64),
        most_gone: usize,
    ) -> Result<(usize, usize), StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT w.txid, w.position = 'mempool' AS waits FROM payouts AS p JOIN twin_outputs AS o ON o.payout_seq = p.seq \
             JOIN twins AS w ON w.txid = o.txid \
             WHERE p.script = ?1 AND p.amount_sats = ?2 AND w.moves_ours = 0 AND w.position <> 'block' \
             AND ifnull(w.conflict_height, ?3 + 1) > ?3",
        )?;
        let decided = decided_up_to(self.tip_height()?);
        let mut rows = query.query(params![script.as_bytes(), values::sats_column(amount_sats), decided])?;
        let (mut waiting, mut gone) = (BTreeSet::new(), BTreeSet::new());
        while gone.len() < most_gone {
            let Some(row) = rows.next()? else { break };
            let those = if row.get("waits")? { &mut waiting } else { &mut gone };
            those.insert(values::txid(row, "txid")?);
        }
        Ok((waiting.len(), gone.len()))
    }

    /// Whether an approved payout of exactly this sum to somebody waits that no twin pays, wherever it stands.
    pub fn waits_without_twin(&self, (script, amount_sats): (&Script, u64)) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT 1 FROM payouts AS p WHERE p.script = ?1 AND p.amount_sats = ?2 AND p.state = 'QUEUED' \
             AND NOT {HAS_TWIN}"
        ))?;
        Ok(query.exists(params![script.as_bytes(), values::sats_column(amount_sats)])?)
    }

    /// Whether another copy of the wallet paid a payout of a batch, or a block held what anybody paid it with.
    pub fn may_be_paid_elsewhere(&self, batch_seq: i64) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT 1 FROM payouts AS p JOIN twin_outputs AS o ON o.payout_seq = p.seq JOIN twins AS w ON w.txid = o.txid \
             WHERE p.batch_seq = ?1 AND (w.moves_ours = 1 OR w.was_in_block = 1)",
        )?;
        Ok(query.exists([batch_seq])?)
    }

    /// The payouts that so many equal outputs of a twin may pay, each with its batch: their address exactly their amount; a block that holds
    /// the twin stands above where they were asked for; where a stranger made it (not `moves_ours`), none that was sent from here, or of
    /// which no block decides anything any more. Those that wait before those that failed or were sent, offers last, the oldest first. Of
    /// many the first, of those that have a twin and of those that have none, of each more than the outputs by [`LIKE_MAX`].
    pub fn payouts_like(
        &self,
        (script, amount_sats): (&Script, u64),
        outputs: usize,
        moves_ours: bool,
        position: &TxPosition,
    ) -> Result<Vec<(i64, Option<i64>)>, StoreError> {
        const ORDER: &str = "ORDER BY rank, batch_seq IS NOT NULL, approved_at, seq";
        let (_, height) = values::position_columns(position);
        let some = |has_twin: u8| {
            format!(
                "SELECT * FROM (SELECT p.seq, p.batch_seq, p.approved_at, \
                 CASE p.state WHEN 'QUEUED' THEN 0 WHEN 'FAILED' THEN 1 WHEN 'NEW' THEN 3 ELSE 2 END AS rank \
                 FROM payouts AS p WHERE p.script = ?1 AND p.amount_sats = ?2 AND (p.approved_at IS NOT NULL OR p.state = 'NEW') \
                 AND (?3 IS NULL OR p.asked_above IS NULL OR p.asked_above < ?3) \
                 AND (?5 OR p.state <> 'SENT' OR EXISTS (SELECT 1 FROM twins AS w WHERE w.txid = p.txid \
                 AND ifnull(w.block_height, ifnull(w.conflict_height, ?6 + 1)) > ?6)) \
                 AND {HAS_TWIN} = {has_twin} {ORDER} LIMIT ?4)"
            )
        };
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT seq, batch_seq FROM ({} UNION ALL {}) {ORDER}",
            some(0),
            some(1)
        ))?;
        let limit = i64::try_from(outputs.saturating_add(LIKE_MAX)).unwrap_or(i64::MAX);
        let decided = decided_up_to(self.tip_height()?);
        let values = params![script.as_bytes(), values::sats_column(amount_sats), height, limit, moves_ours, decided];
        query.query_and_then(values, |row| Ok((row.get("seq")?, row.get("batch_seq")?)))?.collect()
    }
}

impl Reader<'_> {
    /// The first twin with exactly this output that pays no payout of this database: what it was for is not known here, a refund
    /// of the other copy, say. Not one that is ruled out for good.
    pub fn twin_with_strange_output(&self, output: &TxOut, tip_height: u32) -> Result<Option<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT w.txid, t.raw FROM twins AS w JOIN transactions AS t ON t.txid = w.txid \
             WHERE instr(t.raw, ?1) > 0 AND ifnull(w.conflict_height, ?2 + 1) > ?2 ORDER BY w.noticed_at, w.txid",
        )?;
        // An offer that lapsed is nobody's any more.
        let mut is_payouts = self.connection.prepare_cached(
            "SELECT 1 FROM twin_outputs AS o JOIN payouts AS p ON p.seq = o.payout_seq \
             WHERE o.txid = ?1 AND o.vout = ?2 AND p.state <> 'EXPIRED'",
        )?;
        let mut rows = query.query(params![consensus::serialize(output), decided_up_to(tip_height)])?;
        while let Some(row) = rows.next()? {
            let (txid, raw): (Txid, Vec<u8>) = (values::txid(row, "txid")?, row.get("raw")?);
            let tx: Transaction = consensus::deserialize(&raw).map_err(|_| StoreError::BadValue("raw"))?;
            for (vout, _) in (0u32..).zip(&tx.output).filter(|(_, it)| *it == output) {
                if !is_payouts.exists(params![txid.as_byte_array(), vout])? {
                    return Ok(Some(txid));
                }
            }
        }
        Ok(None)
    }
}

impl Tx<'_> {
    /// Stores a twin. Its transaction is stored already.
    pub fn insert_twin(
        &self,
        txid: &Txid,
        position: &TxPosition,
        moves_ours: bool,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (position, height) = values::position_columns(position);
        self.connection
            .prepare_cached(
                "INSERT INTO twins (txid, noticed_at, position, block_height, was_in_block, moves_ours) \
                 VALUES (?1, ?2, ?3, ?4, ?4 IS NOT NULL, ?5)",
            )?
            .execute(params![txid.as_byte_array(), at.ms(), position, height, moves_ours])?;
        Ok(())
    }

    /// Notes that a twin which was known by whom it pays moves coins of this wallet, and answers whether that is new.
    pub fn note_moves_ours(&self, txid: &Txid) -> Result<bool, StoreError> {
        let mut update =
            self.connection.prepare_cached("UPDATE twins SET moves_ours = 1 WHERE txid = ?1 AND moves_ours = 0")?;
        Ok(update.execute([txid.as_byte_array()])? > 0)
    }

    /// Notes which payout an output of a twin pays.
    pub fn store_twin_output(&self, txid: &Txid, vout: u32, payout_seq: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO twin_outputs (txid, vout, payout_seq, is_for_else) VALUES (?1, ?2, ?3, EXISTS \
                 (SELECT 1 FROM twin_outputs AS o JOIN payouts AS p ON p.seq = o.payout_seq \
                 WHERE o.payout_seq = ?3 AND o.is_for_else = 1 AND p.state = 'FAILED'))",
            )?
            .execute(params![txid.as_byte_array(), vout, payout_seq])?;
        Ok(())
    }

    /// Notes that what strangers pay a payout was for something else: people gave it up, and were told of them. It counts all the same where
    /// it shows later that it moves something of this wallet.
    pub fn note_for_else(&self, payout_seq: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE twin_outputs SET is_for_else = 1 WHERE payout_seq = ?1")?
            .execute([payout_seq])?;
        Ok(())
    }

    /// Notes where a look found a twin.
    pub fn move_twin(
        &self,
        txid: &Txid,
        position: &TxPosition,
        conflict_height: Option<u32>,
    ) -> Result<(), StoreError> {
        let (position, height) = values::position_columns(position);
        self.connection
            .prepare_cached(
                "UPDATE twins SET position = ?2, block_height = ?3, conflict_height = ?4, \
                 was_in_block = max(was_in_block, ?3 IS NOT NULL) WHERE txid = ?1",
            )?
            .execute(params![txid.as_byte_array(), position, height, conflict_height])?;
        Ok(())
    }

    /// Notes what the ledger holds of a twin.
    pub fn book_twin(&self, txid: &Txid, sats: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE twins SET booked_sats = ?2 WHERE txid = ?1")?
            .execute(params![txid.as_byte_array(), sats])?;
        Ok(())
    }
}
