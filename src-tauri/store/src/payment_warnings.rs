//! Warnings to staff about payments. Looks raise and end them.

use std::collections::BTreeSet;

use bitcoin::Txid;
use bitcoin::hashes::Hash as _;
use rusqlite::params;
use tillgate_domain::advance::Warning;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values;

/// Most warnings read at once; newer ones follow as these end.
const READ_AT_ONCE: u32 = 100;

const DOUBLE_SPEND_ATTEMPT: &str = "DOUBLE_SPEND_ATTEMPT";
const DECIDED_ANOMALY_CHANGED: &str = "DECIDED_ANOMALY_CHANGED";

impl Reader<'_> {
    /// The transactions of a payment that somebody tries to double-spend.
    fn attempts(&self, payment_seq: i64) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT subject FROM payment_warnings WHERE payment_seq = ?1 AND kind = ?2",
        )?;
        query
            .query_and_then(params![payment_seq, DOUBLE_SPEND_ATTEMPT], |row| {
                values::txid(row, "subject")
            })?
            .collect()
    }

    /// The warnings about payments, with the payments' ids, oldest first, 100 at most.
    pub fn payment_warnings(&self) -> Result<Vec<(Id, Warning)>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT p.id AS id, w.kind AS kind, w.subject AS subject FROM payment_warnings AS w \
             JOIN payments AS p ON p.seq = w.payment_seq ORDER BY w.at, w.payment_seq LIMIT ?1",
        )?;
        query
            .query_and_then([READ_AT_ONCE], |row| {
                let kind: String = row.get("kind")?;
                let warning = match kind.as_str() {
                    DOUBLE_SPEND_ATTEMPT => {
                        Warning::DoubleSpendAttempt { txid: values::txid(row, "subject")? }
                    }
                    DECIDED_ANOMALY_CHANGED => {
                        Warning::DecidedAnomalyChanged { id: values::id(row, "subject")? }
                    }
                    _ => return Err(StoreError::BadValue("payment_warnings.kind")),
                };
                Ok((values::id(row, "id")?, warning))
            })?
            .collect()
    }
}

impl Tx<'_> {
    /// Stores the warnings of a look about a payment. Returns the new ones. The warning of a
    /// double-spend attempt ends with the first look that does not report it. The warning of a
    /// changed anomaly ends once its coins are back.
    pub fn save_payment_warnings(
        &self,
        payment_seq: i64,
        warnings: &[Warning],
        at: Timestamp,
    ) -> Result<Vec<Warning>, StoreError> {
        let attempts: BTreeSet<Txid> = warnings.iter().filter_map(attacked).collect();
        for over in self.attempts(payment_seq)?.iter().filter(|txid| !attempts.contains(*txid)) {
            self.end_warning(payment_seq, DOUBLE_SPEND_ATTEMPT, over.as_byte_array())?;
        }
        let mut new = Vec::new();
        for warning in warnings {
            let (kind, subject): (_, &[u8]) = match warning {
                Warning::DoubleSpendAttempt { txid } => {
                    (DOUBLE_SPEND_ATTEMPT, txid.as_byte_array())
                }
                Warning::DecidedAnomalyChanged { id } => (DECIDED_ANOMALY_CHANGED, id.as_bytes()),
                Warning::DecidedAnomalyRestored { id } => {
                    self.end_warning(payment_seq, DECIDED_ANOMALY_CHANGED, id.as_bytes())?;
                    continue;
                }
            };
            let mut insert = self.connection.prepare_cached(
                "INSERT OR IGNORE INTO payment_warnings (payment_seq, kind, subject, at) VALUES (?1, ?2, ?3, ?4)",
            )?;
            if insert.execute(params![payment_seq, kind, subject, at.ms()])? > 0 {
                new.push(*warning);
            }
        }
        Ok(new)
    }

    fn end_warning(&self, payment_seq: i64, kind: &str, subject: &[u8]) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("DELETE FROM payment_warnings WHERE payment_seq = ?1 AND kind = ?2 AND subject = ?3")?
            .execute(params![payment_seq, kind, subject])?;
        Ok(())
    }
}

const fn attacked(warning: &Warning) -> Option<Txid> {
    match warning {
        Warning::DoubleSpendAttempt { txid } => Some(*txid),
        Warning::DecidedAnomalyChanged { .. } | Warning::DecidedAnomalyRestored { .. } => None,
    }
}
