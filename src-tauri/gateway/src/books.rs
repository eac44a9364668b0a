//! The books of a period: the takings of its parts, the taxes that they contain, and their makers.

use std::cmp::Reverse;

use tillgate_domain::money::Currency;
use tillgate_domain::sale::SalesTaxes;
use tillgate_store::books::Maker;
use tillgate_store::takings::TakingsRow;
use tillgate_store::{Reader, StoreError};

use crate::takings::{self, Bounds};

/// The books in one currency.
#[derive(Debug)]
pub struct Books {
    pub currency: Currency,
    /// The sum of each part of the period.
    pub parts: Vec<TakingsRow>,
    /// The sum of the whole period.
    pub all: TakingsRow,
    /// The sums by the maker of the payments, the most payments first.
    pub by_maker: Vec<(Maker, TakingsRow)>,
    /// The taxes of the till's sales that were paid in full.
    pub taxes: SalesTaxes,
}

/// The takings in one currency, with the taxes of each part of the period.
#[derive(Debug)]
pub struct PartBooks {
    pub currency: Currency,
    pub parts: Vec<(TakingsRow, SalesTaxes)>,
}

impl Books {
    /// The takings whose taxes are unknown: those without the till, and those of sales for which
    /// staff accepted too few coins.
    #[must_use]
    pub fn without_lines_minor(&self) -> i64 {
        without_lines_minor(&self.all, &self.taxes)
    }
}

/// The part of the takings whose taxes are unknown.
#[must_use]
pub fn without_lines_minor(takings: &TakingsRow, taxes: &SalesTaxes) -> i64 {
    takings.price_minor.saturating_sub(taxes.total_minor())
}

/// The books in each currency in which something was taken, the most payments first.
pub fn load(reader: &Reader<'_>, bounds: &Bounds) -> Result<Vec<Books>, StoreError> {
    let mut books = Vec::new();
    let Some((from, to)) = bounds.whole() else { return Ok(books) };
    for currency in reader.currencies_taken()? {
        let parts = takings::of_periods(reader, bounds, currency)?;
        let all = takings::sum(parts.iter());
        if all.payments == 0 {
            continue;
        }
        let by_maker = reader.takings_by_maker(currency, from, to)?;
        let taxes = reader.taxes_taken(currency, from, to)?;
        books.push(Books { currency, parts, all, by_maker, taxes });
    }
    books.sort_by_key(|one| Reverse(one.all.payments));
    Ok(books)
}

/// The takings of each part of the period and their taxes, by currency.
pub fn by_part(reader: &Reader<'_>, bounds: &Bounds) -> Result<Vec<PartBooks>, StoreError> {
    let in_currency = |currency| {
        let part = |(from, to)| {
            let row = reader.takings(currency, from, to)?;
            Ok((row, reader.taxes_taken(currency, from, to)?))
        };
        let parts = bounds.periods().map(part).collect::<Result<_, StoreError>>()?;
        Ok(PartBooks { currency, parts })
    };
    reader.currencies_taken()?.into_iter().map(in_currency).collect()
}
