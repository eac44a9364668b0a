//! Kraken's markets: the middle between the best bid and the best ask. The price of the last trade
//! is not used: it may be old in a quiet market, and Kraken does not report its time.

use tillgate_domain::money::Currency;
use tillgate_domain::rates::mid_price;

use super::answer::{Quoted, Unreadable, array, member, object, price_in_string, words};
use super::site::Site;

pub const SITE: Site = Site { name: "kraken", base: "https://api.kraken.com", path, parse };

/// Each currency, with the names of its market in the request and in the answer.
const MARKETS: [(&str, &str, &str); 7] = [
    ("USD", "XBTUSD", "XXBTZUSD"),
    ("EUR", "XBTEUR", "XXBTZEUR"),
    ("GBP", "XBTGBP", "XXBTZGBP"),
    ("CAD", "XBTCAD", "XXBTZCAD"),
    ("JPY", "XBTJPY", "XXBTZJPY"),
    ("AUD", "XBTAUD", "XBTAUD"),
    ("CHF", "XBTCHF", "XBTCHF"),
];

fn path(currencies: &[Currency]) -> Option<String> {
    let asked: Vec<&str> = wanted(currencies).map(|(_, asked, _)| asked).collect();
    (!asked.is_empty()).then(|| format!("/0/public/Ticker?pair={}", asked.join(",")))
}

fn parse(text: &str, currencies: &[Currency]) -> Result<Vec<Quoted>, Unreadable> {
    let answer = object(text)?;
    let errors = array(answer.get("error").ok_or(Unreadable::Missing("error"))?)?;
    if let Some(error) = errors.first() {
        return Err(Unreadable::Reported(words(error.get())));
    }
    let result = member(&answer, "result")?;
    let mut quotes = Vec::new();
    for (currency, _, answered) in wanted(currencies) {
        let Some(market) = result.get(answered) else { continue };
        let market = object(market)?;
        let best = |side: &'static str| {
            let levels = array(market.get(side).ok_or(Unreadable::Missing(side))?)?;
            let best = levels.first().ok_or(Unreadable::Missing(side))?;
            price_in_string(best.get(), &format!("{} price ({side})", currency.code()))
        };
        let (bid, ask) = (best("b")?, best("a")?);
        quotes.extend(mid_price(bid, ask).map(|price| Quoted { currency, price, at: None }));
    }
    Ok(quotes)
}

fn wanted(currencies: &[Currency]) -> impl Iterator<Item = (Currency, &'static str, &'static str)> {
    currencies.iter().filter_map(|currency| {
        let (_, asked, answered) = MARKETS.iter().find(|(code, ..)| *code == currency.code())?;
        Some((*currency, *asked, *answered))
    })
}
