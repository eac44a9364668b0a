//! Reads a price as a source writes it. A text is refused unless it is a plain number in the range
//! of real prices.

use rust_decimal::Decimal;

/// Most digits before the point: a Bitcoin costs some 10^9 units of the cheapest currency in use.
const WHOLE_DIGITS_MAX: usize = 13;

/// Most digits after the point; more carry no meaning. [`parse_price`] also refuses a text with
/// more digits than a [`Decimal`] holds exactly.
const DECIMALS_MAX: usize = 20;

/// A market whose best bid and ask are further apart gives no price.
const APART_MAX_PER_CENT: i64 = 5;

/// Why a text is not a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum NotAPrice {
    /// Not digits, with or without a fraction.
    #[error("is not a plain decimal number")]
    NotPlain,
    /// Below 1, or above the range of any currency.
    #[error("is no price that one Bitcoin could have")]
    Absurd,
}

/// Reads a price such as `64210.55`: digits, optionally a point and digits; no sign, exponent or
/// blanks. Exact, never rounded; from 1 to 9,999,999,999,999.
///
/// # Errors
/// The fault of the text.
pub fn parse_price(text: &str) -> Result<Decimal, NotAPrice> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
        Some(_) => return Err(NotAPrice::NotPlain),
        None => (text, ""),
    };
    if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
        return Err(NotAPrice::NotPlain);
    }
    if whole.len() > WHOLE_DIGITS_MAX || fraction.len() > DECIMALS_MAX {
        return Err(NotAPrice::Absurd);
    }
    let price = Decimal::from_str_exact(text).map_err(|_| NotAPrice::Absurd)?;
    if price < Decimal::ONE { Err(NotAPrice::Absurd) } else { Ok(price) }
}

/// The middle between the best bid and the best ask, exact. `None` if they are crossed or too far
/// apart, as in a market without trade.
#[must_use]
pub fn mid_price(bid: Decimal, ask: Decimal) -> Option<Decimal> {
    let apart =
        ask.checked_sub(bid).filter(|apart| !apart.is_sign_negative() || apart.is_zero())?;
    let bound = bid.checked_mul(Decimal::new(APART_MAX_PER_CENT, 2))?;
    if apart > bound {
        return None;
    }
    bid.checked_add(apart.checked_div(Decimal::TWO)?)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_price_is_read_exactly() {
        for text in
            ["1", "64210.55", "67187.3358936566", "9999999999999", "1.00000000000000", "472848"]
        {
            assert_eq!(parse_price(text).map(|price| price.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_text_that_is_no_plain_number_is_no_price() {
        for text in [
            "", " 1", "1 ", "+1", "-1", "-0", "1e5", "6.5E4", "NaN", "Infinity", "inf", "null",
            "0x10", "1,000", "1_000", ".5", "5.", "1.2.3", "01", "٣", "<html>", "1\n",
        ] {
            assert_eq!(parse_price(text), Err(NotAPrice::NotPlain), "{text:?}");
        }
        for text in [
            "0",
            "0.00",
            "0.99999999",
            "10000000000000",
            "99999999999999999999999999999999",
            "1.000000000000000000001",
        ] {
            assert_eq!(parse_price(text), Err(NotAPrice::Absurd), "{text:?}");
        }
    }

    #[test]
    fn a_crossed_or_wide_market_gives_no_price() {
        let mid = |bid: &str, ask: &str| {
            mid_price(bid.parse().unwrap(), ask.parse().unwrap())
                .map(|mid| mid.normalize().to_string())
        };
        assert_eq!(mid("66437.30000", "66437.40000").as_deref(), Some("66437.35"));
        assert_eq!(mid("100", "100").as_deref(), Some("100"));
        assert_eq!(mid("100", "105").as_deref(), Some("102.5"));
        assert_eq!(mid("100", "105.01"), None);
        assert_eq!(mid("100", "99.99"), None);
    }

    proptest! {
        #[test]
        fn a_price_is_read_exactly_as_written(text in "[0-9.eE+\\-]{0,20}|\\PC{0,12}") {
            if let Ok(price) = parse_price(&text) {
                prop_assert!(price >= Decimal::ONE);
                prop_assert_eq!(price.to_string(), text);
            }
        }

        #[test]
        fn the_mid_price_lies_between_bid_and_ask(bid in 1_i64..1_000_000_000, apart in 0_i64..1_000_000_000) {
            let (bid, ask) = (Decimal::new(bid, 2), Decimal::new(bid + apart, 2));
            if let Some(mid) = mid_price(bid, ask) {
                prop_assert!(bid <= mid && mid <= ask);
                prop_assert!(ask <= bid * Decimal::new(105, 2));
            }
        }
    }
}
