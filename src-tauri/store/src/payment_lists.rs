//! Lists of payments, and due payments.
//!
//! A payment is stored without its entries in the list indexes, since each would add a page to its
//! commit. Deferred indexing adds them later, for many payments at once. So each search has two
//! parts: an index search over indexed payments, and a scan of the few newer ones.

mod search;

use std::collections::BTreeMap;

use bitcoin::hashes::Hash as _;
use bitcoin::{ScriptBuf, Txid};
use rusqlite::types::Value;
use rusqlite::{params, params_from_iter};
use tillgate_domain::payment::PaymentState;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::payments::PaymentRow;
use super::reader::Reader;
use super::takings::TAKEN_MINOR;
use super::tx::Tx;

/// SQL for the indexed payments, with the term that lets SQLite use their indexes.
pub(super) const INDEXED_PAYMENTS: &str = "payments WHERE is_indexed = 1";

/// SQL for the `seq` of the last indexed payment.
macro_rules! last_indexed {
    () => {
        "ifnull((SELECT seq FROM payments NOT INDEXED WHERE is_indexed = 1 ORDER BY seq DESC LIMIT 1), 0)"
    };
}

/// SQL for the unindexed payments: all with a higher `seq`.
pub(super) const UNINDEXED_PAYMENTS: &str =
    concat!("payments NOT INDEXED WHERE seq > ", last_indexed!());

/// Sort key of lists: time of creation, then `seq`.
type SortKey = (i64, i64);

/// Filter of a payment list. A field that is empty or `None` matches all payments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaymentFilter {
    /// In any of these states.
    pub states: Vec<PaymentState>,
    /// Created at this time or later.
    pub from: Option<Timestamp>,
    /// Created before this time.
    pub to: Option<Timestamp>,
    /// With this reference of the shop.
    pub merchant_transaction_id: Option<String>,
    /// Paid to this script.
    pub script: Option<ScriptBuf>,
    /// Paid by this transaction.
    pub txid: Option<Txid>,
    /// Made by a key of this name.
    pub label: Option<String>,
    /// Made by this key.
    pub key_id: Option<i64>,
    /// With this text in its reference, message, id, address, amount or transactions. This reads
    /// all payments.
    pub part: Option<String>,
}

/// The payments that match a filter, and their sums.
#[derive(Debug, Default)]
pub struct Matches {
    /// Each `seq`, the newest payment first.
    pub seqs: Vec<i64>,
    /// Satoshis that pay the CONFIRMED ones, without those beyond an amount.
    pub paid_sats: u64,
    /// The prices of the CONFIRMED ones, in minor units, by currency.
    pub confirmed_minor: BTreeMap<String, i64>,
}

impl Reader<'_> {
    /// `seq` of the newest payment, which is also the number of payments.
    pub(super) fn last_payment(&self) -> Result<i64, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT ifnull(max(seq), 0) FROM payments")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    pub(super) fn last_indexed_payment(&self) -> Result<i64, StoreError> {
        let mut query = self.connection.prepare_cached(concat!("SELECT ", last_indexed!()))?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    /// Payments due by time at `at`, by `seq`, the longest overdue first.
    pub fn payments_due_by_time(&self, at: Timestamp, limit: u32) -> Result<Vec<i64>, StoreError> {
        let mut query = self.connection.prepare_cached(&due_by_time())?;
        let rows = query.query_map(params![at.ms(), limit], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Payments due by confirmations at this height, by `seq`, the longest overdue first.
    pub fn payments_due_by_height(
        &self,
        tip_height: u32,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT seq FROM payments WHERE next_due_height <= ?1 ORDER BY next_due_height LIMIT ?2")?;
        let rows = query.query_map(params![tip_height, limit], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn payments_count(&self, filter: &PaymentFilter) -> Result<u64, StoreError> {
        let (condition, values) = filter.condition();
        if condition.is_empty() {
            return Ok(self.last_payment()?.unsigned_abs());
        }
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT (SELECT count(*) FROM {INDEXED_PAYMENTS}{condition}) + (SELECT count(*) FROM {UNINDEXED_PAYMENTS}{condition})"
        ))?;
        Ok(query.query_row(params_from_iter(values), |row| row.get(0))?)
    }

    /// A page of the matching payments, newest first; within one second, the last inserted comes
    /// first.
    pub fn payments(
        &self,
        filter: &PaymentFilter,
        limit: u32,
        offset: u64,
    ) -> Result<Vec<PaymentRow>, StoreError> {
        let numbers = self.payment_seqs(filter, limit, offset)?;
        numbers.into_iter().filter_map(|seq| self.payment_by_seq(seq).transpose()).collect()
    }

    /// Each `seq` of the page that [`Self::payments`] returns, in the same order.
    pub fn payment_seqs(
        &self,
        filter: &PaymentFilter,
        limit: u32,
        offset: u64,
    ) -> Result<Vec<i64>, StoreError> {
        let mut keys = self.sort_keys(UNINDEXED_PAYMENTS, filter, u64::MAX, 0)?;
        let unindexed = keys.len() as u64;
        // At least this many indexed payments precede the page, wherever the unindexed ones sort.
        let skipped = offset.saturating_sub(unindexed);
        keys.extend(self.sort_keys(
            INDEXED_PAYMENTS,
            filter,
            unindexed.saturating_add(u64::from(limit)),
            skipped,
        )?);
        keys.sort_unstable_by(|one, other| other.cmp(one));
        let first = usize::try_from(offset - skipped).unwrap_or(usize::MAX);
        let page = keys.into_iter().skip(first).take(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(page.map(|(_, seq)| seq).collect())
    }

    /// Up to `limit` matching payments with a `seq` below `below`, the last inserted first. All
    /// pages together read the table once.
    pub fn payments_below(
        &self,
        filter: &PaymentFilter,
        below: Option<i64>,
        limit: u32,
    ) -> Result<Vec<PaymentRow>, StoreError> {
        let (condition, mut values) = filter.condition();
        values.extend([below.unwrap_or(i64::MAX), i64::from(limit)].map(Value::Integer));
        let last = values.len();
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT seq FROM payments NOT INDEXED WHERE seq < ?{}{condition} ORDER BY seq DESC LIMIT ?{last}",
            last - 1
        ))?;
        let seqs = query
            .query_map(params_from_iter(values), |row| row.get(0))?
            .collect::<Result<Vec<i64>, _>>()?;
        seqs.into_iter().filter_map(|seq| self.payment_by_seq(seq).transpose()).collect()
    }

    /// All matching payments and their sums, in one pass over the table.
    pub fn matching_payments(&self, filter: &PaymentFilter) -> Result<Matches, StoreError> {
        let (condition, values) = filter.condition();
        let columns = format!(
            "SELECT created_at, seq, currency, {TAKEN_MINOR}, min(amount_sats, paid_sats), state = 'CONFIRMED' FROM"
        );
        let mut query = self.connection.prepare_cached(&format!(
            "{columns} {INDEXED_PAYMENTS}{condition} UNION ALL {columns} {UNINDEXED_PAYMENTS}{condition}"
        ))?;
        let mut rows = query.query(params_from_iter(values))?;
        let (mut keys, mut matches): (Vec<SortKey>, _) = (Vec::new(), Matches::default());
        while let Some(row) = rows.next()? {
            keys.push((row.get(0)?, row.get(1)?));
            if row.get(5)? {
                matches.paid_sats = matches.paid_sats.saturating_add(row.get(4)?);
                let currency = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
                match matches.confirmed_minor.get_mut(currency) {
                    Some(sum) => *sum = sum.saturating_add(row.get(3)?),
                    None => drop(matches.confirmed_minor.insert(currency.to_owned(), row.get(3)?)),
                }
            }
        }
        keys.sort_unstable_by(|one, other| other.cmp(one));
        matches.seqs = keys.into_iter().map(|(_, seq)| seq).collect();
        Ok(matches)
    }

    /// Sort keys of the matching payments, newest first. Skipped payments are read from indexes
    /// only.
    fn sort_keys(
        &self,
        part: &'static str,
        filter: &PaymentFilter,
        limit: u64,
        offset: u64,
    ) -> Result<Vec<SortKey>, StoreError> {
        let (condition, mut values) = filter.condition();
        values.extend(
            [limit, offset].map(|it| Value::Integer(i64::try_from(it).unwrap_or(i64::MAX))),
        );
        let last = values.len();
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT created_at, seq FROM {part}{condition} ORDER BY created_at DESC, seq DESC LIMIT ?{} OFFSET ?{last}",
            last - 1
        ))?;
        let rows =
            query.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The statement for up to `?2` payments due at `?1`, indexed or not.
fn due_by_time() -> String {
    format!(
        "SELECT seq, next_due_at FROM {INDEXED_PAYMENTS} AND next_due_at <= ?1 \
         UNION ALL SELECT seq, next_due_at FROM {UNINDEXED_PAYMENTS} AND next_due_at <= ?1 ORDER BY next_due_at LIMIT ?2"
    )
}

impl Tx<'_> {
    /// Indexes up to `count` payments after the `seq` `indexed`. Returns the `seq` of the last
    /// indexed payment.
    pub(super) fn index_payments(&self, indexed: i64, count: i64) -> Result<i64, StoreError> {
        let last = self.last_payment()?.min(indexed.saturating_add(count));
        self.connection
            .prepare_cached("UPDATE payments SET is_indexed = 1 WHERE seq > ?1 AND seq <= ?2")?
            .execute([indexed, last])?;
        self.give_indices(indexed, last)?;
        Ok(last)
    }
}

impl PaymentFilter {
    /// Payments that wait for coins or confirmations.
    #[must_use]
    pub fn open() -> Self {
        Self {
            states: PaymentState::ALL.into_iter().filter(|state| !state.is_final()).collect(),
            ..Self::default()
        }
    }

    /// Terms to append to another condition, and their values.
    pub(super) fn condition(&self) -> (String, Vec<Value>) {
        let mut terms = Vec::new();
        let mut values = Vec::new();
        let mut bind = |value: Value| {
            values.push(value);
            format!("?{}", values.len())
        };
        // A unary plus keeps SQLite from using an index on a column. With a key, SQLite must scan
        // the payments of that key, not those in a state or with a label. Open payments and
        // payments with one reference are fewer, so these are scanned instead. Payments without a
        // reference may be many.
        let has_reference =
            self.merchant_transaction_id.as_ref().is_some_and(|reference| !reference.is_empty());
        let is_open = !self.states.is_empty() && self.states.iter().all(|state| !state.is_final());
        let (by_state, by_label, by_reference, by_key) = match self.key_id {
            None => ("", "", "", ""),
            Some(_) if has_reference => ("+", "+", "", "+"),
            Some(_) if is_open => ("", "+", "+", "+"),
            Some(_) => ("+", "+", "+", ""),
        };
        if !self.states.is_empty() {
            let states: Vec<_> = self
                .states
                .iter()
                .map(|state| bind(Value::Text(state.as_str().to_owned())))
                .collect();
            terms.push(format!("{by_state}state IN ({})", states.join(", ")));
        }
        if let Some(from) = self.from {
            terms.push(format!("created_at >= {}", bind(Value::Integer(from.ms()))));
        }
        if let Some(to) = self.to {
            terms.push(format!("created_at < {}", bind(Value::Integer(to.ms()))));
        }
        if let Some(reference) = &self.merchant_transaction_id {
            terms.push(format!(
                "{by_reference}merchant_transaction_id = {}",
                bind(Value::Text(reference.clone()))
            ));
        }
        if let Some(script) = &self.script {
            terms.push(format!("script = {}", bind(Value::Blob(script.to_bytes()))));
        }
        if let Some(txid) = &self.txid {
            let txid = bind(Value::Blob(txid.to_byte_array().to_vec()));
            terms.push(format!("seq IN (SELECT payment_seq FROM receipts WHERE txid = {txid})"));
        }
        if let Some(label) = &self.label {
            terms.push(format!("{by_label}label = {}", bind(Value::Text(label.clone()))));
        }
        if let Some(part) = &self.part {
            terms.push(search::term(part, &mut bind));
        }
        if let Some(key_id) = self.key_id {
            terms.push(format!("{by_key}key_id = {}", bind(Value::Integer(key_id))));
        }
        let condition = terms.iter().map(|term| format!(" AND {term}")).collect();
        (condition, values)
    }
}

#[cfg(test)]
pub(super) mod tests;
