//! The known currencies, with the number of their decimals.

use super::error::AmountError;
use super::number::{Number, format_scaled};

/// The most decimals that a currency has.
const THOUSANDTHS_DECIMALS: u8 = 3;

/// The greatest sum in whole units of any currency: far above all prices, and far below the range
/// of `i64`.
const MAX_UNITS: i64 = 1_000_000_000_000_000;

/// A fiat currency: its ISO 4217 code and number of decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Currency {
    code: &'static str,
    minor_units: u8,
}

impl Currency {
    /// All known currencies, by code. A setting chooses which of them a merchant takes.
    pub const ALL: &'static [Self] = &[
        currency("AED", 2),
        currency("ARS", 2),
        currency("AUD", 2),
        currency("BDT", 2),
        currency("BGN", 2),
        currency("BHD", 3),
        currency("BRL", 2),
        currency("CAD", 2),
        currency("CHF", 2),
        currency("CLP", 0),
        currency("CNY", 2),
        currency("COP", 2),
        currency("CRC", 2),
        currency("CZK", 2),
        currency("DKK", 2),
        currency("DOP", 2),
        currency("EGP", 2),
        currency("EUR", 2),
        currency("GBP", 2),
        currency("GEL", 2),
        currency("GTQ", 2),
        currency("HKD", 2),
        currency("HUF", 2),
        currency("IDR", 2),
        currency("ILS", 2),
        currency("INR", 2),
        currency("ISK", 0),
        currency("JOD", 3),
        currency("JPY", 0),
        currency("KES", 2),
        currency("KRW", 0),
        currency("KWD", 3),
        currency("KZT", 2),
        currency("LKR", 2),
        currency("MAD", 2),
        currency("MXN", 2),
        currency("MYR", 2),
        currency("NGN", 2),
        currency("NOK", 2),
        currency("NZD", 2),
        currency("OMR", 3),
        currency("PEN", 2),
        currency("PHP", 2),
        currency("PKR", 2),
        currency("PLN", 2),
        currency("PYG", 0),
        currency("QAR", 2),
        currency("RON", 2),
        currency("RSD", 2),
        currency("SAR", 2),
        currency("SEK", 2),
        currency("SGD", 2),
        currency("THB", 2),
        currency("TND", 3),
        currency("TRY", 2),
        currency("TWD", 2),
        currency("UAH", 2),
        currency("UGX", 0),
        currency("USD", 2),
        currency("UYU", 2),
        currency("VND", 0),
        currency("XAF", 0),
        currency("XOF", 0),
        currency("ZAR", 2),
    ];

    /// The US dollar, in which confirmation tiers are measured.
    pub const USD: Self = currency("USD", 2);

    /// The currency of this ISO 4217 code (three upper-case letters), if it is known.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().find(|currency| currency.code == code).copied()
    }

    /// Its ISO code.
    #[must_use]
    pub fn code(&self) -> &str {
        self.code
    }

    /// Number of decimals of an amount (2 for USD, 0 for JPY).
    #[must_use]
    pub const fn minor_units(&self) -> u8 {
        self.minor_units
    }

    /// Reads an amount into minor units; exact, never rounded.
    ///
    /// # Errors
    /// The fault of the text.
    pub fn parse_minor(&self, text: &str) -> Result<i64, AmountError> {
        parse_scaled(text, self.minor_units)
    }

    /// Minor units in plain decimal notation: `10.00`, JPY `1500`, `-0.01`.
    #[must_use]
    pub fn format_minor(&self, minor: i64) -> String {
        format_scaled(minor, self.minor_units)
    }

    /// Converts minor units to thousandths of a unit, so that sums in all currencies have one
    /// scale. Saturates.
    #[must_use]
    pub const fn thousandths(&self, minor: i64) -> i64 {
        minor.saturating_mul(10_i64.pow((THOUSANDTHS_DECIMALS - self.minor_units) as u32))
    }

    /// Reads a sum in any currency into thousandths of a unit; exact, never rounded.
    ///
    /// # Errors
    /// The fault of the text.
    pub fn parse_thousandths(text: &str) -> Result<i64, AmountError> {
        parse_scaled(text, THOUSANDTHS_DECIMALS)
    }

    /// Number of minor units in one whole unit.
    pub(super) const fn minor_per_unit(self) -> i128 {
        10_i128.pow(self.minor_units as u32)
    }
}

/// Reads a sum with this number of decimals, up to the greatest.
fn parse_scaled(text: &str, decimals: u8) -> Result<i64, AmountError> {
    let sum = Number::parse(text)?.scaled(decimals)?;
    if sum > MAX_UNITS * 10_i64.pow(u32::from(decimals)) {
        Err(AmountError::TooLarge)
    } else {
        Ok(sum)
    }
}

const fn currency(code: &'static str, minor_units: u8) -> Currency {
    Currency { code, minor_units }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn currency(code: &str) -> Currency {
        Currency::from_code(code).unwrap()
    }

    #[test]
    fn codes_are_three_capitals_in_order_and_once() {
        assert!(Currency::ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
        assert!(
            Currency::ALL
                .iter()
                .all(|c| c.code.len() == 3 && c.code.bytes().all(|b| b.is_ascii_uppercase()))
        );
        assert_eq!(currency("USD"), Currency::USD);
        for unknown in ["", "usd", "XXX", "BTC", "US"] {
            assert_eq!(Currency::from_code(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn each_currency_has_its_own_decimals() {
        for (code, text, minor) in [
            ("USD", "10.00", 1_000),
            ("USD", "10", 1_000),
            ("JPY", "1500.00", 1_500),
            ("JPY", "1500", 1_500),
            ("KWD", "0.001", 1),
        ] {
            assert_eq!(currency(code).parse_minor(text), Ok(minor), "{code} {text}");
        }
        assert_eq!(currency("USD").parse_minor("0.001"), Err(AmountError::TooManyDecimals(2)));
        assert_eq!(currency("JPY").parse_minor("1.5"), Err(AmountError::NoDecimals));
        assert_eq!(currency("USD").parse_minor("0"), Err(AmountError::NotPositive));
    }

    #[test]
    fn a_sum_above_the_greatest_is_too_large_in_each_currency() {
        for code in ["USD", "JPY", "KWD"] {
            let most = currency(code).parse_minor("1000000000000000").unwrap();
            assert_eq!(most, MAX_UNITS * 10_i64.pow(u32::from(currency(code).minor_units)));
            assert_eq!(currency(code).parse_minor("1000000000000001"), Err(AmountError::TooLarge));
        }
        assert_eq!(Currency::parse_thousandths("1000000000000000.001"), Err(AmountError::TooLarge));
    }

    #[test]
    fn sums_of_all_currencies_compare_by_their_thousandths() {
        for (code, minor) in [("USD", 1_050), ("JPY", 1_050), ("KWD", 1_050)] {
            let currency = currency(code);
            let shown = currency.format_minor(minor);
            assert_eq!(
                Currency::parse_thousandths(&shown),
                Ok(currency.thousandths(minor)),
                "{shown}"
            );
        }
        assert!(Currency::ALL.iter().all(|currency| currency.minor_units <= THOUSANDTHS_DECIMALS));
        assert_eq!(Currency::parse_thousandths("10.5"), Currency::parse_thousandths("10.500"));
        assert_eq!(Currency::parse_thousandths("0.0001"), Err(AmountError::TooManyDecimals(3)));
        assert_eq!(currency("JPY").thousandths(i64::MAX), i64::MAX);
    }

    #[test]
    fn amounts_are_shown_with_all_their_decimals() {
        for (code, minor, text) in [
            ("USD", 1_000, "10.00"),
            ("JPY", 1_500, "1500"),
            ("USD", -1, "-0.01"),
            ("JPY", -5, "-5"),
            ("BHD", 1, "0.001"),
            ("EUR", 0, "0.00"),
        ] {
            assert_eq!(currency(code).format_minor(minor), text);
        }
    }

    proptest! {
        #[test]
        fn every_currency_reads_back_what_it_shows(index in 0..Currency::ALL.len(), minor in 1..=MAX_UNITS) {
            let currency = Currency::ALL[index];
            prop_assert_eq!(currency.parse_minor(&currency.format_minor(minor)), Ok(minor));
        }
    }
}
