//! The till: sales, the sales that wait for their customer or for a block, and the products.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tillgate_domain::money::{AmountError, Currency};
use tillgate_domain::sale::{Basket, COUNT_MAX, LINES_MAX, SaleLine, TAX_MAX_PER_MILLE};
use tillgate_gateway::payments::PaymentRequest;
use tillgate_gateway::settings::color;
use tillgate_store::products::ProductRow;
use ts_rs::TS;

use super::ask::{Ask, Asker, currency, in_range, price};
use super::error::CommandError;
use super::payments::{PaymentItem, PaymentView, create};
use super::refusal::ArgumentFault;
use super::sums::FiatView;

/// The time for which a sale stays among the waiting ones after it was paid or failed. The cashier sees it turn
/// green or red.
const END_SHOWN_MS: i64 = 10 * 60 * 1_000;

/// Most products. More tiles cannot be found at a glance.
const PRODUCTS_MAX: usize = 60;

/// Most characters of a product's name.
const NAME_MAX: usize = 60;

/// Creates a payment for a sale at the till. Its price is the sum of the lines and the tip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CreateSale {
    /// The ISO code of the currency of all sums.
    pub currency: String,
    pub lines: Vec<NewLine>,
    /// The tip, as the person typed it; empty for none.
    #[serde(default)]
    pub tip: String,
    /// The message for the customer; may be empty.
    #[serde(default)]
    pub message: String,
}

/// A line of a new sale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NewLine {
    /// The product's name; empty for a typed amount.
    pub name: String,
    /// The price of one with its tax, as the person typed it.
    pub price: String,
    pub count: u32,
    /// The rate of the tax that the price contains, per mille.
    #[serde(default)]
    pub tax_per_mille: Option<u16>,
}

/// Lists the till's sales that are not over, and those that were paid just now; the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListWaitingSales {}

/// Lists the till's products, in the order of their tiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListProducts {}

/// Replaces the till's products.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SaveProducts {
    /// All products, in the order of their tiles.
    pub products: Vec<NewProduct>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NewProduct {
    pub name: String,
    /// The price with its tax, as the person typed it.
    pub price: String,
    /// The ISO code of the price's currency.
    pub currency: String,
    /// The rate of the tax that the price contains, per mille.
    #[serde(default)]
    pub tax_per_mille: Option<u16>,
    /// The colour of its tile, like `#1d6f42`; empty for the usual one.
    #[serde(default)]
    pub color: String,
}

/// A product of the till.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProductView {
    pub name: String,
    pub price: FiatView,
    pub tax_per_mille: Option<u16>,
    /// The colour of its tile, like `#1d6f42`; empty for the usual one.
    pub color: String,
}

impl Ask for CreateSale {
    type Answer = PaymentView;

    async fn answer(self, by: &Asker<'_>) -> Result<PaymentView, CommandError> {
        let currency = currency("currency", &self.currency)?;
        let basket = basket(&self, currency)?;
        let too_large = || CommandError::invalid("lines", &AmountError::TooLarge);
        let total = basket.total_minor().ok_or_else(too_large)?;
        let request = PaymentRequest {
            amount: Some(Cow::Owned(currency.format_minor(total))),
            currency: Some(Cow::Owned(self.currency)),
            message: Some(Cow::Owned(self.message)),
            merchant_transaction_id: Some(Cow::Borrowed("")),
            basket: Some(basket),
            ..PaymentRequest::default()
        };
        create(by, request).await
    }
}

impl Ask for ListWaitingSales {
    type Answer = Vec<PaymentItem>;

    async fn answer(self, by: &Asker<'_>) -> Result<Vec<PaymentItem>, CommandError> {
        by.read(|gateway, reader| {
            let now = gateway.time.now();
            let ended_after = now.plus_ms(-END_SHOWN_MS);
            let mut items = Vec::new();
            for seq in reader.waiting_sales(ended_after)? {
                if let Some(row) = reader.payment_by_seq(seq)? {
                    items.push(PaymentItem::from_row(reader, &row, now)?);
                }
            }
            Ok(items)
        })
        .await
    }
}

impl Ask for ListProducts {
    type Answer = Vec<ProductView>;

    async fn answer(self, by: &Asker<'_>) -> Result<Vec<ProductView>, CommandError> {
        by.read(|_, reader| Ok(reader.products()?.into_iter().map(ProductView::from).collect()))
            .await
    }
}

impl Ask for SaveProducts {
    type Answer = Vec<ProductView>;

    async fn answer(self, by: &Asker<'_>) -> Result<Vec<ProductView>, CommandError> {
        entries("products", self.products.len(), 0, PRODUCTS_MAX)?;
        let products: Vec<ProductRow> =
            self.products.into_iter().enumerate().map(product).collect::<Result<_, _>>()?;
        let (now, actor) = (by.gateway().time.now(), by.actor.to_owned());
        by.gateway()
            .store
            .write(move |tx| {
                tx.put_products(&products)?;
                tx.audit(now, &actor, "products save", "")
            })
            .await?;
        ListProducts {}.answer(by).await
    }
}

impl From<ProductRow> for ProductView {
    fn from(row: ProductRow) -> Self {
        Self {
            price: FiatView::from_minor(row.price_minor, row.currency),
            name: row.name,
            tax_per_mille: row.tax_per_mille,
            color: row.color,
        }
    }
}

fn basket(sale: &CreateSale, currency: Currency) -> Result<Basket, CommandError> {
    entries("lines", sale.lines.len(), 1, LINES_MAX)?;
    let lines = sale.lines.iter().enumerate().map(|(at, line)| sale_line(at, line, currency));
    let tip_minor = match sale.tip.trim() {
        "" => 0,
        tip => price("tip", tip, currency)?,
    };
    Ok(Basket { lines: lines.collect::<Result<_, _>>()?, tip_minor })
}

fn sale_line(at: usize, line: &NewLine, currency: Currency) -> Result<SaleLine, CommandError> {
    let field = |name: &str| format!("lines[{at}].{name}");
    in_range(&field("count"), line.count, 1, COUNT_MAX)?;
    let name = match line.name.trim() {
        "" => String::new(),
        typed => name(&field("name"), typed)?,
    };
    Ok(SaleLine {
        name,
        price_minor: price(&field("price"), &line.price, currency)?,
        count: line.count,
        tax_per_mille: tax(&field("taxPerMille"), line.tax_per_mille)?,
    })
}

fn product((at, product): (usize, NewProduct)) -> Result<ProductRow, CommandError> {
    let field = |name: &str| format!("products[{at}].{name}");
    let currency = currency(&field("currency"), &product.currency)?;
    let color = match product.color.as_str() {
        "" => String::new(),
        typed => color(typed)
            .ok_or_else(|| CommandError::invalid(&field("color"), &ArgumentFault::Color))?,
    };
    Ok(ProductRow {
        name: name(&field("name"), &product.name)?,
        price_minor: price(&field("price"), &product.price, currency)?,
        currency,
        tax_per_mille: tax(&field("taxPerMille"), product.tax_per_mille)?,
        color,
    })
}

fn entries(field: &str, count: usize, least: usize, most: usize) -> Result<(), CommandError> {
    if (least..=most).contains(&count) {
        return Ok(());
    }
    Err(CommandError::invalid(field, &ArgumentFault::Entries { least, most }))
}

fn name(field: &str, typed: &str) -> Result<String, CommandError> {
    let name = typed.trim();
    let is_line = !name.chars().any(char::is_control);
    if name.is_empty() || name.chars().count() > NAME_MAX || !is_line {
        return Err(CommandError::invalid(field, &ArgumentFault::Name { most: NAME_MAX }));
    }
    Ok(name.to_owned())
}

fn tax(field: &str, per_mille: Option<u16>) -> Result<Option<u16>, CommandError> {
    in_range(field, per_mille.unwrap_or(0).into(), 0, TAX_MAX_PER_MILLE.into())?;
    Ok(per_mille)
}
