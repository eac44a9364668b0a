//! Batches: payouts that share a transaction, the versions of that transaction, and the coins they
//! spend.

use bitcoin::hashes::Hash as _;
use bitcoin::{OutPoint, Transaction, Txid, consensus};
use rusqlite::{OptionalExtension as _, Row, params};
use tillgate_domain::batch::Position;
use tillgate_domain::chain::TxPosition;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values::{self, Columns as _, InOrder, sats_column};

/// One signed transaction of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRow {
    pub txid: Txid,
    pub batch_seq: i64,
    /// Number within the batch, from 1 in the order of creation.
    pub number: u32,
    /// Whether it pays the batch's payouts; other versions give the batch up.
    pub pays: bool,
    pub fee_sats: u64,
    pub vsize: u64,
    pub created_at: Timestamp,
    /// Who asked for it as a replacement; `None` for the sender.
    pub made_by: Option<String>,
    /// When a backend first accepted it.
    pub accepted_at: Option<Timestamp>,
    /// Its last refusal; `None` once a backend accepts it.
    pub refusal: Option<Refusal>,
    /// Its position at the last look.
    pub position: Position,
    pub tx: Transaction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub at: Timestamp,
    /// The backend's words; `None` if a block holds another transaction that spends the same coins.
    pub words: Option<String>,
}

#[derive(Debug, Clone)]
pub struct NewVersion {
    pub tx: Transaction,
    pub pays: bool,
    pub fee_sats: u64,
    pub vsize: u64,
    /// Output indices (`vout`), each with the `seq` of the payout that it pays.
    pub outputs: Vec<(u32, i64)>,
    pub at: Timestamp,
    pub by: Option<String>,
}

/// A batch without its versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchRow {
    pub seq: i64,
    /// Whether its inputs are reserved: a block may still decide about the batch, and one of its
    /// payouts is QUEUED or SENT.
    pub live: bool,
    /// Satoshis booked for the fee of a mined transaction that gave the batch up; zero or negative.
    pub booked_fee_sats: i64,
}

/// In the order in which [`read`] reads them.
const COLUMNS: &str = "v.txid, v.batch_seq, v.number, v.pays, v.fee_sats, v.vsize, v.created_at, v.made_by, v.accepted_at, \
     v.refused_at, v.refusal, v.position, v.block_height, t.raw";

const FROM: &str = "FROM versions AS v JOIN transactions AS t ON t.txid = v.txid";

impl Reader<'_> {
    pub fn batch(&self, seq: i64) -> Result<Option<BatchRow>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT seq, live, booked_fee_sats FROM batches WHERE seq = ?1")?;
        let mut rows = query.query([seq])?;
        rows.next()?
            .map(|row| {
                Ok(BatchRow {
                    seq: row.get("seq")?,
                    live: row.get("live")?,
                    booked_fee_sats: row.get("booked_fee_sats")?,
                })
            })
            .transpose()
    }

    /// All versions of a batch, oldest first.
    pub fn versions(&self, batch_seq: i64) -> Result<Vec<VersionRow>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} {FROM} WHERE v.batch_seq = ?1 ORDER BY v.number"
        ))?;
        query.query_and_then([batch_seq], version_from_row)?.collect()
    }

    pub fn version(&self, txid: &Txid) -> Result<Option<VersionRow>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} {FROM} WHERE v.txid = ?1"))?;
        let mut rows = query.query([txid.as_byte_array()])?;
        rows.next()?.map(version_from_row).transpose()
    }

    pub fn batch_of_version(&self, txid: &Txid) -> Result<Option<i64>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT batch_seq FROM versions WHERE txid = ?1")?;
        Ok(query.query_row([txid.as_byte_array()], |row| row.get(0)).optional()?)
    }

    /// Whether a version of the batch gives it up.
    pub fn is_given_up(&self, batch_seq: i64) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM versions WHERE batch_seq = ?1 AND pays = 0)",
        )?;
        Ok(query.query_row([batch_seq], |row| row.get(0))?)
    }

    /// Batches that a block may still affect, oldest first.
    pub fn pending_batches(&self) -> Result<Vec<i64>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT seq FROM batches WHERE pending = 1 ORDER BY seq")?;
        let rows = query.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The live batch that reserves an outpoint.
    pub fn live_batch_of_input(&self, outpoint: &OutPoint) -> Result<Option<i64>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT batch_seq FROM batch_inputs WHERE txid = ?1 AND vout = ?2 AND live = 1",
        )?;
        Ok(query
            .query_row(params![outpoint.txid.as_byte_array(), outpoint.vout], |row| row.get(0))
            .optional()?)
    }

    /// The live batches that spend an output of a transaction.
    pub fn live_batches_on(&self, txid: &Txid) -> Result<Vec<i64>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT DISTINCT batch_seq FROM batch_inputs WHERE txid = ?1 AND live = 1 ORDER BY batch_seq",
        )?;
        let rows = query.query_map([txid.as_byte_array()], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// All outpoints that the versions of a batch spend.
    pub fn inputs_of_batch(&self, batch_seq: i64) -> Result<Vec<OutPoint>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txid, vout FROM batch_inputs WHERE batch_seq = ?1 ORDER BY txid, vout",
        )?;
        query
            .query_and_then([batch_seq], |row| {
                Ok(OutPoint { txid: values::txid(row, "txid")?, vout: row.get("vout")? })
            })?
            .collect()
    }
}

impl Tx<'_> {
    /// Inserts an empty batch. Returns its `seq`.
    pub fn insert_batch(&self, at: Timestamp) -> Result<i64, StoreError> {
        Ok(self
            .connection
            .prepare_cached("INSERT INTO batches (created_at) VALUES (?1)")?
            .insert([at.ms()])?)
    }

    /// Puts a payout into a batch, which it never leaves.
    pub fn join_batch(&self, payout_seq: i64, batch_seq: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE payouts SET batch_seq = ?2 WHERE seq = ?1")?
            .execute([payout_seq, batch_seq])?;
        Ok(())
    }

    /// Stores the next version of a batch with its transaction and outputs, and reserves its
    /// inputs. Fails if another live batch has reserved one of them.
    pub fn store_version(&self, batch_seq: i64, new: &NewVersion) -> Result<Txid, StoreError> {
        let txid = new.tx.compute_txid();
        self.store_transaction(&new.tx, &txid, new.at)?;
        self.connection
            .prepare_cached(
                "INSERT INTO versions (txid, batch_seq, number, pays, fee_sats, vsize, created_at, made_by, \
                 position) VALUES (?1, ?2, (SELECT ifnull(max(number), 0) + 1 FROM versions WHERE batch_seq = ?2), ?3, ?4, \
                 ?5, ?6, ?7, 'absent')",
            )?
            .execute(params![
                txid.as_byte_array(),
                batch_seq,
                new.pays,
                sats_column(new.fee_sats),
                sats_column(new.vsize),
                new.at.ms(),
                new.by,
            ])?;
        for (vout, payout_seq) in &new.outputs {
            self.connection
                .prepare_cached(
                    "INSERT INTO version_outputs (txid, vout, payout_seq) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![txid.as_byte_array(), vout, payout_seq])?;
        }
        for input in &new.tx.input {
            let outpoint = input.previous_output;
            self.connection
                .prepare_cached(
                    "INSERT INTO batch_inputs (txid, vout, batch_seq) VALUES (?1, ?2, ?3) \
                     ON CONFLICT (txid, vout, batch_seq) DO NOTHING",
                )?
                .execute(params![outpoint.txid.as_byte_array(), outpoint.vout, batch_seq])?;
        }
        Ok(txid)
    }

    pub fn move_version(&self, txid: &Txid, position: &TxPosition) -> Result<(), StoreError> {
        let (position, height) = values::position_columns(position);
        self.connection
            .prepare_cached("UPDATE versions SET position = ?2, block_height = ?3 WHERE txid = ?1")?
            .execute(params![txid.as_byte_array(), position, height])?;
        Ok(())
    }

    /// Marks a version as accepted by a backend and deletes its refusal; the first acceptance time
    /// stays.
    pub fn accept_version(&self, txid: &Txid, at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE versions SET accepted_at = ifnull(accepted_at, ?2), refused_at = NULL, refusal = NULL \
                 WHERE txid = ?1 AND (accepted_at IS NULL OR refused_at IS NOT NULL)",
            )?
            .execute(params![txid.as_byte_array(), at.ms()])?;
        Ok(())
    }

    pub fn refuse_version(&self, txid: &Txid, refusal: &Refusal) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE versions SET refused_at = ?2, refusal = ?3 WHERE txid = ?1")?
            .execute(params![txid.as_byte_array(), refusal.at.ms(), refusal.words])?;
        Ok(())
    }

    /// Stores the outcome of a look for a batch. A batch that is no longer live releases its
    /// inputs. A batch that is live again reserves them again, except inputs that another batch
    /// reserved meanwhile.
    pub fn save_batch(&self, row: &BatchRow, pending: bool) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE batches SET live = ?2, pending = ?3, booked_fee_sats = ?4 WHERE seq = ?1",
            )?
            .execute(params![row.seq, row.live, pending, row.booked_fee_sats])?;
        self.connection
            .prepare_cached(
                "UPDATE OR IGNORE batch_inputs SET live = ?2 WHERE batch_seq = ?1 AND live <> ?2",
            )?
            .execute(params![row.seq, row.live])?;
        Ok(())
    }
}

fn refusal(row: &InOrder<'_>) -> Result<Option<Refusal>, StoreError> {
    let (at, words) = (values::optional_time(row, "refused_at")?, row.value("refusal")?);
    Ok(at.map(|at| Refusal { at, words }))
}

fn version_from_row(row: &Row<'_>) -> Result<VersionRow, StoreError> {
    let row = &InOrder::new(row);
    Ok(VersionRow {
        txid: values::txid(row, "txid")?,
        batch_seq: row.value("batch_seq")?,
        number: values::number(row, "number")?,
        pays: row.value("pays")?,
        fee_sats: values::sats(row, "fee_sats")?,
        vsize: values::sats(row, "vsize")?,
        created_at: values::time(row, "created_at")?,
        made_by: row.value("made_by")?,
        accepted_at: values::optional_time(row, "accepted_at")?,
        refusal: refusal(row)?,
        position: values::batch_position(row)?,
        tx: consensus::deserialize(&row.value::<Vec<u8>>("raw")?)
            .map_err(|_| StoreError::BadValue("raw"))?,
    })
}
