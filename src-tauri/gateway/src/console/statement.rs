//! The statement: every movement of the balance, with its worth.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::Currency;
use tillgate_domain::time::Timestamp;
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::btc::BtcView;
use super::error::CommandError;
use super::sums::FiatView;
use crate::statement::{self, Line, Total};
use crate::store::ledger::{LedgerKind, LedgerPart, Place};

/// Rows of a page, where the asker names no number.
const PAGE: u32 = 1_000;

/// Rows of a page at most: an answer is one line of the control socket.
pub(crate) const PAGE_MAX: u32 = 5_000;

/// Tells the movements of the balance in a period, the oldest first, a page at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Statement {
    /// The ISO code of the currency that all rows are valued in; it filters none.
    pub currency: String,
    /// The beginning of the period, inclusive: ISO 8601, or a date for its midnight in UTC.
    #[serde(default)]
    pub from: Option<String>,
    /// The end of the period, exclusive.
    #[serde(default)]
    pub to: Option<String>,
    /// The `next` of the page before; absent for the first page.
    #[serde(default)]
    pub after: Option<StatementPlace>,
    /// Rows at most, from 1 to 5000; 1000 where it is absent.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// The end of a page of a statement. All pages together hold the rows that existed when the first page was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct StatementPlace {
    /// When its last row was written down, in milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// That row's number.
    #[ts(type = "number")]
    pub row: i64,
    /// The number of the last row at the time when the first page was read.
    #[ts(type = "number")]
    pub last_row: i64,
}

/// A page of the movements of a period, and the sums of this page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct StatementView {
    /// The movements, the oldest first.
    pub items: Vec<StatementItem>,
    /// Their sums for each day in UTC.
    pub by_day: Vec<StatementTotal>,
    /// Their sums for each month in UTC.
    pub by_month: Vec<StatementTotal>,
    /// The sum of all.
    pub total: BtcView,
    /// The beginning of the next page, if there is one.
    pub next: Option<StatementPlace>,
}

/// The sums of all pages of a statement that were added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatementTotals {
    /// For each day in UTC.
    pub by_day: Vec<StatementTotal>,
    /// For each month in UTC.
    pub by_month: Vec<StatementTotal>,
    /// Of all.
    pub total: BtcView,
}

/// One movement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct StatementItem {
    /// When it was written down, ISO 8601 with milliseconds.
    pub time: String,
    /// The kind of the movement.
    pub kind: LedgerKind,
    /// The change of the balance; negative if it falls.
    pub amount: BtcView,
    /// Its worth at the rate, with the sign of the amount; absent where no rate was known.
    pub worth: Option<FiatView>,
    /// The rate of the row's record if the record is in this currency; otherwise the rate at the time of the row.
    pub exchange_rate: Option<String>,
    /// The part of the amount that is a network fee: all of it or none; positive if it was paid.
    pub fee: Option<BtcView>,
    /// The transaction.
    pub btc_tx_id: Option<String>,
    /// The payment concerned.
    pub payment_id: Option<String>,
    /// The payout concerned.
    pub payout_id: Option<String>,
    /// The anomaly that the payout refunds, or the one raised for coins that do not count; absent before it is raised.
    pub anomaly_id: Option<String>,
}

/// The sum of the movements of a day or a month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct StatementTotal {
    /// `2026-01-12` or `2026-01`.
    pub period: String,
    /// The change of the balance.
    pub amount: BtcView,
    /// The sum of their worths; absent where one of them has none.
    pub worth: Option<FiatView>,
    /// The fees among them.
    pub fee: BtcView,
}

impl Ask for Statement {
    type Answer = StatementView;

    async fn answer(self, by: &Asker<'_>) -> Result<StatementView, CommandError> {
        let unknown = || CommandError::invalid("currency", &"must be an ISO 4217 code, like USD");
        let currency = Currency::from_code(&self.currency).ok_or_else(unknown)?;
        let (from, to) = (moment("from", self.from.as_deref())?, moment("to", self.to.as_deref())?);
        let limit = self.limit.unwrap_or(PAGE);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(CommandError::invalid("limit", &format_args!("must be from 1 to {PAGE_MAX}")));
        }
        let after = self.after.map(|after| Place { at: Timestamp::from_ms(after.at_ms), seq: after.row });
        let part = LedgerPart { from, to, after, last_seq: self.after.map(|after| after.last_row), limit };
        let statement = by.read(move |_, reader| statement::of(reader, part, currency)).await?;
        let totals = |totals: &[Total]| totals.iter().map(|total| StatementTotal::of(total, currency)).collect();
        Ok(StatementView {
            items: statement.lines.iter().map(|line| StatementItem::of(line, currency)).collect(),
            by_day: totals(&statement.by_day),
            by_month: totals(&statement.by_month),
            total: BtcView::of(statement.sats),
            next: statement.next.as_ref().and_then(StatementPlace::of),
        })
    }
}

impl StatementPlace {
    fn of(part: &LedgerPart) -> Option<Self> {
        let (after, last_row) = part.after.zip(part.last_seq)?;
        Some(Self { at_ms: after.at.ms(), row: after.seq, last_row })
    }
}

impl Default for StatementTotals {
    fn default() -> Self {
        Self { by_day: Vec::new(), by_month: Vec::new(), total: BtcView::of(0) }
    }
}

impl StatementTotals {
    /// Adds the sums of the next page. Its first day and month may continue the last of the page before.
    pub(crate) fn add(&mut self, page: &StatementView) {
        for (all, of_page) in [(&mut self.by_day, &page.by_day), (&mut self.by_month, &page.by_month)] {
            for total in of_page {
                match all.last_mut().filter(|last| last.period == total.period) {
                    Some(last) => *last = last.with(total),
                    None => all.push(total.clone()),
                }
            }
        }
        self.total = BtcView::of(self.total.sats.saturating_add(page.total.sats));
    }
}

impl StatementItem {
    fn of(line: &Line, currency: Currency) -> Self {
        let entry = &line.entry;
        Self {
            time: entry.at.iso_millis(),
            kind: entry.kind,
            amount: BtcView::of(entry.sats),
            worth: line.worth_minor.map(|minor| FiatView::of(minor, currency)),
            exchange_rate: line.rate.map(|rate| rate.format()),
            fee: line.fee_sats.map(BtcView::of),
            btc_tx_id: entry.txid.map(|txid| txid.to_string()),
            payment_id: entry.payment.map(|(id, ..)| id.to_string()),
            payout_id: entry.payout.map(|(id, ..)| id.to_string()),
            anomaly_id: entry.anomaly_id.map(|id| id.to_string()),
        }
    }
}

impl StatementTotal {
    /// The sum of both.
    fn with(&self, other: &Self) -> Self {
        let worths = self.worth.as_ref().zip(other.worth.as_ref());
        Self {
            period: self.period.clone(),
            amount: BtcView::of(self.amount.sats.saturating_add(other.amount.sats)),
            worth: worths.and_then(|(one, two)| {
                Some(FiatView::of(one.minor.saturating_add(two.minor), Currency::from_code(&one.currency)?))
            }),
            fee: BtcView::of(self.fee.sats.saturating_add(other.fee.sats)),
        }
    }

    fn of(total: &Total, currency: Currency) -> Self {
        Self {
            period: total.period.clone(),
            amount: BtcView::of(total.sats),
            worth: total.worth_minor.map(|minor| FiatView::of(minor, currency)),
            fee: BtcView::of(total.fee_sats),
        }
    }
}

/// Parses a time as a person writes it: a date means its midnight in UTC.
fn moment(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, CommandError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let midnight = || Timestamp::parse_iso(&format!("{text}T00:00:00Z"));
    let at = Timestamp::parse_iso(text).or_else(|_| midnight());
    let wrong =
        |_| CommandError::invalid(field, &"must be a time like 2026-01-12T12:06:20Z, or a date like 2026-01-12");
    at.map(Some).map_err(wrong)
}
