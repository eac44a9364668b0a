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
        of("AED", 2),
        of("ARS", 2),
        of("AUD", 2),
        of("BDT", 2),
        of("BGN", 2),
        of("BHD", 3),
        of("BRL", 2),
        of("CAD", 2),
        of("CHF", 2),
        of("CLP", 0),
        of("CNY", 2),
        of("COP", 2),
        of("CRC", 2),
        of("CZK", 2),
        of("DKK", 2),
        of("DOP", 2),
        of("EGP", 2),
        of("EUR", 2),
        of("GBP", 2),
        of("GEL", 2),
        of("GTQ", 2),
        of("HKD", 2),
        of("HUF", 2),
        of("IDR", 2),
        of("ILS", 2),
        of("INR", 2),
        of("ISK", 0),
        of("JOD", 3),
        of("JPY", 0),
        of("KES", 2),
        of("KRW", 0),
        of("KWD", 3),
        of("KZT", 2),
        of("LKR", 2),
        of("MAD", 2),
        of("MXN", 2),
        of("MYR", 2),
        of("NGN", 2),
        of("NOK", 2),
        of("NZD", 2),
        of("OMR", 3),
        of("PEN", 2),
        of("PHP", 2),
        of("PKR", 2),
        of("PLN", 2),
        of("PYG", 0),
        of("QAR", 2),
        of("RON", 2),
        of("RSD", 2),
        of("SAR", 2),
        of("SEK", 2),
        of("SGD", 2),
        of("THB", 2),
        of("TND", 3),
        of("TRY", 2),
        of("TWD", 2),
        of("UAH", 2),
        of("UGX", 0),
        of("USD", 2),
        of("UYU", 2),
        of("VND", 0),
        of("XAF", 0),
        of("XOF", 0),
        of("ZAR", 2),
    ];

    /// The US dollar, in which confirmation tiers are measured.
    pub const USD: Self = of("USD", 2);

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

const fn of(code: &'static str, minor_units: u8) -> Currency {
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
