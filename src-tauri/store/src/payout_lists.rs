//! Lists of payouts, the used part of a day's limit, and offers that are due to expire.

use bitcoin::hashes::Hash as _;
use bitcoin::{ScriptBuf, Txid};
use rusqlite::types::Value;
use rusqlite::{params, params_from_iter};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::payouts::PayoutRow;
use super::reader::Reader;
use super::values::sats_column;

/// Filter of a payout list. A field that is empty or `None` matches all payouts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PayoutFilter {
    /// In any of these states.
    pub states: Vec<PayoutState>,
    /// Requested at this time or later.
    pub from: Option<Timestamp>,
    /// Requested before this time.
    pub to: Option<Timestamp>,
    pub script: Option<ScriptBuf>,
    /// Paid by this transaction: any version, or a twin.
    pub txid: Option<Txid>,
    pub amount_sats: Option<u64>,
    /// With this `fiatTotalAmount`, in thousandths of a unit of any currency.
    pub fiat_total_milli: Option<i64>,
    pub key_id: Option<i64>,
    /// Requested under this name: an API key's, or `cli:…` or `panel:…`.
    pub requested_by: Option<String>,
    /// Whether the list is empty, whatever the other fields are.
    pub nothing: bool,
}

/// The index by which a list is read: the index with the fewest rows that match the filter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListIndex {
    Transaction,
    Script,
    Total,
    Amount,
    OpenStates,
    Key,
    Requester,
    States,
    Creation,
}

impl Reader<'_> {
    pub fn payouts_count(&self, filter: &PayoutFilter) -> Result<u64, StoreError> {
        let (sql, values) = filter.count();
        let mut query = self.connection.prepare_cached(&sql)?;
        Ok(query.query_row(params_from_iter(values), |row| row.get(0))?)
    }

    /// Each `seq` of a page of matching payouts, newest first; within one second, the last inserted
    /// comes first.
    pub fn payout_seqs(
        &self,
        filter: &PayoutFilter,
        limit: u32,
        offset: u64,
    ) -> Result<Vec<i64>, StoreError> {
        let (sql, values) = filter.page(limit, offset);
        let mut query = self.connection.prepare_cached(&sql)?;
        let rows = query.query_map(params_from_iter(values), |row| row.get("seq"))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The payouts of the page that [`Self::payout_seqs`] returns, in the same order.
    pub fn payouts(
        &self,
        filter: &PayoutFilter,
        limit: u32,
        offset: u64,
    ) -> Result<Vec<PayoutRow>, StoreError> {
        let numbers = self.payout_seqs(filter, limit, offset)?;
        numbers.into_iter().filter_map(|seq| self.payout_by_seq(seq).transpose()).collect()
    }

    /// Sum of the payouts approved since `begin` that did not fail, without fees, and the time of
    /// the last approval.
    pub fn paid_out_since(&self, begin: Timestamp) -> Result<(u64, Option<Timestamp>), StoreError> {
        let mut query = self.connection.prepare_cached(PAID_OUT_SINCE)?;
        let (sats, last): (i64, Option<i64>) =
            query.query_row([begin.ms()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let sats = u64::try_from(sats).map_err(|_| StoreError::BadValue("payouts.amount_sats"))?;
        Ok((sats, last.map(Timestamp::from_ms)))
    }

    /// Offers in state NEW whose time is over at `now`, the earliest first.
    pub fn payouts_due_to_expire(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<PayoutRow>, StoreError> {
        self.payouts_where(DUE_TO_EXPIRE, params![now.ms(), limit])
    }

    pub fn next_payout_expires_at(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT min(expires_at) FROM payouts INDEXED BY payouts_open WHERE state = 'NEW'",
        )?;
        let at: Option<i64> = query.query_row([], |row| row.get(0))?;
        Ok(at.map(Timestamp::from_ms))
    }

    /// The numbers of valid offers that wait for approval: those of API keys, and those of staff.
    pub fn offers_waiting_counts(&self, now: Timestamp) -> Result<(u64, u64), StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT count(key_id), count(*) - count(key_id) FROM payouts INDEXED BY payouts_open \
             WHERE state = 'NEW' AND expires_at > ?1",
        )?;
        Ok(query.query_row([now.ms()], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// Sum of the approved payouts without a transaction, with the fees of their offers.
    pub fn waiting_payouts_sats(&self) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(sum(amount_sats + network_fee_sats), 0) FROM payouts \
             WHERE state = 'QUEUED' AND batch_seq IS NULL",
        )?;
        let sats: i64 = query.query_row([], |row| row.get(0))?;
        u64::try_from(sats).map_err(|_| StoreError::BadValue("payouts.amount_sats"))
    }
}

const PAID_OUT_SINCE: &str = "SELECT ifnull(sum(amount_sats), 0), max(approved_at) FROM payouts \
     WHERE approved_at IS NOT NULL AND state <> 'FAILED' AND approved_at >= ?1";

const DUE_TO_EXPIRE: &str = "p.seq IN (SELECT seq FROM payouts INDEXED BY payouts_open \
     WHERE state = 'NEW' AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2) ORDER BY p.expires_at, p.seq";

impl PayoutFilter {
    /// The statement that counts matching payouts, and its values.
    fn count(&self) -> (String, Vec<Value>) {
        let (terms, values) = self.terms(0, self.list_index(), &self.states);
        (format!("SELECT count(*) FROM payouts{}", condition(&terms)), values)
    }

    /// The statement that reads each `seq` of a page, and its values. Each state is searched
    /// separately, and the results are merged: the index is in the right order only within one
    /// state.
    fn page(&self, limit: u32, offset: u64) -> (String, Vec<Value>) {
        let index = self.list_index();
        let mut values = Vec::new();
        // Each state is searched once, however often the filter names it.
        let states: Vec<_> =
            PayoutState::ALL.into_iter().filter(|state| self.states.contains(state)).collect();
        let arms: Vec<&[PayoutState]> = match index {
            ListIndex::OpenStates | ListIndex::States => states.chunks(1).collect(),
            ListIndex::Transaction
            | ListIndex::Script
            | ListIndex::Total
            | ListIndex::Amount
            | ListIndex::Key
            | ListIndex::Requester
            | ListIndex::Creation => {
                vec![&states]
            }
        };
        let mut parts = Vec::with_capacity(arms.len());
        for states in arms {
            let (terms, its) = self.terms(values.len(), index, states);
            values.extend(its);
            parts.push(format!("SELECT created_at, seq FROM payouts{}", condition(&terms)));
        }
        values.push(Value::Integer(i64::from(limit)));
        values.push(Value::Integer(i64::try_from(offset).unwrap_or(i64::MAX)));
        let last = values.len();
        let order =
            format!("ORDER BY created_at DESC, seq DESC LIMIT ?{} OFFSET ?{last}", last - 1);
        (format!("{} {order}", parts.join(" UNION ALL ")), values)
    }

    fn list_index(&self) -> ListIndex {
        let is_open = |state: &PayoutState| match state {
            PayoutState::New | PayoutState::Queued => true,
            PayoutState::Expired | PayoutState::Sent | PayoutState::Failed => false,
        };
        match self {
            Self { txid: Some(_), .. } => ListIndex::Transaction,
            Self { script: Some(_), .. } => ListIndex::Script,
            Self { fiat_total_milli: Some(_), .. } => ListIndex::Total,
            Self { amount_sats: Some(_), .. } => ListIndex::Amount,
            Self { states, .. } if !states.is_empty() && states.iter().all(is_open) => {
                ListIndex::OpenStates
            }
            Self { key_id: Some(_), .. } => ListIndex::Key,
            Self { requested_by: Some(_), .. } => ListIndex::Requester,
            Self { states, .. } if !states.is_empty() => ListIndex::States,
            Self { .. } => ListIndex::Creation,
        }
    }

    /// The conditions, whose values are numbered after `bound` other values. A unary plus keeps
    /// SQLite from using any index other than `index`.
    fn terms(
        &self,
        bound: usize,
        index: ListIndex,
        states: &[PayoutState],
    ) -> (Vec<String>, Vec<Value>) {
        let mut terms = Vec::new();
        let mut values = Vec::new();
        let mut bind = |value: Value| {
            values.push(value);
            format!("?{}", bound + values.len())
        };
        let plus = |is_used: bool| if is_used { "" } else { "+" };
        if self.nothing {
            terms.push("0".to_owned());
        }
        if let Some(txid) = &self.txid {
            let txid = bind(Value::Blob(txid.to_byte_array().to_vec()));
            terms.push(format!(
                "seq IN (SELECT payout_seq FROM version_outputs WHERE txid = {txid} \
                 UNION SELECT payout_seq FROM twin_outputs WHERE txid = {txid})"
            ));
        }
        if let Some(script) = &self.script {
            terms.push(format!(
                "{}script = {}",
                plus(index == ListIndex::Script),
                bind(Value::Blob(script.to_bytes()))
            ));
        }
        if let Some(total) = self.fiat_total_milli {
            terms.push(format!(
                "{}fiat_total_milli = {}",
                plus(index == ListIndex::Total),
                bind(Value::Integer(total))
            ));
        }
        if let Some(sats) = self.amount_sats {
            let sats = bind(Value::Integer(sats_column(sats)));
            terms.push(format!("{}amount_sats = {sats}", plus(index == ListIndex::Amount)));
        }
        if !states.is_empty() {
            let plus = plus(matches!(index, ListIndex::OpenStates | ListIndex::States));
            let states: Vec<_> =
                states.iter().map(|state| bind(Value::Text(state.as_str().to_owned()))).collect();
            terms.push(format!("{plus}state IN ({})", states.join(", ")));
        }
        if let Some(key_id) = self.key_id {
            terms.push(format!(
                "{}key_id = {}",
                plus(index == ListIndex::Key),
                bind(Value::Integer(key_id))
            ));
        }
        if let Some(name) = &self.requested_by {
            let name = bind(Value::Text(name.clone()));
            terms.push(format!("{}requested_by = {name}", plus(index == ListIndex::Requester)));
        }
        if let Some(from) = self.from {
            terms.push(format!("created_at >= {}", bind(Value::Integer(from.ms()))));
        }
        if let Some(to) = self.to {
            terms.push(format!("created_at < {}", bind(Value::Integer(to.ms()))));
        }
        (terms, values)
    }
}

fn condition(terms: &[String]) -> String {
    if terms.is_empty() { String::new() } else { format!(" WHERE {}", terms.join(" AND ")) }
}

#[cfg(test)]
mod tests;
