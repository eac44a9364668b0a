//! A price in fiat, converted to Bitcoin at one exchange rate.

use tillgate_told::Sum;

use crate::money::{Currency, MAX_SATS, Rate, format_btc};

/// A price, with its amount in Bitcoin at one exchange rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// The price in minor units of `currency`.
    pub minor: i64,
    /// The currency that the shop named.
    pub currency: Currency,
    /// The rate after the merchant's spread.
    pub rate: Rate,
    /// The amount to pay: price / rate, rounded up.
    pub amount_sats: u64,
    /// The least that an output to the payment's address may hold, in satoshis.
    pub dust_limit_sats: u64,
}

/// Why a price is refused, with the bound and its worth at the present rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum PriceRefusal {
    /// The network does not relay an output of so small an amount.
    #[error(
        "must be worth at least {least} BTC (about {worth} {code} now)",
        least = Sum(format_btc(*.dust_limit_sats)),
        worth = Sum(.currency.format_minor(*.worth_minor)),
        code = .currency.code()
    )]
    TooSmall {
        /// The least that an output to the payment's address may hold, in satoshis.
        dust_limit_sats: u64,
        /// The least price that reaches the limit, in minor units.
        worth_minor: i64,
        /// The price's currency.
        currency: Currency,
    },
    /// As [`Self::TooSmall`], if the least price cannot be computed.
    #[error("must be worth at least {least} BTC", least = Sum(format_btc(*.dust_limit_sats)))]
    TooFewSats {
        /// The least that an output to the payment's address may hold, in satoshis.
        dust_limit_sats: u64,
    },
    /// The price is worth more than all Bitcoin.
    #[error(
        "must be worth at most {most} BTC (about {worth} {code} now)",
        most = Sum(format_btc(MAX_SATS)),
        worth = Sum(.currency.format_minor(*.worth_minor)),
        code = .currency.code()
    )]
    TooLarge {
        /// The largest price within the bound, in minor units.
        worth_minor: i64,
        /// The price's currency.
        currency: Currency,
    },
    /// As [`Self::TooLarge`], if the largest price cannot be computed.
    #[error("must be worth at most {most} BTC", most = Sum(format_btc(MAX_SATS)))]
    TooManySats,
}

impl Price {
    /// A price of `minor` units at `market`, the rate before the merchant's spread.
    /// `dust_limit_sats` is the least that an output to the payment's address may hold.
    ///
    /// # Errors
    /// The bound that the price violates.
    pub fn at(
        market: Rate,
        spread_per_mille: u16,
        minor: i64,
        currency: Currency,
        dust_limit_sats: u64,
    ) -> Result<Self, PriceRefusal> {
        let Some(rate) = market.less_spread(spread_per_mille) else {
            return Err(PriceRefusal::TooManySats);
        };
        let worth_minor = |sats| rate.sats_to_minor_floor(sats, currency);
        match rate.price_to_sats(minor, currency).filter(|sats| *sats <= MAX_SATS) {
            None => Err(worth_minor(MAX_SATS).map_or(PriceRefusal::TooManySats, |worth_minor| {
                PriceRefusal::TooLarge { worth_minor, currency }
            })),
            Some(amount_sats) if amount_sats < dust_limit_sats => {
                Err(worth_minor(dust_limit_sats).map_or(
                    PriceRefusal::TooFewSats { dust_limit_sats },
                    |minor| {
                        // The next minor unit above is the first that is worth enough.
                        let worth_minor = minor.saturating_add(1);
                        PriceRefusal::TooSmall { dust_limit_sats, worth_minor, currency }
                    },
                ))
            }
            Some(amount_sats) => Ok(Self { minor, currency, rate, amount_sats, dust_limit_sats }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(spread_per_mille: u16, minor: i64) -> Result<Price, String> {
        let market = Rate::parse("65000").unwrap();
        Price::at(market, spread_per_mille, minor, Currency::USD, 294)
            .map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_price_is_rounded_up_to_the_satoshi_after_the_spread() {
        assert_eq!(price(0, 1_000).unwrap().amount_sats, 15_385, "15,384.6");
        let spread = price(10, 1_000).unwrap();
        assert_eq!((spread.rate.format().as_str(), spread.amount_sats), ("64350.0000", 15_541));
    }

    #[test]
    fn a_price_beyond_a_bound_names_it() {
        assert_eq!(
            price(0, 19).unwrap_err(),
            "must be worth at least 0.00000294 BTC (about 0.20 USD now)"
        );
        assert!(price(0, 20).is_ok());
        let most = "must be worth at most 21000000.00000000 BTC (about 1365000000000.00 USD now)";
        assert_eq!(price(0, 136_500_000_000_001).unwrap_err(), most);
        assert!(price(0, 136_500_000_000_000).is_ok());
        assert_eq!(
            price(1_000, 1_000).unwrap_err(),
            "must be worth at most 21000000.00000000 BTC",
            "the spread leaves no rate"
        );
    }
}
