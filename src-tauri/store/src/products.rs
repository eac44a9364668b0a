//! The products of the till, in the order of their tiles.

use rusqlite::params;
use tillgate_domain::money::Currency;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values::{self, Columns as _};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductRow {
    pub name: String,
    /// The price with tax, in minor units of `currency`.
    pub price_minor: i64,
    pub currency: Currency,
    /// The rate of the tax that the price contains, per mille; `None` without tax.
    pub tax_per_mille: Option<u16>,
    /// The colour of its tile, `#rrggbb`; empty for the usual one.
    pub color: String,
}

impl Reader<'_> {
    /// All products, in the order of their tiles.
    pub fn products(&self) -> Result<Vec<ProductRow>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT name, price_minor, currency, tax_per_mille, color FROM products ORDER BY position",
        )?;
        let mut rows = query.query([])?;
        let mut products = Vec::new();
        while let Some(row) = rows.next()? {
            products.push(ProductRow {
                name: row.value("name")?,
                price_minor: row.value("price_minor")?,
                currency: values::currency(row, "currency")?,
                tax_per_mille: row.value("tax_per_mille")?,
                color: row.value("color")?,
            });
        }
        Ok(products)
    }
}

impl Tx<'_> {
    /// Replaces all products.
    pub fn put_products(&self, products: &[ProductRow]) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM products", [])?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO products (position, name, price_minor, currency, tax_per_mille, color) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for (position, product) in (0i64..).zip(products) {
            insert.execute(params![
                position,
                product.name,
                product.price_minor,
                product.currency.code(),
                product.tax_per_mille,
                product.color,
            ])?;
        }
        Ok(())
    }
}
