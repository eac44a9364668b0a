//! The content of a sale at the till, as the receipt shows it.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::Currency;
use tillgate_domain::sale::{Basket, SaleLine, TaxedSum};
use tillgate_store::sales::SaleRow;
use ts_rs::TS;

use super::sums::FiatView;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SaleView {
    pub lines: Vec<SaleLineView>,
    /// The tip; absent if there is none.
    pub tip: Option<FiatView>,
    /// The taxes that the lines contain, the lowest rate first.
    pub taxes: Vec<TaxView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SaleLineView {
    /// The product's name; empty for a typed amount.
    pub name: String,
    pub count: u32,
    /// The price of one.
    pub price: FiatView,
    /// The price of all.
    pub sum: FiatView,
}

/// The lines with one tax rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TaxView {
    pub per_mille: u16,
    /// The sum without the tax.
    pub net: FiatView,
    pub tax: FiatView,
    /// The sum with the tax.
    pub gross: FiatView,
}

impl SaleView {
    pub fn new(sale: &SaleRow, currency: Currency) -> Self {
        let Basket { lines, tip_minor } = &sale.basket;
        let sum = |minor| FiatView::from_minor(minor, currency);
        let line = |line: &SaleLine| SaleLineView {
            name: line.name.clone(),
            count: line.count,
            price: sum(line.price_minor),
            sum: sum(line.sum_minor().unwrap_or(i64::MAX)),
        };
        let taxes = sale.basket.taxes().into_iter().map(|taxed| TaxView::new(taxed, currency));
        Self {
            lines: lines.iter().map(line).collect(),
            tip: (*tip_minor > 0).then(|| sum(*tip_minor)),
            taxes: taxes.collect(),
        }
    }
}

impl TaxView {
    pub fn new(taxed: TaxedSum, currency: Currency) -> Self {
        let sum = |minor| FiatView::from_minor(minor, currency);
        Self {
            per_mille: taxed.per_mille,
            net: sum(taxed.net_minor),
            tax: sum(taxed.tax_minor),
            gross: sum(taxed.gross_minor),
        }
    }
}
