//! Twins: transactions that spend coins of this wallet but were not made here. Another copy of the
//! wallet made them.

use bitcoin::hashes::Hash as _;
use bitcoin::{Amount, Script, Transaction, TxOut, Txid, consensus};
use rusqlite::{Params, Row, params};
use tillgate_domain::batch::{Position, decided_up_to};
use tillgate_domain::chain::TxPosition;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values;

/// SQL for the payouts that are SENT by the twin `?1`.
const SENT_BY: &str = "FROM twin_outputs AS o JOIN payouts AS p ON p.seq = o.payout_seq \
     WHERE o.txid = ?1 AND p.state = 'SENT' AND p.txid = ?1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwinRow {
    pub txid: Txid,
    pub noticed_at: Timestamp,
    /// Time of its block or of its mempool entry, as the backend first reported it; `noticed_at`
    /// until then.
    pub made_at: Timestamp,
    /// Its position at the last look.
    pub position: Position,
    /// Whether its outputs were matched with payouts, which happens when a block first holds it.
    pub is_matched: bool,
    /// Lowest height of a block that rules it out.
    pub conflict_height: Option<u32>,
    /// Its effect on the balance that is booked in the ledger, without the payouts that it paid.
    pub booked_sats: i64,
    pub tx: Transaction,
}

/// A payment to an address by another copy of the wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaidByTwin {
    pub txid: Txid,
    /// Sum of the transaction's outputs to the address.
    pub amount_sats: u64,
    pub noticed_at: Timestamp,
    pub made_at: Timestamp,
}

impl TwinRow {
    fn of_row(row: &Row<'_>) -> Result<Self, StoreError> {
        let raw: Vec<u8> = row.get("raw")?;
        Ok(Self {
            txid: values::txid(row, "txid")?,
            noticed_at: values::time(row, "noticed_at")?,
            made_at: values::optional_time(row, "made_at")?
                .map_or_else(|| values::time(row, "noticed_at"), Ok)?,
            position: values::batch_position(row)?,
            is_matched: row.get("is_matched")?,
            conflict_height: row.get("conflict_height")?,
            booked_sats: row.get("booked_sats")?,
            tx: consensus::deserialize(&raw).map_err(|_| StoreError::BadValue("raw"))?,
        })
    }
}

impl Reader<'_> {
    /// Twins selected and ordered by the SQL clauses that follow `FROM`.
    fn twins(&self, clauses: &str, values: impl Params) -> Result<Vec<TwinRow>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT w.*, t.raw FROM twins AS w JOIN transactions AS t ON t.txid = w.txid {clauses}"
        ))?;
        query.query_and_then(values, TwinRow::of_row)?.collect()
    }

    pub fn twin(&self, txid: &Txid) -> Result<Option<TwinRow>, StoreError> {
        Ok(self.twins("WHERE w.txid = ?1", [txid.as_byte_array()])?.pop())
    }

    pub fn is_twin(&self, txid: &Txid) -> Result<bool, StoreError> {
        Ok(self
            .connection
            .prepare_cached("SELECT 1 FROM twins WHERE txid = ?1")?
            .exists([txid.as_byte_array()])?)
    }

    /// Twins that a block may still affect: all but those deep in the chain, or ruled out by a deep
    /// block.
    pub fn pending_twins(&self, tip_height: u32) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txid FROM twins WHERE ifnull(block_height, ifnull(conflict_height, ?1 + 1)) > ?1",
        )?;
        query
            .query_and_then([decided_up_to(tip_height)], |row| values::txid(row, "txid"))?
            .collect()
    }

    /// Twins in no block that are not known to be ruled out for good, the first noticed first.
    pub fn unmined_twins(&self, tip_height: u32) -> Result<Vec<TwinRow>, StoreError> {
        self.twins(
            "WHERE w.block_height IS NULL AND ifnull(w.conflict_height, ?1 + 1) > ?1 ORDER BY w.noticed_at, w.txid",
            [decided_up_to(tip_height)],
        )
    }

    /// The first noticed twin in the mempool, even if a block held it before.
    pub fn twin_in_mempool(&self) -> Result<Option<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txid FROM twins WHERE position = 'mempool' ORDER BY noticed_at, txid LIMIT 1",
        )?;
        let mut rows = query.query([])?;
        rows.next()?.map(|row| values::txid(row, "txid")).transpose()
    }

    /// The payouts that a mined twin paid: the `seq` of each and of its batch.
    pub fn payouts_of_twin(&self, txid: &Txid) -> Result<Vec<(i64, Option<i64>)>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT p.seq, p.batch_seq FROM twin_outputs AS o JOIN payouts AS p ON p.seq = o.payout_seq WHERE o.txid = ?1",
        )?;
        query
            .query_and_then([txid.as_byte_array()], |row| {
                Ok((row.get("seq")?, row.get("batch_seq")?))
            })?
            .collect()
    }

    /// Twins noticed since `since`, the first made first.
    pub fn twins_noticed_since(
        &self,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<TwinRow>, StoreError> {
        self.twins(
            "WHERE w.noticed_at >= ?1 ORDER BY ifnull(w.made_at, w.noticed_at), w.txid LIMIT ?2",
            params![since.ms(), limit],
        )
    }

    pub fn twins_noticed_since_count(&self, since: Timestamp) -> Result<u64, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT count(*) FROM twins WHERE noticed_at >= ?1")?;
        Ok(query.query_row([since.ms()], |row| row.get(0))?)
    }

    /// Satoshis that other copies paid in transactions made since `begin`, without fees and SENT
    /// payouts. Absent transactions, and those ruled out, count as nothing.
    pub fn paid_by_twins_since(&self, begin: Timestamp) -> Result<u64, StoreError> {
        let twins = self.twins(
            "WHERE (w.made_at >= ?1 OR (w.made_at IS NULL AND w.noticed_at >= ?1)) AND w.position <> 'absent' \
             AND w.conflict_height IS NULL",
            [begin.ms()],
        )?;
        let mut paid_sats = 0u64;
        for twin in twins {
            let outputs_sats: u64 = twin.tx.output.iter().map(|output| output.value.to_sat()).sum();
            let ours_sats =
                self.coins_made_sats(&twin.txid)?.saturating_add(self.sent_sats(&twin.txid)?);
            paid_sats = paid_sats.saturating_add(outputs_sats.saturating_sub(ours_sats));
        }
        Ok(paid_sats)
    }

    /// Sum that a transaction pays to this wallet: change, and addresses with or without a payment.
    fn coins_made_sats(&self, txid: &Txid) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(sum(amount_sats), 0) AS sats FROM coins WHERE txid = ?1",
        )?;
        let mut rows = query.query([txid.as_byte_array()])?;
        rows.next()?.map_or(Ok(0), |row| values::sats(row, "sats"))
    }

    /// Whether a payout is SENT by a twin.
    pub fn has_sent(&self, txid: &Txid) -> Result<bool, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!("SELECT 1 {SENT_BY}"))?
            .exists([txid.as_byte_array()])?)
    }

    /// Sum of the payouts that are SENT by a twin.
    pub fn sent_sats(&self, txid: &Txid) -> Result<u64, StoreError> {
        let mut query = self
            .connection
            .prepare_cached(&format!("SELECT ifnull(sum(p.amount_sats), 0) AS sats {SENT_BY}"))?;
        let mut rows = query.query([txid.as_byte_array()])?;
        rows.next()?.map_or(Ok(0), |row| values::sats(row, "sats"))
    }

    /// The mined twins that paid a payout, the first noticed first.
    pub fn twins_of_payout(&self, payout_seq: i64) -> Result<Vec<TwinRow>, StoreError> {
        self.twins(
            "JOIN twin_outputs AS o ON o.txid = w.txid WHERE o.payout_seq = ?1 ORDER BY w.noticed_at, w.txid",
            [payout_seq],
        )
    }

    pub fn is_paid_by_twin(&self, batch_seq: i64) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT 1 FROM payouts AS p JOIN twin_outputs AS o ON o.payout_seq = p.seq WHERE p.batch_seq = ?1",
        )?;
        Ok(query.exists([batch_seq])?)
    }

    /// The payouts that a twin in a block at `height` pays by a number (`outputs`) of equal
    /// outputs.
    ///
    /// Each payout has the outputs' address and exact amount, was requested before that block, and
    /// is not paid by another mined twin. A payout that is not FAILED is left out once a node or a
    /// block has a transaction of ours that pays it. QUEUED payouts come first, then FAILED
    /// payouts, then offers, each kind oldest first.
    pub fn payouts_to_match(
        &self,
        (script, amount_sats): (&Script, u64),
        outputs: usize,
        height: u32,
    ) -> Result<Vec<i64>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT seq FROM payouts AS p WHERE script = ?1 AND amount_sats = ?2 AND state <> 'SENT' \
             AND (asked_above IS NULL OR asked_above < ?3) \
             AND (state = 'FAILED' OR NOT EXISTS (SELECT 1 FROM versions AS v WHERE v.batch_seq = p.batch_seq \
             AND v.pays = 1 AND (v.accepted_at IS NOT NULL OR v.position <> 'absent'))) \
             AND NOT EXISTS (SELECT 1 FROM twin_outputs AS o JOIN twins AS w ON w.txid = o.txid \
             WHERE o.payout_seq = p.seq AND w.block_height IS NOT NULL) \
             ORDER BY CASE state WHEN 'QUEUED' THEN 0 WHEN 'FAILED' THEN 1 WHEN 'NEW' THEN 2 ELSE 3 END, \
             batch_seq IS NOT NULL, approved_at, seq LIMIT ?4",
        )?;
        let limit = i64::try_from(outputs).unwrap_or(i64::MAX);
        let values = params![script.as_bytes(), values::sats_column(amount_sats), height, limit];
        query.query_and_then(values, |row| Ok(row.get("seq")?))?.collect()
    }

    /// A mined twin with an unmatched output that pays this unmatched payout exactly: its txid and
    /// the output's index.
    pub fn unmatched_twin_of(&self, payout_seq: i64) -> Result<Option<(Txid, u32)>, StoreError> {
        let Some(payout) = self.payout_by_seq(payout_seq)? else { return Ok(None) };
        let output =
            TxOut { value: Amount::from_sat(payout.amount_sats), script_pubkey: payout.script };
        let twins = self.twins(
            "JOIN payouts AS p ON p.seq = ?2 \
             WHERE instr(t.raw, ?1) > 0 AND w.block_height > ifnull(p.asked_above, -1) ORDER BY w.block_height, w.txid",
            params![consensus::serialize(&output), payout_seq],
        )?;
        let mut is_matched = self.connection.prepare_cached(
            "SELECT 1 FROM twin_outputs WHERE txid = ?1 AND (vout = ?2 OR payout_seq = ?3)",
        )?;
        for twin in twins {
            for (vout, _) in (0u32..).zip(&twin.tx.output).filter(|(_, it)| **it == output) {
                if !is_matched.exists(params![twin.txid.as_byte_array(), vout, payout_seq])? {
                    return Ok(Some((twin.txid, vout)));
                }
            }
        }
        Ok(None)
    }

    /// The last noticed twin that pays any amount to this script and is not ruled out for good. The
    /// same price in fiat is another amount a minute later, so the address decides alone. A payout
    /// that was requested after the twin was noticed shows that somebody wants the address paid
    /// again, so the twin is left out from then on.
    pub fn twin_that_paid(&self, script: &Script) -> Result<Option<PaidByTwin>, StoreError> {
        let twins = self.twins(
            "WHERE instr(t.raw, ?1) > 0 AND ifnull(w.conflict_height, ?2 + 1) > ?2 \
             AND NOT EXISTS (SELECT 1 FROM payouts AS p WHERE p.script = ?3 AND p.created_at > w.noticed_at) \
             ORDER BY w.noticed_at DESC, w.txid",
            params![consensus::serialize(script), decided_up_to(self.tip_height()?), script.as_bytes()],
        )?;
        // The script's bytes may also stand in an input.
        Ok(twins.into_iter().find_map(|twin| {
            let TwinRow { txid, noticed_at, made_at, tx, .. } = twin;
            let paid = tx.output.iter().filter(|output| output.script_pubkey.as_script() == script);
            let amount_sats =
                paid.map(|output| output.value.to_sat()).reduce(u64::saturating_add)?;
            Some(PaidByTwin { txid, amount_sats, noticed_at, made_at })
        }))
    }
}

impl Tx<'_> {
    /// Stores a twin. Call this after its transaction is stored.
    pub fn insert_twin(
        &self,
        txid: &Txid,
        position: &TxPosition,
        noticed_at: Timestamp,
        made_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let (position, height) = values::position_columns(position);
        self.connection
            .prepare_cached(
                "INSERT INTO twins (txid, noticed_at, made_at, position, block_height) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![txid.as_byte_array(), noticed_at.ms(), made_at.map(Timestamp::ms), position, height])?;
        Ok(())
    }

    /// Stores the time of a twin's block if no backend told its time before.
    pub fn date_twin(&self, txid: &Txid, made_at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE twins SET made_at = ifnull(made_at, ?2) WHERE txid = ?1")?
            .execute(params![txid.as_byte_array(), made_at.ms()])?;
        Ok(())
    }

    /// Marks a mined twin as matched with payouts.
    pub fn note_matched(&self, txid: &Txid) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE twins SET is_matched = 1 WHERE txid = ?1")?
            .execute([txid.as_byte_array()])?;
        Ok(())
    }

    /// Stores the payout that an output of a twin pays.
    pub fn store_twin_output(
        &self,
        txid: &Txid,
        vout: u32,
        payout_seq: i64,
    ) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO twin_outputs (txid, vout, payout_seq) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![txid.as_byte_array(), vout, payout_seq])?;
        Ok(())
    }

    pub fn move_twin(
        &self,
        txid: &Txid,
        position: &TxPosition,
        conflict_height: Option<u32>,
    ) -> Result<(), StoreError> {
        let (position, height) = values::position_columns(position);
        self.connection
            .prepare_cached("UPDATE twins SET position = ?2, block_height = ?3, conflict_height = ?4 WHERE txid = ?1")?
            .execute(params![txid.as_byte_array(), position, height, conflict_height])?;
        Ok(())
    }

    pub fn book_twin(&self, txid: &Txid, sats: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE twins SET booked_sats = ?2 WHERE txid = ?1")?
            .execute(params![txid.as_byte_array(), sats])?;
        Ok(())
    }
}
