//! The sales of the till. A sale is a payment with a number, lines and a tip.

use rusqlite::{OptionalExtension as _, params};
use tillgate_domain::sale::{Basket, SaleLine};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values::Columns as _;

/// The newest sales that are searched for waiting ones, so that years of sales cost nothing: those of
/// a month in a busy shop.
const SEARCHED: u32 = 10_000;

/// A stored sale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleRow {
    /// Counts the sales from 1.
    pub number: u32,
    pub basket: Basket,
}

impl Reader<'_> {
    /// The sale of a payment; `None` for a payment that was not made at the till.
    pub fn sale_of_payment(&self, payment_seq: i64) -> Result<Option<SaleRow>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT number, tip_minor FROM sales WHERE payment_seq = ?1")?;
        let found = query.query_row([payment_seq], |row| Ok((row.get(0)?, row.get(1)?)));
        let Some((number, tip_minor)) = found.optional()? else { return Ok(None) };
        Ok(Some(SaleRow { number, basket: Basket { lines: self.sale_lines(number)?, tip_minor } }))
    }

    fn sale_lines(&self, number: u32) -> Result<Vec<SaleLine>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT name, price_minor, count, tax_per_mille FROM sale_lines WHERE number = ?1 ORDER BY position",
        )?;
        let mut rows = query.query([number])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            lines.push(SaleLine {
                name: row.value("name")?,
                price_minor: row.value("price_minor")?,
                count: row.value("count")?,
                tax_per_mille: row.value("tax_per_mille")?,
            });
        }
        Ok(lines)
    }

    /// The number of a payment's sale; `None` for a payment that was not made at the till.
    pub fn sale_number(&self, payment_seq: i64) -> Result<Option<u32>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT number FROM sales WHERE payment_seq = ?1")?;
        Ok(query.query_row([payment_seq], |row| row.get(0)).optional()?)
    }

    /// The payments of the sales that a cashier still looks for, the oldest first. Such a sale is not
    /// over, or staff must decide about it, or its coins are being taken back. A sale that was paid
    /// or failed after `ended_after` is one, too.
    pub fn waiting_sales(&self, ended_after: Timestamp) -> Result<Vec<i64>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT payment_seq FROM sales JOIN payments ON seq = payment_seq \
             WHERE number > (SELECT max(number) FROM sales) - ?2 AND \
             (state IN ('NEW', 'UNDERPAID', 'UNCONFIRMED') OR conflict_seen = 1 OR confirmed_at > ?1 \
             OR (state = 'INVALID' AND current_at > ?1) \
             OR payment_seq IN (SELECT payment_seq FROM anomalies WHERE resolution = 'OPEN')) \
             ORDER BY number",
        )?;
        let seqs = query.query_map(params![ended_after.ms(), SEARCHED], |row| row.get(0))?;
        Ok(seqs.collect::<Result<_, _>>()?)
    }
}

impl Tx<'_> {
    /// Stores the sale of a new payment under the next number.
    pub fn insert_sale(&self, payment_seq: i64, basket: &Basket) -> Result<(), StoreError> {
        // SQLite gives the highest number plus one.
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO sales (payment_seq, tip_minor) VALUES (?1, ?2)")?;
        let number = insert.insert(params![payment_seq, basket.tip_minor])?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO sale_lines (number, position, name, price_minor, count, tax_per_mille) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for (position, line) in (0i64..).zip(&basket.lines) {
            insert.execute(params![
                number,
                position,
                line.name,
                line.price_minor,
                line.count,
                line.tax_per_mille,
            ])?;
        }
        Ok(())
    }
}
