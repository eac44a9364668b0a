//! Bitcoin and fiat amounts, and how they are read and written.
//!
//! Bitcoin is counted in whole satoshis and fiat in whole minor units; reading is exact and never rounds. Every
//! rounding between the two is in [`Rate`] and [`paid_minor`], with its direction named. There are no floating point
//! numbers.

mod currency;
mod number;
mod rate;
mod shown;
mod typed;

pub use currency::Currency;
pub use rate::{Rate, paid_minor, usd_equivalent};
pub use shown::show_btc;
pub use typed::Ambiguous;

use number::Number;

/// Satoshis in one Bitcoin.
pub const SATS_PER_BTC: u64 = 100_000_000;

/// All Bitcoin there can ever be (21,000,000 BTC), the upper bound of every amount read.
pub const MAX_SATS: u64 = 21_000_000 * SATS_PER_BTC;

/// Decimals of an amount in Bitcoin.
const BTC_DECIMALS: u8 = 8;

/// Why a text is not an amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not a plain positive decimal number.
    #[error("must be a decimal number with a point and no comma, like 10.00, or 0.001 in Bitcoin")]
    NotANumber,
    /// Zero or less.
    #[error("must be more than 0")]
    NotPositive,
    /// More decimals than the currency has.
    #[error("{}", decimals(*.0))]
    TooManyDecimals(u8),
    /// More than can be handled.
    #[error("is too large")]
    TooLarge,
}

fn decimals(most: u8) -> String {
    if most == 0 { "may have no decimals".to_owned() } else { format!("may have at most {most} decimals") }
}

/// Reads an amount of Bitcoin into satoshis; exact, never rounded; more than 0, at most 21,000,000 BTC.
///
/// # Errors
/// The fault of the text.
pub fn parse_btc(text: &str) -> Result<u64, AmountError> {
    let sats = Number::parse(text)?.scaled(BTC_DECIMALS)?.unsigned_abs();
    if sats > MAX_SATS { Err(AmountError::TooLarge) } else { Ok(sats) }
}

/// Satoshis as Bitcoin, with exactly 8 decimals.
#[must_use]
pub fn format_btc(sats: u64) -> String {
    format_btc_signed(i64::try_from(sats).unwrap_or(i64::MAX))
}

/// Signed satoshis as Bitcoin, with exactly 8 decimals.
#[must_use]
pub fn format_btc_signed(sats: i64) -> String {
    format_scaled(sats, BTC_DECIMALS)
}

/// Plain decimal notation of `value` units, `decimals` of its digits after the point.
fn format_scaled(value: i64, decimals: u8) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let digits = value.unsigned_abs();
    if decimals == 0 {
        return format!("{sign}{digits}");
    }
    let one = 10_u64.pow(u32::from(decimals));
    format!("{sign}{}.{:0width$}", digits / one, digits % one, width = usize::from(decimals))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bitcoin_is_read_exactly() {
        for (text, sats) in [
            ("1", 100_000_000),
            ("0.03444190", 3_444_190),
            ("0.00000001", 1),
            ("1e-8", 1),
            ("1.000000000000", 100_000_000),
            ("21000000", MAX_SATS),
            ("2.1E+7", MAX_SATS),
        ] {
            assert_eq!(parse_btc(text), Ok(sats), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_amount_of_bitcoin_is_refused_by_name() {
        for (text, error) in [
            ("0", AmountError::NotPositive),
            ("-1", AmountError::NotPositive),
            ("0.000000001", AmountError::TooManyDecimals(8)),
            ("21000000.00000001", AmountError::TooLarge),
            ("1e400", AmountError::TooLarge),
            ("NaN", AmountError::NotANumber),
        ] {
            assert_eq!(parse_btc(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_currency_without_decimals_is_told_so() {
        assert_eq!(AmountError::TooManyDecimals(0).to_string(), "may have no decimals");
        assert_eq!(AmountError::TooManyDecimals(2).to_string(), "may have at most 2 decimals");
    }

    #[test]
    fn bitcoin_is_shown_with_eight_decimals() {
        assert_eq!(format_btc(3_444_190), "0.03444190");
        assert_eq!(format_btc(0), "0.00000000");
        assert_eq!(format_btc(MAX_SATS), "21000000.00000000");
        assert_eq!(format_btc_signed(-1), "-0.00000001");
        assert_eq!(format_btc_signed(i64::MIN), "-92233720368.54775808");
    }

    proptest! {
        #[test]
        fn bitcoin_reads_back_as_shown(sats in 1..=MAX_SATS) {
            prop_assert_eq!(parse_btc(&format_btc(sats)), Ok(sats));
        }
    }
}
