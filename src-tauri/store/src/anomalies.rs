//! Anomalies: coins that do not fit a payment, and their resolution.

use bitcoin::Txid;
use bitcoin::hashes::Hash as _;
use rusqlite::types::Value;
use rusqlite::{Row, params, params_from_iter};
use tillgate_domain::anomaly::{Anomaly, AnomalyKind, Resolution};
use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::payment_lists::{INDEXED_PAYMENTS, UNINDEXED_PAYMENTS};
use super::reader::Reader;
use super::tx::Tx;
use super::values::{self, sats_column};

/// An anomaly with all fields of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnomalyRow {
    /// Order of insertion.
    pub seq: i64,
    /// The fields that the domain's rules use.
    pub anomaly: Anomaly,
    pub payment_seq: i64,
    pub payment_id: Id,
    pub address: String,
    /// `merchantTransactionId` of its payment.
    pub merchant_transaction_id: String,
    /// The API key that made its payment; `None` for the panel.
    pub key_id: Option<i64>,
    pub notification_url: Option<String>,
    pub currency: Currency,
    /// The last known rate when the anomaly was raised.
    pub rate: Rate,
    /// The time of `rate`.
    pub rate_at: Timestamp,
    pub dismissal_reason: Option<String>,
    /// The payout that returns the coins.
    pub payout_id: Option<Id>,
    /// When staff last asked the customer for an address.
    pub asked_at: Option<Timestamp>,
    /// The customer's answer.
    pub answer: Option<RefundAddress>,
    /// Whether the coins of its transaction came before the payment's deadline: an earlier block or
    /// mempool shows it.
    pub came_in_time: bool,
    pub created_at: Timestamp,
    /// `currentTime` of its record.
    pub current_at: Timestamp,
}

/// The address that a customer gave for a refund. Anyone with the payment page's link can give one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundAddress {
    pub address: String,
    pub given_at: Timestamp,
}

impl AnomalyRow {
    /// Value of the affected coins at the anomaly's rate, in minor units, rounded down.
    #[must_use]
    pub fn worth_minor(&self) -> i64 {
        self.rate.worth_minor(self.anomaly.paid_sats, self.currency)
    }

    /// Whether the payment's page asks the customer for an address, or shows the given one.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.anomaly.resolution == Resolution::Open && self.asked_at.is_some()
    }

    /// Whether staff wait for the customer's address.
    #[must_use]
    pub fn awaits_answer(&self) -> bool {
        self.is_asked() && self.answer.is_none()
    }
}

/// An anomaly to insert as OPEN.
#[derive(Debug, Clone)]
pub struct NewAnomaly {
    pub id: Id,
    pub payment_seq: i64,
    pub kind: AnomalyKind,
    /// Its transaction, for kinds that exist once per transaction.
    pub txid: Option<Txid>,
    /// Sum of the affected coins.
    pub paid_sats: u64,
    pub txids: Vec<Txid>,
    /// The last known rate of the payment's currency.
    pub rate: Rate,
    pub rate_at: Timestamp,
    pub at: Timestamp,
}

/// Changes of an anomaly; `None` keeps a field.
#[derive(Debug, Clone, Default)]
pub struct AnomalyUpdate {
    /// Sum of the affected coins, and their transactions.
    pub coins: Option<(u64, Vec<Txid>)>,
    pub resolution: Option<Resolution>,
    /// The reason for a dismissal. A change of `resolution` stores this field too, even if it is
    /// `None`.
    pub dismissal_reason: Option<String>,
    /// The payout that returns its coins; `Some(None)` removes the payout.
    pub payout_id: Option<Option<Id>>,
    /// The new `currentTime` of its record, if the change is notified.
    pub current_at: Option<Timestamp>,
}

/// Filter of an anomaly list; `None` filters nothing.
#[derive(Debug, Clone, Default)]
pub struct AnomalyFilter {
    /// Raised at this time or later.
    pub begin: Option<Timestamp>,
    /// Raised before this time.
    pub end: Option<Timestamp>,
    pub payment_id: Option<Id>,
    pub merchant_transaction_id: Option<String>,
    pub kind: Option<AnomalyKind>,
    pub key_id: Option<i64>,
    pub resolution: Option<Resolution>,
    pub paid_sats: Option<u64>,
}

const FROM: &str = "FROM anomalies AS a JOIN payments AS p ON p.seq = a.payment_seq";

const COLUMNS: &str = "a.seq AS seq, a.id AS id, a.payment_seq AS payment_seq, p.id AS payment_id, \
     p.address AS address, p.merchant_transaction_id AS merchant_transaction_id, \
     a.key_id AS key_id, p.anomaly_notification_url AS notification_url, p.currency AS currency, a.kind AS kind, a.txid AS txid, \
     a.paid_sats AS paid_sats, a.txids AS txids, a.rate AS rate, a.rate_at AS rate_at, a.resolution AS resolution, \
     a.dismissal_reason AS dismissal_reason, a.payout_id AS payout_id, a.asked_at AS asked_at, \
     a.refund_address AS refund_address, a.answered_at AS answered_at, a.created_at AS created_at, \
     a.current_at AS current_at, \
     coalesce((SELECT r.earliest_at <= p.expires_at AND r.first_seen_at > p.closed_at FROM receipts AS r \
     WHERE r.payment_seq = a.payment_seq AND r.txid = a.txid), 0) AS came_in_time";

impl Reader<'_> {
    pub fn anomaly(&self, id: &Id) -> Result<Option<AnomalyRow>, StoreError> {
        let mut query =
            self.connection.prepare_cached(&format!("SELECT {COLUMNS} {FROM} WHERE a.id = ?1"))?;
        let mut rows = query.query([id.as_bytes()])?;
        rows.next()?.map(anomaly_from_row).transpose()
    }

    /// All anomalies of a payment, in the order of creation.
    pub fn anomalies_of_payment(&self, payment_seq: i64) -> Result<Vec<AnomalyRow>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} {FROM} WHERE a.payment_seq = ?1 ORDER BY a.seq"
        ))?;
        query.query_and_then([payment_seq], anomaly_from_row)?.collect()
    }

    /// The ids of all anomalies of a payment, in the order of creation.
    pub fn anomaly_ids_of_payment(&self, payment_seq: i64) -> Result<Vec<Id>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT id FROM anomalies WHERE payment_seq = ?1 ORDER BY seq")?;
        query.query_and_then([payment_seq], |row| values::id(row, "id"))?.collect()
    }

    /// Number of open anomalies, of one payment or of all payments.
    pub fn open_anomalies_count(&self, payment_seq: Option<i64>) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT count(*) FROM anomalies WHERE resolution = 'OPEN' AND (?1 IS NULL OR payment_seq = ?1)",
        )?;
        Ok(query.query_row([payment_seq], |row| row.get(0))?)
    }

    pub fn open_reversals_count(&self) -> Result<u64, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT count(*) FROM anomalies WHERE resolution = 'OPEN' AND kind = 'REVERSED_PAYMENT'")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    pub fn anomalies_count(&self, filter: &AnomalyFilter) -> Result<u64, StoreError> {
        let (sql, values) = filter.count();
        let mut query = self.connection.prepare_cached(&sql)?;
        Ok(query.query_row(params_from_iter(values), |row| row.get(0))?)
    }

    /// A page of the matching anomalies, newest first.
    pub fn anomalies(
        &self,
        filter: &AnomalyFilter,
        limit: u32,
        offset: u64,
    ) -> Result<Vec<AnomalyRow>, StoreError> {
        let ids = self.anomaly_ids(filter, limit, offset)?;
        ids.iter().filter_map(|id| self.anomaly(id).transpose()).collect()
    }

    /// The ids of a page of the matching anomalies, newest first.
    pub fn anomaly_ids(
        &self,
        filter: &AnomalyFilter,
        limit: u32,
        offset: u64,
    ) -> Result<Vec<Id>, StoreError> {
        let (sql, values) = filter.page(limit, offset);
        let mut query = self.connection.prepare_cached(&sql)?;
        query.query_and_then(params_from_iter(values), |row| values::id(row, "id"))?.collect()
    }
}

impl Tx<'_> {
    pub fn insert_anomaly(&self, new: &NewAnomaly) -> Result<(), StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO anomalies (id, payment_seq, key_id, kind, txid, paid_sats, txids, rate, rate_at, resolution, \
             created_at, current_at) VALUES (?1, ?2, (SELECT key_id FROM payments WHERE seq = ?2), ?3, ?4, ?5, ?6, ?7, ?8, \
             'OPEN', ?9, ?9)",
        )?;
        insert.execute(params![
            new.id.as_bytes(),
            new.payment_seq,
            new.kind.as_str(),
            new.txid.as_ref().map(Txid::as_byte_array),
            sats_column(new.paid_sats),
            values::txids_column(&new.txids),
            new.rate.format(),
            new.rate_at.ms(),
            new.at.ms(),
        ])?;
        Ok(())
    }

    pub fn update_anomaly(&self, id: &Id, update: &AnomalyUpdate) -> Result<(), StoreError> {
        let (paid_sats, txids) = match &update.coins {
            Some((paid_sats, txids)) => {
                (Some(sats_column(*paid_sats)), Some(values::txids_column(txids)))
            }
            None => (None, None),
        };
        let mut statement = self.connection.prepare_cached(
            "UPDATE anomalies SET paid_sats = ifnull(?2, paid_sats), txids = ifnull(?3, txids), \
             dismissal_reason = CASE WHEN ?4 IS NULL THEN dismissal_reason ELSE ?5 END, \
             resolution = ifnull(?4, resolution), current_at = ifnull(?6, current_at), \
             payout_id = CASE WHEN ?7 THEN ?8 ELSE payout_id END WHERE id = ?1",
        )?;
        statement.execute(params![
            id.as_bytes(),
            paid_sats,
            txids,
            update.resolution.map(Resolution::stored_str),
            update.dismissal_reason,
            update.current_at.map(Timestamp::ms),
            update.payout_id.is_some(),
            update.payout_id.flatten().as_ref().map(Id::as_bytes),
        ])?;
        Ok(())
    }
}

impl Tx<'_> {
    /// Asks the customer for an address. An earlier answer is forgotten.
    pub fn ask_refund_address(&self, id: &Id, at: Timestamp) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(
            "UPDATE anomalies SET asked_at = ?2, refund_address = NULL, answered_at = NULL WHERE id = ?1",
        )?;
        statement.execute(params![id.as_bytes(), at.ms()])?;
        Ok(())
    }

    /// Stores the customer's answer for each OPEN anomaly of the payment that waits for one.
    /// Returns their number.
    pub fn answer_refund_address(
        &self,
        payment: &Id,
        address: &str,
        at: Timestamp,
    ) -> Result<usize, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "UPDATE anomalies SET refund_address = ?2, answered_at = ?3
             WHERE payment_seq = (SELECT seq FROM payments WHERE id = ?1) AND resolution = 'OPEN'
                 AND asked_at IS NOT NULL AND refund_address IS NULL",
        )?;
        Ok(statement.execute(params![payment.as_bytes(), address, at.ms()])?)
    }
}

impl AnomalyFilter {
    /// The statement that counts matching anomalies, and its values.
    fn count(&self) -> (String, Vec<Value>) {
        let (condition, values) = self.condition();
        (format!("SELECT count(*) FROM anomalies AS a{condition}"), values)
    }

    /// The statement that reads a page of ids, and its values.
    fn page(&self, limit: u32, offset: u64) -> (String, Vec<Value>) {
        let (condition, mut values) = self.condition();
        values.push(Value::Integer(i64::from(limit)));
        values.push(Value::Integer(i64::try_from(offset).unwrap_or(i64::MAX)));
        let last = values.len();
        let order =
            format!("ORDER BY a.created_at DESC, a.seq DESC LIMIT ?{} OFFSET ?{last}", last - 1);
        (format!("SELECT a.id AS id FROM anomalies AS a{condition} {order}"), values)
    }

    fn condition(&self) -> (String, Vec<Value>) {
        let mut terms = Vec::new();
        let mut values = Vec::new();
        let mut bind = |value: Value| {
            values.push(value);
            format!("?{}", values.len())
        };
        // One payment or reference has few anomalies, so SQLite must find them by `payment_seq`.
        // Payments without a reference may be many. A unary plus keeps SQLite from using an index
        // on a column.
        let has_reference =
            self.merchant_transaction_id.as_ref().is_some_and(|reference| !reference.is_empty());
        let key_id = self.key_id.map(|key_id| bind(Value::Integer(key_id)));
        let of_key =
            key_id.as_ref().map(|key_id| format!(" AND +key_id = {key_id}")).unwrap_or_default();
        let by_key = if self.payment_id.is_some() || has_reference { "+" } else { "" };
        if let Some(begin) = self.begin {
            terms.push(format!("a.created_at >= {}", bind(Value::Integer(begin.ms()))));
        }
        if let Some(end) = self.end {
            terms.push(format!("a.created_at < {}", bind(Value::Integer(end.ms()))));
        }
        if let Some(id) = &self.payment_id {
            let id = bind(Value::Blob(id.as_bytes().to_vec()));
            terms.push(format!("a.payment_seq = (SELECT seq FROM payments WHERE id = {id})"));
        }
        if let Some(reference) = &self.merchant_transaction_id {
            let reference =
                format!("merchant_transaction_id = {}", bind(Value::Text(reference.clone())));
            terms.push(if has_reference {
                format!(
                    "a.payment_seq IN (SELECT seq FROM {INDEXED_PAYMENTS} AND {reference}{of_key} \
                     UNION ALL SELECT seq FROM {UNINDEXED_PAYMENTS} AND {reference}{of_key})"
                )
            } else {
                format!(
                    "EXISTS (SELECT 1 FROM payments WHERE seq = a.payment_seq AND +{reference})"
                )
            });
        }
        if let Some(kind) = self.kind {
            terms.push(format!("a.kind = {}", bind(Value::Text(kind.as_str().to_owned()))));
        }
        if let Some(key_id) = &key_id {
            terms.push(format!("{by_key}a.key_id = {key_id}"));
        }
        if let Some(resolution) = self.resolution {
            terms.push(format!(
                "a.resolution = {}",
                bind(Value::Text(resolution.stored_str().to_owned()))
            ));
        }
        if let Some(paid_sats) = self.paid_sats {
            terms.push(format!("+a.paid_sats = {}", bind(Value::Integer(sats_column(paid_sats)))));
        }
        let condition = if terms.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", terms.join(" AND "))
        };
        (condition, values)
    }
}

fn anomaly_from_row(row: &Row<'_>) -> Result<AnomalyRow, StoreError> {
    Ok(AnomalyRow {
        seq: row.get("seq")?,
        anomaly: Anomaly {
            id: values::id(row, "id")?,
            kind: values::parsed(row, "kind")?,
            txid: values::optional_txid(row, "txid")?,
            paid_sats: values::sats(row, "paid_sats")?,
            txids: values::txids(row, "txids")?,
            resolution: values::parsed(row, "resolution")?,
        },
        payment_seq: row.get("payment_seq")?,
        payment_id: values::id(row, "payment_id")?,
        address: row.get("address")?,
        merchant_transaction_id: row.get("merchant_transaction_id")?,
        key_id: row.get("key_id")?,
        notification_url: row.get("notification_url")?,
        currency: values::currency(row, "currency")?,
        rate: values::rate(row, "rate")?,
        rate_at: values::time(row, "rate_at")?,
        dismissal_reason: row.get("dismissal_reason")?,
        payout_id: values::optional_id(row, "payout_id")?,
        asked_at: values::optional_time(row, "asked_at")?,
        answer: answer(row)?,
        came_in_time: row.get("came_in_time")?,
        created_at: values::time(row, "created_at")?,
        current_at: values::time(row, "current_at")?,
    })
}

fn answer(row: &Row<'_>) -> Result<Option<RefundAddress>, StoreError> {
    let (address, given_at) =
        (row.get("refund_address")?, values::optional_time(row, "answered_at")?);
    Ok(Option::zip(address, given_at)
        .map(|(address, given_at)| RefundAddress { address, given_at }))
}

#[cfg(test)]
mod tests;
