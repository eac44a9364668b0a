//! Sums of the confirmed payments, by their currency and the time of their first confirmation.
//!
//! The index `payments_takings` holds these columns, so that 100,000 payments are summed within
//! milliseconds.

use std::sync::LazyLock;

use rusqlite::{OptionalExtension, Row, params};
use tillgate_domain::money::Currency;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::values::{self, sats};

const NEXT_CURRENCY: &str = "SELECT currency FROM payments WHERE state = 'CONFIRMED' AND currency > ?1 ORDER BY currency LIMIT 1";

/// The takings of a payment, in minor units. They are its price, or the part that its coins cover,
/// rounded down. Staff may accept coins that are too few.
pub(super) const TAKEN_MINOR: &str = "CASE WHEN paid_sats < amount_sats \
     THEN CAST(price_minor * paid_sats / amount_sats AS INTEGER) ELSE price_minor END";

/// The columns of a [`TakingsRow`].
pub(super) static SUMS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "count(*) AS payments, ifnull(sum({TAKEN_MINOR}), 0) AS price_minor, \
         ifnull(sum(min(amount_sats, paid_sats)), 0) AS paid_sats"
    )
});

/// The payments that count, by their currency and the bounds of a period.
pub(super) const TAKEN: &str =
    "state = 'CONFIRMED' AND currency = ?1 AND confirmed_at >= ?2 AND confirmed_at < ?3";

static SUM: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM payments WHERE {TAKEN}", *SUMS));

/// The sum of some payments in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TakingsRow {
    /// The number of the payments.
    pub payments: u64,
    /// The sum of their prices, as far as coins cover them, in minor units.
    pub price_minor: i64,
    /// The sum of the coins that count for them, without what was paid too much.
    pub paid_sats: u64,
}

impl TakingsRow {
    /// Reads the columns [`SUMS`].
    pub(super) fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            payments: values::number(row, "payments")?,
            price_minor: values::Columns::value(row, "price_minor")?,
            paid_sats: sats(row, "paid_sats")?,
        })
    }
}

impl Reader<'_> {
    /// The currencies of the CONFIRMED payments of all times, by code.
    pub fn currencies_taken(&self) -> Result<Vec<Currency>, StoreError> {
        let mut query = self.connection.prepare_cached(NEXT_CURRENCY)?;
        let mut currencies: Vec<Currency> = Vec::new();
        loop {
            let last = currencies.last().map_or("", Currency::code);
            let next =
                query.query_row([last], |row| Ok(values::currency(row, "currency"))).optional()?;
            let Some(next) = next else { return Ok(currencies) };
            currencies.push(next?);
        }
    }

    /// The sum of the payments that first became CONFIRMED in a period, and still are. The end is
    /// exclusive.
    pub fn takings(
        &self,
        currency: Currency,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<TakingsRow, StoreError> {
        let mut query = self.connection.prepare_cached(&SUM)?;
        query
            .query_and_then(params![currency.code(), from.ms(), to.ms()], TakingsRow::read)?
            .next()
            .unwrap_or_else(|| Ok(TakingsRow::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books;

    #[test]
    fn takings_are_summed_from_their_index_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::Store::open(&folder.path().join("gateway.db")).unwrap();
        let plan = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            store
                .read(|reader| {
                    let mut plan =
                        reader.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                    Ok::<_, StoreError>(plan.query_row(values, |row| row.get::<_, String>(3))?)
                })
                .unwrap()
        };
        let index = "SEARCH payments USING COVERING INDEX payments_takings";
        let of_period = format!("{index} (currency=? AND confirmed_at>? AND confirmed_at<?)");
        for sql in [&SUM, &books::BY_MAKER, &books::LINES] {
            assert_eq!(plan(sql, &[&"USD", &1, &2]).replace(" p ", " payments "), of_period);
        }
        assert_eq!(plan(NEXT_CURRENCY, &[&"USD"]), format!("{index} (currency>?)"));
    }
}
