//! The statement: the ledger's rows of a period, with their worth in a currency.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::Currency;
use tillgate_domain::time::Timestamp;
use tillgate_gateway::statement::{self, Line, Total};
use tillgate_store::ledger::{LedgerKind, LedgerPart, Place};
use ts_rs::TS;

use super::ask::{Ask, Asker, currency, in_range};
use super::btc::BtcView;
use super::error::CommandError;
use super::refusal::ArgumentFault;
use super::sums::FiatView;

/// The rows of a page if the command names no number.
const PAGE: u32 = 1_000;

/// The most rows of a page, because the control socket limits the length of an answer.
pub const PAGE_MAX: u32 = 5_000;

/// Asks for a page of the movements of the balance in a period, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Statement {
    /// The ISO code of the currency in which all rows are valued. Rows of payments in other
    /// currencies are included.
    pub currency: String,
    /// The beginning of the period, inclusive: a time in ISO 8601, or a date, which means 00:00
    /// UTC.
    #[serde(default)]
    pub from: Option<String>,
    /// The end of the period, exclusive, in the same form.
    #[serde(default)]
    pub to: Option<String>,
    /// The only kind of movements on the pages; all kinds if absent.
    #[serde(default)]
    pub kind: Option<LedgerKind>,
    /// The field `next` of the previous page; absent for the first page.
    #[serde(default)]
    pub after: Option<StatementPlace>,
    /// The most rows of the page, from 1 to 5000; 1000 if absent.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// The end of a page of a statement. All pages together hold the rows that existed when the first
/// page was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatementPlace {
    /// The time of the page's last row, in milliseconds since 1970.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// The number of the page's last row.
    #[ts(type = "number")]
    pub row: i64,
    /// The number of the ledger's last row when the first page was read.
    #[ts(type = "number")]
    pub last_row: i64,
}

/// A page of the movements of a period, and the sums of this page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatementView {
    /// The movements, the oldest first.
    pub items: Vec<StatementItem>,
    /// The sums of the movements for each day in UTC.
    pub by_day: Vec<StatementTotal>,
    /// The sums of the movements for each month in UTC.
    pub by_month: Vec<StatementTotal>,
    /// The sum of all movements on this page.
    pub total: BtcView,
    /// The value of `after` for the next page; absent on the last page.
    pub next: Option<StatementPlace>,
}

/// The sums of several pages of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementTotals {
    /// The sums for each day in UTC.
    pub by_day: Vec<StatementTotal>,
    /// The sums for each month in UTC.
    pub by_month: Vec<StatementTotal>,
    /// The sum of all movements.
    pub total: BtcView,
}

/// One movement of the balance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatementItem {
    /// When the ledger's row was written, ISO 8601 with milliseconds.
    pub time: String,
    pub kind: LedgerKind,
    /// The change of the balance; negative if it falls.
    pub amount: BtcView,
    /// The amount's worth at `exchange_rate`, with the sign of the amount; absent if no rate was
    /// known.
    pub worth: Option<FiatView>,
    /// The rate of the payment or payout if it is in this currency; otherwise the rate at `time`.
    pub exchange_rate: Option<String>,
    /// The rate for people, with thousands separators.
    pub exchange_rate_shown: Option<String>,
    /// The network fee, if the whole amount is a fee. A paid fee is positive.
    pub fee: Option<BtcView>,
    pub btc_tx_id: Option<String>,
    /// The payment that received the coins.
    pub payment_id: Option<String>,
    /// The payout that sent the coins.
    pub payout_id: Option<String>,
    /// The anomaly that the payout refunds, or the anomaly of coins that do not count.
    pub anomaly_id: Option<String>,
}

/// The sum of the movements of a day or a month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatementTotal {
    /// The day or the month: `2026-01-12` or `2026-01`.
    pub period: String,
    /// The change of the balance.
    pub amount: BtcView,
    /// The worth of the movements; absent if one of them has no worth.
    pub worth: Option<FiatView>,
    /// The network fees paid.
    pub fee: BtcView,
}

impl Ask for Statement {
    type Answer = StatementView;

    async fn answer(self, by: &Asker<'_>) -> Result<StatementView, CommandError> {
        let currency = currency("currency", &self.currency)?;
        let (from, to) = (moment("from", self.from.as_deref())?, moment("to", self.to.as_deref())?);
        let limit = in_range("limit", self.limit.unwrap_or(PAGE), 1, PAGE_MAX)?;
        let after =
            self.after.map(|after| Place { at: Timestamp::from_ms(after.at_ms), seq: after.row });
        let last_seq = self.after.map(|after| after.last_row);
        let part = LedgerPart { from, to, after, last_seq, kind: self.kind, limit };
        let statement = by.read(move |_, reader| statement::page(reader, part, currency)).await?;
        let totals = |totals: &[Total]| {
            totals.iter().map(|total| StatementTotal::new(total, currency)).collect()
        };
        Ok(StatementView {
            items: statement.lines.iter().map(|line| StatementItem::new(line, currency)).collect(),
            by_day: totals(&statement.by_day),
            by_month: totals(&statement.by_month),
            total: BtcView::from_signed_sats(statement.sats),
            next: statement.next.as_ref().and_then(StatementPlace::from_part),
        })
    }
}

impl StatementPlace {
    fn from_part(part: &LedgerPart) -> Option<Self> {
        let (after, last_row) = part.after.zip(part.last_seq)?;
        Some(Self { at_ms: after.at.ms(), row: after.seq, last_row })
    }
}

impl Default for StatementTotals {
    fn default() -> Self {
        Self { by_day: Vec::new(), by_month: Vec::new(), total: BtcView::from_signed_sats(0) }
    }
}

impl StatementTotals {
    /// Adds the sums of the next page. The first day and month of that page may continue those of
    /// the previous page.
    pub fn add(&mut self, page: &StatementView) {
        for (all, of_page) in
            [(&mut self.by_day, &page.by_day), (&mut self.by_month, &page.by_month)]
        {
            for total in of_page {
                match all.last_mut().filter(|last| last.period == total.period) {
                    Some(last) => *last = last.with(total),
                    None => all.push(total.clone()),
                }
            }
        }
        self.total = BtcView::from_signed_sats(self.total.sats.saturating_add(page.total.sats));
    }
}

impl StatementItem {
    fn new(line: &Line, currency: Currency) -> Self {
        let entry = &line.entry;
        Self {
            time: entry.at.iso_millis(),
            kind: entry.kind,
            amount: BtcView::from_signed_sats(entry.sats),
            worth: line.worth_minor.map(|minor| FiatView::from_minor(minor, currency)),
            exchange_rate: line.rate.map(|rate| rate.format()),
            exchange_rate_shown: line.rate.map(|rate| rate.show()),
            fee: line.fee_sats.map(BtcView::from_signed_sats),
            btc_tx_id: entry.txid.map(|txid| txid.to_string()),
            payment_id: entry.payment.map(|(id, ..)| id.to_string()),
            payout_id: entry.payout.map(|(id, ..)| id.to_string()),
            anomaly_id: entry.anomaly_id.map(|id| id.to_string()),
        }
    }
}

impl StatementTotal {
    /// Adds the sums of two parts of the same period.
    fn with(&self, other: &Self) -> Self {
        let worths = self.worth.as_ref().zip(other.worth.as_ref());
        Self {
            period: self.period.clone(),
            amount: BtcView::from_signed_sats(self.amount.sats.saturating_add(other.amount.sats)),
            worth: worths.and_then(|(one, two)| {
                Some(FiatView::from_minor(
                    one.minor.saturating_add(two.minor),
                    Currency::from_code(&one.currency)?,
                ))
            }),
            fee: BtcView::from_signed_sats(self.fee.sats.saturating_add(other.fee.sats)),
        }
    }

    fn new(total: &Total, currency: Currency) -> Self {
        Self {
            period: total.period.clone(),
            amount: BtcView::from_signed_sats(total.sats),
            worth: total.worth_minor.map(|minor| FiatView::from_minor(minor, currency)),
            fee: BtcView::from_signed_sats(total.fee_sats),
        }
    }
}

/// Parses a time in ISO 8601, or a date, which means 00:00 UTC.
pub fn moment(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, CommandError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let midnight = || Timestamp::parse_iso(&format!("{text}T00:00:00Z"));
    let at = Timestamp::parse_iso(text).or_else(|_| midnight());
    let wrong = |_| CommandError::invalid(field, &ArgumentFault::Time);
    at.map(Some).map_err(wrong)
}
