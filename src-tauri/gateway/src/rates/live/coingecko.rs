//! CoinGecko's price of Bitcoin: an average over many markets, with its time.

use tillgate_domain::money::Currency;

use super::answer::{Quoted, Unreadable, member, object, price_in_number, seconds};
use super::site::Site;

pub const SITE: Site = Site { name: "coingecko", base: "https://api.coingecko.com", path, parse };

fn path(currencies: &[Currency]) -> Option<String> {
    let codes: Vec<String> =
        currencies.iter().map(|currency| currency.code().to_ascii_lowercase()).collect();
    let query = "include_last_updated_at=true&precision=4";
    (!codes.is_empty()).then(|| {
        format!("/api/v3/simple/price?ids=bitcoin&vs_currencies={}&{query}", codes.join(","))
    })
}

/// The answer leaves out currencies that CoinGecko does not know, and has null for a currency
/// without a price.
fn parse(text: &str, currencies: &[Currency]) -> Result<Vec<Quoted>, Unreadable> {
    let answer = object(text)?;
    let bitcoin = member(&answer, "bitcoin")?;
    let at = seconds(
        bitcoin.get("last_updated_at").ok_or(Unreadable::Missing("last_updated_at"))?,
        "last_updated_at",
    )?;
    let mut quotes = Vec::new();
    for currency in currencies {
        let Some(price) = bitcoin.get(&currency.code().to_ascii_lowercase()) else { continue };
        let price = price_in_number(price, &format!("{} price", currency.code()))?;
        quotes.push(Quoted { currency: *currency, price, at: Some(at) });
    }
    Ok(quotes)
}
