//! mempool.space's price of Bitcoin, with its time: an average over some exchanges (Kraken and
//! Coinbase among them) that is updated every few minutes.

use tillgate_domain::money::Currency;

use super::answer::{Quoted, Unreadable, object, price_in_number, seconds};
use super::site::Site;

pub const SITE: Site = Site { name: "mempool", base: "https://mempool.space", path, parse };

/// The currencies in which mempool.space quotes.
const CURRENCIES: [&str; 7] = ["USD", "EUR", "GBP", "CAD", "CHF", "AUD", "JPY"];

/// The value in the answer if mempool.space has no price.
const NO_PRICE: &str = "-1";

fn path(currencies: &[Currency]) -> Option<String> {
    currencies
        .iter()
        .any(|currency| CURRENCIES.contains(&currency.code()))
        .then(|| "/api/v1/prices".to_owned())
}

fn parse(text: &str, currencies: &[Currency]) -> Result<Vec<Quoted>, Unreadable> {
    let answer = object(text)?;
    let at = seconds(answer.get("time").ok_or(Unreadable::Missing("time"))?, "time")?;
    let mut quotes = Vec::new();
    for currency in currencies.iter().filter(|currency| CURRENCIES.contains(&currency.code())) {
        let Some(price) = answer.get(currency.code()).filter(|price| *price != NO_PRICE) else {
            continue;
        };
        let price = price_in_number(price, &format!("{} price", currency.code()))?;
        quotes.push(Quoted { currency: *currency, price, at: Some(at) });
    }
    Ok(quotes)
}
