//! A price up to which a rule holds.

use std::fmt;

use rust_decimal::Decimal;

use super::usd::parse_usd;
use crate::money::Currency;

/// The highest bound, in whole units of its currency.
const MAX_UNITS: u32 = 1_000_000;

/// A price up to which a rule holds, in the merchant's currency: `20` (US dollars), `20 EUR`. With
/// 0 the rule holds for no price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceBound {
    units: Decimal,
    currency: Currency,
}

impl PriceBound {
    /// A bound of whole US dollars.
    #[must_use]
    pub fn usd(dollars: u32) -> Self {
        Self { units: dollars.into(), currency: Currency::USD }
    }

    /// Reads a setting's bound: a sum in plain decimal notation, and after a space the ISO code of
    /// a currency other than the US dollar.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (sum, currency) = match text.split_once(' ') {
            Some((sum, code)) => (sum, Currency::from_code(code)?),
            None => (text, Currency::USD),
        };
        let units = parse_usd(sum).filter(|units| *units <= MAX_UNITS.into())?;
        Some(Self { units, currency })
    }

    /// The currency in which prices are compared with it.
    #[must_use]
    pub const fn currency(&self) -> Currency {
        self.currency
    }

    /// In minor units, rounded down.
    #[must_use]
    pub fn minor(&self) -> i64 {
        let decimals = u32::from(self.currency.minor_units());
        let cut = self.units.trunc_with_scale(decimals);
        self.currency.parse_minor(&cut.to_string()).unwrap_or(0)
    }

    /// Whether the rule holds for a price in its currency. It does not for an unknown price.
    #[must_use]
    pub fn covers(&self, price: Option<Decimal>) -> bool {
        !self.units.is_zero() && price.is_some_and(|price| price <= self.units)
    }
}

impl fmt::Display for PriceBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.currency {
            Currency::USD => self.units.fmt(f),
            other => write!(f, "{} {}", self.units, other.code()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_reads_back_as_it_was_written() {
        for text in ["0", "20", "19.9", "1000000", "20 EUR", "1000 JPY"] {
            assert_eq!(PriceBound::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(PriceBound::parse("20.00 EUR").unwrap().to_string(), "20 EUR");
        for wrong in ["", " ", "EUR", "20 eur", "20EUR", "20  EUR", "-1", "1e3", "1000001 JPY"] {
            assert_eq!(PriceBound::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn decimals_that_the_currency_does_not_have_are_cut_off() {
        let minor = |text| PriceBound::parse(text).unwrap().minor();
        assert_eq!(
            [minor("19.999"), minor("20 EUR"), minor("20.9 JPY"), minor("0")],
            [1_999, 2_000, 20, 0]
        );
    }

    #[test]
    fn a_bound_of_zero_covers_no_price() {
        assert!(!PriceBound::usd(0).covers(Some(Decimal::ZERO)));
    }
}
