//! Amounts of Bitcoin.

use super::error::AmountError;
use super::number::{Number, format_scaled};

/// Satoshis in one Bitcoin.
pub const SATS_PER_BTC: u64 = 100_000_000;

/// All Bitcoin there can ever be (21,000,000 BTC), the upper bound of every amount read.
pub const MAX_SATS: u64 = 21_000_000 * SATS_PER_BTC;

/// Decimals of an amount in Bitcoin.
const BTC_DECIMALS: u8 = 8;

/// Reads an amount of Bitcoin into satoshis; exact, never rounded; more than 0, at most 21,000,000
/// BTC.
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
