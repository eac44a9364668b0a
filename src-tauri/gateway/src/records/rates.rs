//! The answer of `GET /v2/rates`.

use tillgate_domain::money::Rate;
use tillgate_domain::rates::{Quote, Verdict};

use super::object::Object;
use crate::rates::RatesRow;

/// The rates of these currencies after the merchant's spread, each with its sources' quotes before
/// the spread. A currency without a usable rate has neither rate nor time.
pub fn rates_record(rows: &[RatesRow], spread_per_mille: u16) -> String {
    let mut object = Object::new();
    object.array("items", rows.iter().map(|row| item(row, spread_per_mille)));
    object.finish()
}

fn item(row: &RatesRow, spread_per_mille: u16) -> String {
    let mut object = Object::new();
    object.text("currency", row.currency.code());
    if let (Some(rate), Some(at)) =
        (row.rate.and_then(|rate| rate.less_spread(spread_per_mille)), row.fresh_at)
    {
        object.raw("exchangeRate", &rate.format());
        object.text("time", &at.iso_seconds());
    }
    object.array("sources", row.quotes.iter().filter_map(source));
    object.finish()
}

/// `None` if the quote is outside the range of a [`Rate`].
fn source((quote, verdict): &(Quote, Verdict)) -> Option<String> {
    let rate = Rate::new(quote.price)?;
    let mut object = Object::new();
    object.text("name", quote.source);
    object.raw("rate", &rate.format());
    object.text("time", &quote.at.iso_seconds());
    object.raw("used", if *verdict == Verdict::Used { "true" } else { "false" });
    Some(object.finish())
}
