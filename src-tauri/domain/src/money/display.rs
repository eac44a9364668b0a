//! Sums and rates for people: with a comma between thousands, and without needless zeros. Texts
//! that a program reads or a customer copies are not written here.

use super::bitcoin::format_btc_signed;
use super::currency::Currency;
use super::rate::Rate;

/// Least decimals of a rate that is not whole; prices are read in hundredths.
const RATE_DECIMALS_MIN: usize = 2;

/// Satoshis as Bitcoin: `1,234.50000000`.
#[must_use]
pub fn show_btc(sats: i64) -> String {
    with_thousands(&format_btc_signed(sats))
}

impl Currency {
    /// Minor units: `1,234.50`, JPY `1,500`.
    #[must_use]
    pub fn show_minor(&self, minor: i64) -> String {
        with_thousands(&self.format_minor(minor))
    }
}

impl Rate {
    /// The rate without needless zeros: `65,000`, `64,210.50`, `0.0123`.
    #[must_use]
    pub fn show(&self) -> String {
        let plain = self.format();
        let (whole, decimals) = plain.split_once('.').unwrap_or((&plain, ""));
        let significant = decimals.trim_end_matches('0').len();
        let length = if significant == 0 { 0 } else { significant.max(RATE_DECIMALS_MIN) };
        match decimals.get(..length) {
            Some(decimals) if length > 0 => with_thousands(&format!("{whole}.{decimals}")),
            _ => with_thousands(whole),
        }
    }
}

/// A plain decimal number with a comma between each three digits before the point.
fn with_thousands(plain: &str) -> String {
    let (whole, decimals) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let digits = whole.trim_start_matches('-');
    let mut shown = whole[..whole.len() - digits.len()].to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown + decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_and_nothing_else_changes() {
        for (sats, shown) in [
            (0, "0.00000000"),
            (-1, "-0.00000001"),
            (99_999_999_999, "999.99999999"),
            (100_000_000_000, "1,000.00000000"),
            (-123_456_789_012_345, "-1,234,567.89012345"),
        ] {
            assert_eq!(show_btc(sats), shown);
        }
        for (code, minor, shown) in [
            ("USD", 99_999, "999.99"),
            ("USD", 2_490_000, "24,900.00"),
            ("JPY", 1_500, "1,500"),
            ("JPY", -1_234_567, "-1,234,567"),
            ("KWD", 1_000_001, "1,000.001"),
        ] {
            assert_eq!(Currency::from_code(code).unwrap().show_minor(minor), shown, "{code}");
        }
    }

    #[test]
    fn rates_have_no_needless_zeros() {
        for (rate, shown) in [
            ("65000", "65,000"),
            ("64210.5", "64,210.50"),
            ("64210.55", "64,210.55"),
            ("64210.1234", "64,210.1234"),
            ("9500000.001", "9,500,000.001"),
            ("0.0123", "0.0123"),
            ("100", "100"),
        ] {
            assert_eq!(Rate::parse(rate).unwrap().show(), shown);
        }
    }
}
