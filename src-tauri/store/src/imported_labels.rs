//! Labels that staff imported from another wallet program. They are shown and exported, and decide
//! nothing.

use bitcoin::hashes::Hash as _;
use bitcoin::{OutPoint, ScriptBuf, Txid};
use rusqlite::{OptionalExtension as _, params};

use super::error::StoreError;
use super::labels::{Labelled, LabelledKind};
use super::reader::Reader;
use super::tx::Tx;
use super::values::{self, Columns as _};

/// The most labels shown with a payment or a payout.
const SHOWN_MAX: usize = 10;

/// Outputs that pay a payment.
const OF_PAYMENT: &str =
    "SELECT txid, vout FROM coins WHERE txid = ?1 AND payment_seq = ?2 ORDER BY vout";

/// Outputs that pay a payout.
const OF_PAYOUT: &str =
    "SELECT txid, vout FROM version_outputs WHERE txid = ?1 AND payout_seq = ?2 ORDER BY vout";

impl Reader<'_> {
    /// The imported label of a thing.
    pub fn imported_label(
        &self,
        kind: LabelledKind,
        reference: &str,
    ) -> Result<Option<String>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT label FROM imported_labels WHERE kind = ?1 AND reference = ?2",
        )?;
        Ok(query.query_row(params![kind.as_str(), reference], |row| row.get(0)).optional()?)
    }

    /// At most `limit` imported labels behind the number `after`, in the order of their first
    /// import, with their numbers.
    pub fn imported_labels(
        &self,
        after: i64,
        limit: u32,
    ) -> Result<Vec<(i64, Labelled)>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT seq, kind, reference, label FROM imported_labels WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        )?;
        let mut rows = query.query(params![after, limit])?;
        let mut labels = Vec::new();
        while let Some(row) = rows.next()? {
            let kind = LabelledKind::named(values::text(row, "kind")?)
                .ok_or(StoreError::BadValue("kind"))?;
            let labelled =
                Labelled { kind, reference: row.get("reference")?, label: row.get("label")? };
            labels.push((row.get("seq")?, labelled));
        }
        Ok(labels)
    }

    /// The imported labels of a payment: of its address, of transactions that pay it, and of their
    /// outputs to it.
    pub fn labels_of_payment(
        &self,
        seq: i64,
        address: &str,
        txids: &[Txid],
    ) -> Result<Vec<String>, StoreError> {
        self.labels_of(address, txids, OF_PAYMENT, seq)
    }

    /// The imported labels of a payout: of its address, of its transactions, and of their outputs
    /// to it.
    pub fn labels_of_payout(
        &self,
        seq: i64,
        address: &str,
        txids: &[Txid],
    ) -> Result<Vec<String>, StoreError> {
        self.labels_of(address, txids, OF_PAYOUT, seq)
    }

    fn labels_of(
        &self,
        address: &str,
        txids: &[Txid],
        outputs: &'static str,
        seq: i64,
    ) -> Result<Vec<String>, StoreError> {
        let mut labels: Vec<String> = Vec::new();
        let mut add =
            |label: Option<String>| labels.extend(label.filter(|label| !labels.contains(label)));
        add(self.imported_label(LabelledKind::Address, address)?);
        for txid in txids {
            add(self.imported_label(LabelledKind::Transaction, &txid.to_string())?);
            let mut query = self.connection.prepare_cached(outputs)?;
            let mut rows = query.query(params![txid.as_byte_array(), seq])?;
            while let Some(row) = rows.next()? {
                let outpoint =
                    OutPoint { txid: values::txid(row, "txid")?, vout: row.get("vout")? };
                add(self.imported_label(LabelledKind::Output, &outpoint.to_string())?);
            }
        }
        labels.truncate(SHOWN_MAX);
        Ok(labels)
    }

    /// Whether a transaction pays or spends scripts of this wallet.
    pub fn is_own_transaction(&self, txid: &Txid) -> Result<bool, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT 1 FROM transactions WHERE txid = ?1")?;
        Ok(query.exists([txid.as_byte_array()])?)
    }

    /// Whether an output is a coin of this wallet or pays a payout.
    pub fn is_own_output(&self, outpoint: &OutPoint) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT 1 FROM coins WHERE txid = ?1 AND vout = ?2 \
             UNION ALL SELECT 1 FROM version_outputs WHERE txid = ?1 AND vout = ?2",
        )?;
        Ok(query.exists(params![outpoint.txid.as_byte_array(), outpoint.vout])?)
    }

    /// Whether a payment or a payout has this script.
    pub fn is_script_of_record(&self, script: &ScriptBuf) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT 1 FROM payments WHERE script = ?1 UNION ALL SELECT 1 FROM payouts WHERE script = ?1",
        )?;
        Ok(query.exists([script.as_bytes()])?)
    }

    /// The scripts of coins that pay no payment: change, and coins of a wallet that was restored
    /// from its words.
    pub fn scripts_without_payment(
        &self,
    ) -> Result<std::collections::HashSet<ScriptBuf>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT c.vout, t.raw FROM coins AS c JOIN transactions AS t ON t.txid = c.txid WHERE c.payment_seq IS NULL",
        )?;
        let mut rows = query.query([])?;
        let mut scripts = std::collections::HashSet::new();
        while let Some(row) = rows.next()? {
            let tx: bitcoin::Transaction =
                bitcoin::consensus::deserialize(&row.value::<Vec<u8>>("raw")?)
                    .map_err(|_| StoreError::BadValue("raw"))?;
            let vout: u32 = values::number(row, "vout")?;
            let output = usize::try_from(vout).ok().and_then(|vout| tx.output.get(vout));
            scripts.extend(output.map(|output| output.script_pubkey.clone()));
        }
        Ok(scripts)
    }
}

impl Tx<'_> {
    /// Stores an imported label. Returns whether it was another one before.
    pub fn import_label(&self, labelled: &Labelled) -> Result<bool, StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO imported_labels (kind, reference, label) VALUES (?1, ?2, ?3) \
             ON CONFLICT (kind, reference) DO UPDATE SET label = excluded.label WHERE label <> excluded.label",
        )?;
        Ok(insert.execute(params![labelled.kind.as_str(), labelled.reference, labelled.label])? > 0)
    }

    /// Forgets the imported label of a thing. Returns whether there was one.
    pub fn forget_label(&self, kind: LabelledKind, reference: &str) -> Result<bool, StoreError> {
        let mut delete = self
            .connection
            .prepare_cached("DELETE FROM imported_labels WHERE kind = ?1 AND reference = ?2")?;
        Ok(delete.execute(params![kind.as_str(), reference])? > 0)
    }
}
