//! The changes of each payment, for people.

use std::str::FromStr;

use rusqlite::params;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::time::Timestamp;

use super::values::{self, sats_column};
use super::{Reader, StoreError, Tx};

/// What led to a change of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A look found something new in the chain or the mempool.
    Chain,
    /// A moment came, such as the deadline.
    Time,
    /// Staff accepted the coins that came.
    Staff,
}

impl Cause {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Time => "time",
            Self::Staff => "staff",
        }
    }
}

impl FromStr for Cause {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Chain, Self::Time, Self::Staff].into_iter().find(|cause| cause.as_str() == text).ok_or(())
    }
}

/// One change of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// The record's `currentTime` of the change.
    pub at: Timestamp,
    /// The state before.
    pub from: PaymentState,
    /// The state after.
    pub to: PaymentState,
    /// What counted after.
    pub paid_sats: u64,
    /// What led to it.
    pub cause: Cause,
}

impl Reader<'_> {
    /// The changes of a payment, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn payment_history(&self, payment_seq: i64) -> Result<Vec<HistoryRow>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT at, from_state, to_state, paid_sats, cause FROM payment_history WHERE payment_seq = ?1 ORDER BY at",
        )?;
        let mut rows = query.query([payment_seq])?;
        let mut history = Vec::new();
        while let Some(row) = rows.next()? {
            history.push(HistoryRow {
                at: values::time(row, "at")?,
                from: values::parsed(row, "from_state")?,
                to: values::parsed(row, "to_state")?,
                paid_sats: values::sats(row, "paid_sats")?,
                cause: values::parsed(row, "cause")?,
            });
        }
        Ok(history)
    }
}

impl Tx<'_> {
    /// Notes a change.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn note_change(&self, payment_seq: i64, change: &HistoryRow) -> Result<(), StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO payment_history (payment_seq, at, from_state, to_state, paid_sats, cause) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        insert.execute(params![
            payment_seq,
            change.at.ms(),
            change.from.as_str(),
            change.to.as_str(),
            sats_column(change.paid_sats),
            change.cause.as_str(),
        ])?;
        Ok(())
    }
}
