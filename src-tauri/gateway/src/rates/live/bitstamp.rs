//! Bitstamp's markets: the middle between the best bid and the best ask, with its time.

use tillgate_domain::money::Currency;
use tillgate_domain::rates::mid_price;

use super::answer::{Quoted, Unreadable, array, object, price_in_string, seconds_in_string};
use super::site::Site;

pub const SITE: Site = Site { name: "bitstamp", base: "https://www.bitstamp.net", path, parse };

/// The currencies in which Bitstamp trades Bitcoin.
const CURRENCIES: [&str; 3] = ["USD", "EUR", "GBP"];

/// One request for all markets. A closed market is only missing in its answer; a request for that
/// market would fail.
fn path(currencies: &[Currency]) -> Option<String> {
    currencies
        .iter()
        .any(|currency| CURRENCIES.contains(&currency.code()))
        .then(|| "/api/v2/ticker/".to_owned())
}

fn parse(text: &str, currencies: &[Currency]) -> Result<Vec<Quoted>, Unreadable> {
    let mut quotes: Vec<Quoted> = Vec::new();
    for market in array(text)? {
        let market = object(market.get())?;
        let pair = market.get("pair").ok_or(Unreadable::Missing("pair"))?;
        let Some(currency) = currency_of(pair, currencies) else { continue };
        if quotes.iter().any(|quote| quote.currency == currency) {
            return Err(Unreadable::NotJson(format!("the market {pair} is listed twice")));
        }
        let price = |side: &'static str| {
            let price = market.get(side).ok_or(Unreadable::Missing(side))?;
            price_in_string(price, &format!("{} {side}", currency.code()))
        };
        let (bid, ask) = (price("bid")?, price("ask")?);
        let at = seconds_in_string(
            market.get("timestamp").ok_or(Unreadable::Missing("timestamp"))?,
            "timestamp",
        )?;
        quotes.extend(mid_price(bid, ask).map(|price| Quoted { currency, price, at: Some(at) }));
    }
    Ok(quotes)
}

/// The currency of the market with this name, a JSON string such as `"BTC/USD"`.
fn currency_of(pair: &str, currencies: &[Currency]) -> Option<Currency> {
    let code = pair.strip_prefix("\"BTC/")?.strip_suffix('"')?;
    currencies
        .iter()
        .find(|currency| currency.code() == code && CURRENCIES.contains(&code))
        .copied()
}
