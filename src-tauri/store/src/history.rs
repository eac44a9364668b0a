//! The changes of each payment, shown to staff.

use rusqlite::{Row, params};
use tillgate_domain::payment::{Cause, ConflictChange, PaymentState};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values::{self, sats_column};

/// One change of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// `currentTime` of the record after the change.
    pub at: Timestamp,
    pub from: PaymentState,
    pub to: PaymentState,
    /// Counted sum after the change.
    pub paid_sats: u64,
    pub cause: Cause,
    /// The change of `conflict_seen`, if it changed.
    pub conflict: Option<ConflictChange>,
}

impl Reader<'_> {
    /// The changes of a payment, oldest first.
    pub fn payment_history(&self, payment_seq: i64) -> Result<Vec<HistoryRow>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT at, from_state, to_state, paid_sats, cause, conflict FROM payment_history \
             WHERE payment_seq = ?1 ORDER BY at",
        )?;
        let change = |row: &Row<'_>| {
            let conflict: Option<String> = row.get("conflict")?;
            Ok(HistoryRow {
                at: values::time(row, "at")?,
                from: values::parsed(row, "from_state")?,
                to: values::parsed(row, "to_state")?,
                paid_sats: values::sats(row, "paid_sats")?,
                cause: values::parsed(row, "cause")?,
                conflict: conflict
                    .map(|text| text.parse())
                    .transpose()
                    .map_err(|_| StoreError::BadValue("payment_history.conflict"))?,
            })
        };
        query.query_and_then([payment_seq], change)?.collect()
    }
}

impl Tx<'_> {
    pub fn note_change(&self, payment_seq: i64, change: &HistoryRow) -> Result<(), StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO payment_history (payment_seq, at, from_state, to_state, paid_sats, cause, conflict) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        insert.execute(params![
            payment_seq,
            change.at.ms(),
            change.from.as_str(),
            change.to.as_str(),
            sats_column(change.paid_sats),
            change.cause.as_str(),
            change.conflict.map(ConflictChange::as_str),
        ])?;
        Ok(())
    }
}
