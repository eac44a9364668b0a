//! Coinbase's exchange rates of one Bitcoin, in each of its currencies.

use tillgate_domain::money::Currency;

use super::answer::{Quoted, Unreadable, member, object, price_in_string};
use super::site::Site;

pub const SITE: Site = Site { name: "coinbase", base: "https://api.coinbase.com", path, parse };

fn path(currencies: &[Currency]) -> Option<String> {
    (!currencies.is_empty()).then(|| "/v2/exchange-rates?currency=BTC".to_owned())
}

fn parse(text: &str, currencies: &[Currency]) -> Result<Vec<Quoted>, Unreadable> {
    let answer = object(text)?;
    let rates = member(&answer, "data")?;
    if rates.get("currency") != Some("\"BTC\"") {
        return Err(Unreadable::OtherAsset);
    }
    let rates = member(&rates, "rates")?;
    let mut quotes = Vec::new();
    for currency in currencies {
        let Some(rate) = rates.get(currency.code()) else { continue };
        let price = price_in_string(rate, &format!("{} rate", currency.code()))?;
        quotes.push(Quoted { currency: *currency, price, at: None });
    }
    Ok(quotes)
}
