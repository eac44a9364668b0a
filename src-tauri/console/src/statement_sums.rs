//! The balances before and after a period, and the sums of its movements by their kind.

use serde::{Deserialize, Serialize};
use tillgate_gateway::statement::{self, KindSum};
use tillgate_store::ledger::LedgerKind;
use ts_rs::TS;

use super::ask::{Ask, Asker, currency};
use super::btc::BtcView;
use super::error::CommandError;
use super::statement::{PAGE_MAX, moment};
use super::sums::FiatView;

/// Asks for the balances and the sums of a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct StatementSums {
    /// The ISO code of the currency in which the movements are valued.
    pub currency: String,
    /// The beginning of the period, inclusive: a time in ISO 8601, or a date, which means 00:00
    /// UTC.
    #[serde(default)]
    pub from: Option<String>,
    /// The end of the period, exclusive, in the same form.
    #[serde(default)]
    pub to: Option<String>,
}

/// The opening balance and the sums of all kinds make up the closing balance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatementSumsView {
    /// The balance before the period.
    pub opening: BtcView,
    /// The balance after the period.
    pub closing: BtcView,
    /// The kinds with movements.
    pub by_kind: Vec<KindView>,
    /// The network fees paid.
    pub fees: BtcView,
}

/// The sum of the movements of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct KindView {
    pub kind: LedgerKind,
    /// The number of movements.
    #[ts(type = "number")]
    pub count: u64,
    /// The change of the balance.
    pub amount: BtcView,
    /// The worth of the movements, each at its own rate; absent if one of them has no worth.
    pub worth: Option<FiatView>,
}

impl Ask for StatementSums {
    type Answer = StatementSumsView;

    async fn answer(self, by: &Asker<'_>) -> Result<StatementSumsView, CommandError> {
        let currency = currency("currency", &self.currency)?;
        let period = (moment("from", self.from.as_deref())?, moment("to", self.to.as_deref())?);
        let sums =
            by.read(move |_, reader| statement::sums(reader, period, currency, PAGE_MAX)).await?;
        let kind = |sum: &KindSum| KindView {
            kind: sum.kind,
            count: sum.count,
            amount: BtcView::from_signed_sats(sum.sats),
            worth: sum.worth_minor.map(|minor| FiatView::from_minor(minor, currency)),
        };
        Ok(StatementSumsView {
            opening: BtcView::from_signed_sats(sums.opening_sats),
            closing: BtcView::from_signed_sats(sums.closing_sats),
            by_kind: sums.by_kind.iter().map(kind).collect(),
            fees: BtcView::from_signed_sats(sums.fee_sats),
        })
    }
}
