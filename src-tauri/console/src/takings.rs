//! Takings of each local day, for the panel's first screen.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::Currency;
use tillgate_domain::time::Timestamp;
use tillgate_gateway::takings::{self, Days, NotDays, Takings, top_of_chart};
use tillgate_store::payment_lists::PaymentFilter;
use tillgate_store::takings::TakingsRow;
use ts_rs::TS;

use super::ask::{Ask, Asker, shop_currency};
use super::btc::BtcView;
use super::error::CommandError;
use super::sums::FiatView;

/// Asks for the takings of some days. A payment counts on the day on which it first became
/// CONFIRMED, with its price and its coins, but not with coins above its amount. If staff accepted
/// too few coins, the part of the price counts that they cover. A payment that was reversed does
/// not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ShowTakings {
    /// The beginning of each day, the oldest first, and then the end of the last day, in
    /// milliseconds since 1970. The gateway knows no time zone.
    #[ts(type = "Array<number>")]
    pub bounds: Vec<i64>,
    /// The number of the last days that make up the present week, from 1 to 7.
    pub week_days: u32,
    /// The ISO code of the shop's currency; the first of the setting `currencies` if absent.
    #[serde(default)]
    pub currency: Option<String>,
}

/// The takings of some days, in each currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TakingsView {
    /// The number of all payments that were ever created, in any state.
    #[ts(type = "number")]
    pub payments_count: u64,
    /// The takings in the shop's currency. If there are none, those in the currency with the most
    /// payments.
    pub main: CurrencyTakings,
    /// The takings in the other currencies.
    pub others: Vec<CurrencyTakings>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CurrencyTakings {
    /// The ISO code of the currency.
    pub currency: String,
    /// The sum of the last day.
    pub today: TakingsSum,
    /// The sum of the day before the last one.
    pub yesterday: TakingsSum,
    pub week: TakingsSum,
    /// The sum of the seven days before the present week.
    pub last_week: TakingsSum,
    /// The price of `week` minus that of the same days of the week before; absent if those days had
    /// no takings.
    pub week_change: Option<FiatView>,
    /// The sum of all days.
    pub all: TakingsSum,
    pub days: Vec<TakingsDay>,
    /// A round value for the top of a chart of the days. No day is above it.
    pub top: FiatView,
    /// The half of `top`.
    pub half: FiatView,
}

/// The sum of some payments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TakingsSum {
    /// The number of payments.
    #[ts(type = "number")]
    pub payments: u64,
    /// The sum of their prices.
    pub price: FiatView,
    /// The sum of the coins that count for them, without what was paid too much.
    pub paid: BtcView,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TakingsDay {
    pub sum: TakingsSum,
    /// The sum's height in a chart, in thousandths of the chart's top.
    pub height: u32,
}

impl Ask for ShowTakings {
    type Answer = TakingsView;

    async fn answer(self, by: &Asker<'_>) -> Result<TakingsView, CommandError> {
        let bounds = self.bounds.into_iter().map(Timestamp::from_ms).collect();
        let week = usize::try_from(self.week_days).unwrap_or(usize::MAX);
        let days = Days::new(bounds, week).map_err(|refusal| match refusal {
            NotDays::Count | NotDays::Order => CommandError::invalid("bounds", &refusal),
            NotDays::Week => CommandError::invalid("weekDays", &refusal),
        })?;
        let own = shop_currency(by, self.currency.as_deref())?;
        by.read(move |_, reader| {
            let takings = takings::load(reader, &days, own)?;
            Ok(TakingsView {
                payments_count: reader.payments_count(&PaymentFilter::default())?,
                main: CurrencyTakings::from_takings(&takings.main),
                others: takings.others.iter().map(CurrencyTakings::from_takings).collect(),
            })
        })
        .await
    }
}

impl CurrencyTakings {
    fn from_takings(takings: &Takings) -> Self {
        let currency = takings.currency;
        let sum = |row: &TakingsRow| TakingsSum::from_row(row, currency);
        let top = top_of_chart(&takings.days);
        Self {
            currency: currency.code().to_owned(),
            today: sum(&takings.today),
            yesterday: sum(&takings.yesterday),
            week: sum(&takings.week),
            last_week: sum(&takings.last_week),
            week_change: takings
                .week_change_minor()
                .map(|minor| FiatView::from_minor(minor, currency)),
            all: sum(&takings.all),
            days: takings.days.iter().map(|day| TakingsDay::new(day, top, currency)).collect(),
            top: FiatView::from_minor(top, currency),
            half: FiatView::from_minor(top / 2, currency),
        }
    }
}

impl TakingsSum {
    pub fn from_row(row: &TakingsRow, currency: Currency) -> Self {
        Self {
            payments: row.payments,
            price: FiatView::from_minor(row.price_minor, currency),
            paid: BtcView::from_sats(row.paid_sats),
        }
    }
}

impl TakingsDay {
    /// A day, or a longer period, in a chart up to `top`.
    pub fn new(row: &TakingsRow, top: i64, currency: Currency) -> Self {
        let sum = TakingsSum::from_row(row, currency);
        Self { sum, height: height(row.price_minor, top) }
    }
}

/// A sum in thousandths of `top`. A sum that is not zero has a visible height.
fn height(minor: i64, top: i64) -> u32 {
    let thousandths = i128::from(minor) * 1_000 / i128::from(top.max(1));
    let least = i128::from(minor > 0);
    u32::try_from(thousandths.clamp(least, 1_000)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
