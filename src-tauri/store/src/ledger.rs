//! The ledger: the effect of each movement on the balance, in rows that are added and never
//! changed.

use std::fmt;
use std::str::FromStr;

use bitcoin::Txid;
use bitcoin::hashes::Hash as _;
use rusqlite::{OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::time::Timestamp;
use ts_rs::TS;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values::{self, Columns as _, InOrder};

const BALANCE_BEFORE: &str =
    "SELECT sats - (SELECT ifnull(sum(sats), 0) FROM ledger WHERE at >= ?1) FROM ledger_sum";

/// The kind of movement in a line of the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LedgerKind {
    /// Counted coins of a payment were confirmed, or reversed.
    Payment,
    /// Uncounted coins of a payment were confirmed, or reversed.
    Anomaly,
    /// A payout was sent, or failed after that.
    Payout,
    /// The fee in a payout's offer.
    Fee,
    /// Difference between a payout's share of the fee and the offered fee.
    FeeDifference,
    /// All other movements: coins of no payment, and spends by another copy of this wallet.
    Other,
}

#[derive(Debug, Clone, Copy)]
pub struct NewEntry {
    pub at: Timestamp,
    pub kind: LedgerKind,
    /// Effect on the balance; negative for a spend.
    pub sats: i64,
    pub txid: Option<Txid>,
    pub payment_seq: Option<i64>,
    pub payout_seq: Option<i64>,
    /// Exchange rates at that time.
    pub rates_seq: Option<i64>,
}

/// Position of a row: rows are ordered by time, then by insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub at: Timestamp,
    pub seq: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerPart {
    /// From this time on.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub to: Option<Timestamp>,
    /// After this row.
    pub after: Option<Place>,
    /// Up to this `seq`.
    pub last_seq: Option<i64>,
    /// Only rows of this kind.
    pub kind: Option<LedgerKind>,
    pub limit: u32,
}

/// A movement as a statement shows it.
#[derive(Debug, Clone)]
pub struct Entry {
    pub seq: i64,
    pub at: Timestamp,
    pub kind: LedgerKind,
    pub sats: i64,
    pub txid: Option<Txid>,
    pub payment: Option<(Id, Currency, Rate)>,
    pub payout: Option<(Id, Currency, Rate)>,
    /// The anomaly that its payout refunds, or that was raised for its uncounted coins.
    pub anomaly_id: Option<Id>,
    /// Row of the exchange rates at that time.
    pub rates_seq: Option<i64>,
    /// Whether its transaction is one of ours that gave payouts up.
    pub gives_up: bool,
}

/// Amounts of a receipt that are not booked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbooked {
    pub txid: Txid,
    /// Difference of the counted sum.
    pub counted_sats: i64,
    /// Difference of the uncounted sum.
    pub rest_sats: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("not a kind of movement")]
pub struct NotALedgerKind;

impl LedgerKind {
    pub const ALL: [Self; 6] =
        [Self::Payment, Self::Anomaly, Self::Payout, Self::Fee, Self::FeeDifference, Self::Other];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Payment => "PAYMENT",
            Self::Anomaly => "ANOMALY",
            Self::Payout => "PAYOUT",
            Self::Fee => "FEE",
            Self::FeeDifference => "FEE_DIFFERENCE",
            Self::Other => "OTHER",
        }
    }
}

impl fmt::Display for LedgerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LedgerKind {
    type Err = NotALedgerKind;

    fn from_str(text: &str) -> Result<Self, NotALedgerKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(NotALedgerKind)
    }
}

impl Reader<'_> {
    /// The balance: the sum of all rows, stored beside them.
    pub fn ledger_sats(&self) -> Result<i64, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT sats FROM ledger_sum")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    /// The balance before the rows of `at` and later.
    pub fn ledger_sats_before(&self, at: Timestamp) -> Result<i64, StoreError> {
        // A period that was chosen is mostly a late one, so few rows follow it.
        let mut query = self.connection.prepare_cached(BALANCE_BEFORE)?;
        Ok(query.query_row([at.ms()], |row| row.get(0))?)
    }

    /// The balance, added up again from all rows.
    pub fn added_up_ledger_sats(&self) -> Result<i64, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT ifnull(sum(sats), 0) FROM ledger")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    /// The balance computed from coins and payouts, without the ledger:
    /// - plus customers' mined coins, and other mined coins of this wallet
    /// - minus SENT payouts, and their shares of the fees of the transactions in their records
    /// - minus the fees of transactions that gave payouts up
    /// - plus the booked effect of other copies' transactions
    pub fn reckoned_balance_sats(&self) -> Result<i64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT (SELECT ifnull(sum(amount_sats), 0) FROM coins WHERE payment_seq IS NOT NULL AND position = 'block') \
             + (SELECT ifnull(sum(amount_sats), 0) FROM coins AS c WHERE payment_seq IS NULL AND position = 'block' \
                AND NOT EXISTS (SELECT 1 FROM versions AS v WHERE v.txid = c.txid) \
                AND NOT EXISTS (SELECT 1 FROM twins AS w WHERE w.txid = c.txid)) \
             - (SELECT ifnull(sum(amount_sats), 0) FROM payouts WHERE state = 'SENT') \
             - (SELECT ifnull(sum(v.fee_sats / s.count + (s.place < v.fee_sats % s.count)), 0) FROM \
                (SELECT state, txid, count(*) OVER batch AS count, \
                 row_number() OVER (batch ORDER BY approved_at, seq) - 1 AS place FROM payouts \
                 WHERE batch_seq IS NOT NULL WINDOW batch AS (PARTITION BY batch_seq)) AS s \
                JOIN versions AS v ON v.txid = s.txid WHERE s.state = 'SENT') \
             - (SELECT ifnull(sum(fee_sats), 0) FROM versions AS v JOIN batches AS b ON b.seq = v.batch_seq \
                WHERE v.pays = 0 AND v.position = 'block' AND b.live = 0) \
             + (SELECT ifnull(sum(booked_sats), 0) FROM twins)",
        )?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    pub fn ledger_page(&self, part: &LedgerPart) -> Result<Vec<Entry>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT l.seq, l.at, l.kind, l.sats, l.txid, p.id AS payment_id, p.currency AS payment_currency, \
             p.rate AS payment_rate, o.id AS payout_id, o.currency AS payout_currency, o.rate AS payout_rate, \
             ifnull(a.id, (SELECT id FROM anomalies WHERE l.kind = 'ANOMALY' AND payment_seq = l.payment_seq \
             AND txid = l.txid ORDER BY seq LIMIT 1)) AS anomaly_id, l.rates_seq, \
             v.pays IS NOT NULL AND v.pays = 0 AS gives_up \
             FROM ledger AS l LEFT JOIN payments AS p ON p.seq = l.payment_seq \
             LEFT JOIN payouts AS o ON o.seq = l.payout_seq LEFT JOIN anomalies AS a ON a.seq = o.anomaly_seq \
             LEFT JOIN versions AS v ON v.txid = l.txid \
             WHERE (l.at, l.seq) > (?1, ?2) AND l.at < ?3 AND l.seq <= ?4 AND (?5 IS NULL OR l.kind = ?5) \
             ORDER BY l.at, l.seq LIMIT ?6",
        )?;
        // Rows are numbered from 1.
        let from = part.from.map_or((i64::MIN, 0), |from| (from.ms(), 0));
        let (at, seq) = part.after.map_or(from, |after| from.max((after.at.ms(), after.seq)));
        let to = part.to.map_or(i64::MAX, Timestamp::ms);
        let last_seq = part.last_seq.unwrap_or(i64::MAX);
        let kind = part.kind.map(LedgerKind::as_str);
        let values = params![at, seq, to, last_seq, kind, part.limit];
        query.query_and_then(values, entry_from_row)?.collect()
    }

    /// `seq` of the last written row; 0 without rows.
    pub fn ledger_last_seq(&self) -> Result<i64, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT ifnull(max(seq), 0) FROM ledger")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    /// Exchange rates as stored by [`Tx::rates_seq`].
    pub fn ledger_rates(&self, seq: i64) -> Result<Option<String>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT rates FROM ledger_rates WHERE seq = ?1")?;
        Ok(query.query_row([seq], |row| row.get(0)).optional()?)
    }

    /// Receipts of a payment whose booked sums, counted or uncounted, differ from those of their
    /// mined coins.
    pub fn unbooked_receipts(&self, payment_seq: i64) -> Result<Vec<Unbooked>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txid, (position = 'block') * counted_sats - booked_sats AS counted, \
             (position = 'block') * (amount_sats - counted_sats) - booked_rest_sats AS rest FROM receipts INDEXED BY receipts_not_set_aside \
             WHERE payment_seq = ?1 AND set_aside = 0 AND ((position = 'block') * counted_sats <> booked_sats \
             OR (position = 'block') * (amount_sats - counted_sats) <> booked_rest_sats)",
        )?;
        query
            .query_and_then([payment_seq], |row| {
                Ok(Unbooked {
                    txid: values::txid(row, "txid")?,
                    counted_sats: row.get("counted")?,
                    rest_sats: row.get("rest")?,
                })
            })?
            .collect()
    }
}

impl Tx<'_> {
    pub fn add_entry(&self, new: &NewEntry) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO ledger (at, kind, sats, txid, payment_seq, payout_seq, rates_seq) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                new.at.ms(),
                new.kind.as_str(),
                new.sats,
                new.txid.as_ref().map(Txid::as_byte_array),
                new.payment_seq,
                new.payout_seq,
                new.rates_seq,
            ])?;
        Ok(())
    }

    /// Returns the `seq` of a row with these exchange rates (a JSON object): of the last row if it
    /// is equal, else of a new row.
    pub fn rates_seq(&self, at: Timestamp, rates: &str) -> Result<i64, StoreError> {
        let last: Option<(i64, String)> = self
            .connection
            .prepare_cached("SELECT seq, rates FROM ledger_rates ORDER BY seq DESC LIMIT 1")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match last {
            Some((seq, same)) if same == rates => Ok(seq),
            _ => Ok(self
                .connection
                .prepare_cached("INSERT INTO ledger_rates (at, rates) VALUES (?1, ?2)")?
                .insert(params![at.ms(), rates])?),
        }
    }

    pub fn book_receipt(&self, payment_seq: i64, booked: &Unbooked) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE receipts SET booked_sats = booked_sats + ?3, booked_rest_sats = booked_rest_sats + ?4 \
                 WHERE payment_seq = ?1 AND txid = ?2",
            )?
            .execute(params![payment_seq, booked.txid.as_byte_array(), booked.counted_sats, booked.rest_sats])?;
        Ok(())
    }
}

fn entry_from_row(row: &Row<'_>) -> Result<Entry, StoreError> {
    let row = &InOrder::new(row);
    let about = |id: Option<Id>,
                 currency: Option<String>,
                 rate: Option<String>|
     -> Result<_, StoreError> {
        let (Some(id), Some(currency), Some(rate)) = (id, currency, rate) else { return Ok(None) };
        let currency = Currency::from_code(&currency).ok_or(StoreError::BadValue("currency"))?;
        Ok(Some((id, currency, Rate::parse(&rate).map_err(|_| StoreError::BadValue("rate"))?)))
    };
    Ok(Entry {
        seq: row.value("seq")?,
        at: values::time(row, "at")?,
        kind: values::parsed(row, "kind")?,
        sats: row.value("sats")?,
        txid: values::optional_txid(row, "txid")?,
        payment: about(
            values::optional_id(row, "payment_id")?,
            row.value("payment_currency")?,
            row.value("payment_rate")?,
        )?,
        payout: about(
            values::optional_id(row, "payout_id")?,
            row.value("payout_currency")?,
            row.value("payout_rate")?,
        )?,
        anomaly_id: values::optional_id(row, "anomaly_id")?,
        rates_seq: row.value("rates_seq")?,
        gives_up: row.value("gives_up")?,
    })
}
