//! Sums for the books: the takings by the maker of the payments, and the taxes of the till's sales.

use std::sync::LazyLock;

use rusqlite::{Row, params};
use tillgate_domain::money::Currency;
use tillgate_domain::sale::{Basket, SaleLine, SalesTaxes};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::takings::{SUMS, TAKEN, TakingsRow};
use super::values::{self, Columns as _};

pub(super) static BY_MAKER: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT (SELECT name FROM api_keys AS k WHERE k.key_id = p.key_id) AS key_name, \
         key_id IS NULL AND EXISTS (SELECT 1 FROM sales WHERE payment_seq = p.seq) AS is_sale, {} \
         FROM payments AS p WHERE {TAKEN} GROUP BY key_name, is_sale ORDER BY count(*) DESC",
        *SUMS
    )
});

/// The lines of one sale follow each other, because SQLite joins these tables in their order.
pub(super) static LINES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT l.number, s.tip_minor, l.price_minor, l.count, l.tax_per_mille FROM payments AS p \
         CROSS JOIN sales AS s ON s.payment_seq = p.seq CROSS JOIN sale_lines AS l ON l.number = s.number \
         WHERE {TAKEN} AND paid_sats >= amount_sats"
    )
});

/// The maker of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Maker {
    /// An API key, or several keys that had this name one after the other.
    Key(String),
    /// A person at the till.
    Till,
    /// A person without the till.
    Staff,
}

impl Reader<'_> {
    /// The takings of a period by the maker of the payments, the most payments first.
    pub fn takings_by_maker(
        &self,
        currency: Currency,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(Maker, TakingsRow)>, StoreError> {
        let mut query = self.connection.prepare_cached(&BY_MAKER)?;
        let of_maker = |row: &Row<'_>| Ok((maker(row)?, TakingsRow::read(row)?));
        query.query_and_then(params![currency.code(), from.ms(), to.ms()], of_maker)?.collect()
    }

    /// The taxes of the till's sales among the takings of a period. A sale with too few coins is
    /// left out, because its receipt shows no taxes.
    pub fn taxes_taken(
        &self,
        currency: Currency,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<SalesTaxes, StoreError> {
        let mut query = self.connection.prepare_cached(&LINES)?;
        let mut rows = query.query(params![currency.code(), from.ms(), to.ms()])?;
        let mut taxes = SalesTaxes::default();
        let mut sale: Option<(i64, Basket)> = None;
        while let Some(row) = rows.next()? {
            let number = row.value("number")?;
            if let Some((_, ended)) = sale.take_if(|(of, _)| *of != number) {
                taxes.add(&ended);
            }
            let tip_minor = row.value("tip_minor")?;
            let (_, basket) = sale.get_or_insert((number, Basket { lines: Vec::new(), tip_minor }));
            basket.lines.push(line(row)?);
        }
        if let Some((_, last)) = sale {
            taxes.add(&last);
        }
        Ok(taxes)
    }
}

fn maker(row: &Row<'_>) -> Result<Maker, StoreError> {
    let key: Option<String> = row.value("key_name")?;
    let is_sale: bool = row.value("is_sale")?;
    Ok(match key {
        Some(name) => Maker::Key(name),
        None if is_sale => Maker::Till,
        None => Maker::Staff,
    })
}

/// A line without its name, which changes no sum.
fn line(row: &Row<'_>) -> Result<SaleLine, StoreError> {
    Ok(SaleLine {
        name: String::new(),
        price_minor: row.value("price_minor")?,
        count: values::number(row, "count")?,
        tax_per_mille: row.value("tax_per_mille")?,
    })
}
