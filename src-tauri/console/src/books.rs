//! The books of a period: takings, taxes and the makers of the payments, for the panel.

use serde::{Deserialize, Serialize};
use tillgate_domain::time::Timestamp;
use tillgate_gateway::books::{self, Books};
use tillgate_gateway::takings::{Bounds, top_of_chart};
use tillgate_store::books::Maker;
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::sale::TaxView;
use super::sums::FiatView;
use super::takings::{TakingsDay, TakingsSum};

/// Asks for the takings of consecutive periods, such as the months of a year. The payments count as
/// in `showTakings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ShowBooks {
    /// The beginning of each period, the oldest first, and then the end of the last period, in
    /// milliseconds since 1970. The gateway knows no time zone.
    #[ts(type = "Array<number>")]
    pub bounds: Vec<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BooksView {
    /// The currencies in which something was taken, the most payments first.
    pub currencies: Vec<CurrencyBooks>,
}

/// The books in one currency. The gross sums of `taxes`, `untaxed` and `without_lines` make up the
/// price of `all`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CurrencyBooks {
    /// The ISO code of the currency.
    pub currency: String,
    /// The sum of all periods.
    pub all: TakingsSum,
    pub periods: Vec<TakingsDay>,
    /// A round value for the top of a chart of the periods. No period is above it.
    pub top: FiatView,
    /// The half of `top`.
    pub half: FiatView,
    /// The taxes of the till's sales, the lowest rate first. The sums of each sale are rounded as
    /// on its receipt.
    pub taxes: Vec<TaxView>,
    /// The tips, and the lines without a tax rate.
    pub untaxed: FiatView,
    /// The takings without lines: those that were not made at the till, and sales that were paid short
    /// of their price.
    pub without_lines: FiatView,
    /// The sums by the maker of the payments, the most payments first.
    pub by_maker: Vec<MakerTakings>,
}

/// The sum of the payments of one maker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MakerTakings {
    pub maker: MakerKind,
    /// The name of the API key; absent for the others.
    pub key: Option<String>,
    pub sum: TakingsSum,
}

/// The kind of a payment's maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MakerKind {
    /// An API key.
    Key,
    /// A person at the till.
    Till,
    /// A person without the till.
    Staff,
}

impl Ask for ShowBooks {
    type Answer = BooksView;

    async fn answer(self, by: &Asker<'_>) -> Result<BooksView, CommandError> {
        let bounds = bounds(self.bounds)?;
        by.read(move |_, reader| {
            let books = books::load(reader, &bounds)?;
            Ok(BooksView { currencies: books.iter().map(CurrencyBooks::new).collect() })
        })
        .await
    }
}

/// The periods in the argument `bounds`.
pub fn bounds(times: Vec<i64>) -> Result<Bounds, CommandError> {
    let times = times.into_iter().map(Timestamp::from_ms).collect();
    Bounds::new(times).map_err(|refusal| CommandError::invalid("bounds", &refusal))
}

impl CurrencyBooks {
    fn new(books: &Books) -> Self {
        let currency = books.currency;
        let fiat = |minor| FiatView::from_minor(minor, currency);
        let top = top_of_chart(&books.parts);
        let taxes = books.taxes.by_rate().map(|taxed| TaxView::new(taxed, currency));
        let by_maker = books.by_maker.iter().map(|(maker, row)| {
            let (maker, key) = match maker {
                Maker::Key(name) => (MakerKind::Key, Some(name.clone())),
                Maker::Till => (MakerKind::Till, None),
                Maker::Staff => (MakerKind::Staff, None),
            };
            MakerTakings { maker, key, sum: TakingsSum::from_row(row, currency) }
        });
        Self {
            currency: currency.code().to_owned(),
            all: TakingsSum::from_row(&books.all, currency),
            periods: books.parts.iter().map(|row| TakingsDay::new(row, top, currency)).collect(),
            top: fiat(top),
            half: fiat(top / 2),
            taxes: taxes.collect(),
            untaxed: fiat(books.taxes.untaxed_minor()),
            without_lines: fiat(books.without_lines_minor()),
            by_maker: by_maker.collect(),
        }
    }
}

#[cfg(test)]
mod tests;
