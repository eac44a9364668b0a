//! Reading a JSON number's text exactly, before any currency gives it a scale.

use rust_decimal::Decimal;

use super::error::AmountError;

/// More significant digits than any amount or rate can have.
const MAX_DIGITS: usize = 28;

/// Decimals that a [`Decimal`] can hold.
const MAX_DECIMALS: u8 = 28;

/// Larger exponents are out of range with any digits; the bound keeps exponent arithmetic far from
/// overflow.
const MAX_EXPONENT: i64 = 1_000_000;

/// A positive number: `digits` times ten to the `exponent`, without zeros at either end of the
/// digits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Number {
    digits: String,
    exponent: i64,
}

impl Number {
    /// Reads a text in the grammar of a JSON number (RFC 8259).
    pub(super) fn parse(text: &str) -> Result<Self, AmountError> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, power) = match rest.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, Some(power)),
            None => (rest, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
            Some(_) => return Err(AmountError::NotANumber),
            None => (mantissa, ""),
        };
        if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
            return Err(AmountError::NotANumber);
        }
        let power = power.map_or(Ok(0), exponent)?;

        let all = format!("{whole}{fraction}");
        let without_tail = all.trim_end_matches('0');
        let digits = without_tail.trim_start_matches('0');
        if digits.is_empty() || negative {
            return Err(AmountError::NotPositive);
        }
        let cut = length(all.len() - without_tail.len());
        Ok(Self { digits: digits.to_owned(), exponent: power - length(fraction.len()) + cut })
    }

    /// The number as a count of units, `decimals` of its digits after the point; exact.
    pub(super) fn scaled(&self, decimals: u8) -> Result<i64, AmountError> {
        let zeros = self.exponent + i64::from(decimals);
        if zeros < 0 {
            // A number that is too large and too fine is called too large: the user must mend that
            // first.
            let whole_digits = length(self.digits.len()) + self.exponent;
            let too_large = whole_digits > 19 - i64::from(decimals);
            return Err(if too_large {
                AmountError::TooLarge
            } else {
                AmountError::too_many_decimals(decimals)
            });
        }
        let zeros = u32::try_from(zeros).map_err(|_| AmountError::TooLarge)?;
        let digits = self.digits.parse::<i64>().map_err(|_| AmountError::TooLarge)?;
        let power = 10_i64.checked_pow(zeros).ok_or(AmountError::TooLarge)?;
        digits.checked_mul(power).ok_or(AmountError::TooLarge)
    }

    /// The number as a decimal; exact, so that a text finer than 28 decimals is refused.
    pub(super) fn decimal(&self) -> Result<Decimal, AmountError> {
        if self.digits.len() > MAX_DIGITS {
            return Err(AmountError::TooLarge);
        }
        let digits = self.digits.parse::<i128>().map_err(|_| AmountError::TooLarge)?;
        if let Ok(zeros) = u32::try_from(self.exponent) {
            let power = 10_i128.checked_pow(zeros).ok_or(AmountError::TooLarge)?;
            let value = digits.checked_mul(power).ok_or(AmountError::TooLarge)?;
            return Decimal::try_from_i128_with_scale(value, 0).map_err(|_| AmountError::TooLarge);
        }
        let scale = u32::try_from(-self.exponent).map_err(|_| AmountError::TooLarge)?;
        if scale > u32::from(MAX_DECIMALS) {
            return Err(AmountError::TooManyDecimals(MAX_DECIMALS));
        }
        Decimal::try_from_i128_with_scale(digits, scale).map_err(|_| AmountError::TooLarge)
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The exponent's value, limited to the bound.
fn exponent(text: &str) -> Result<i64, AmountError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !is_digits(digits) {
        return Err(AmountError::NotANumber);
    }
    let size = digits.parse::<i64>().unwrap_or(MAX_EXPONENT).min(MAX_EXPONENT);
    Ok(if negative { -size } else { size })
}

/// The length as `i64`. A text in memory is never too long for it.
fn length(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX / 4)
}

/// Plain decimal notation of `value` units, `decimals` of its digits after the point.
pub(super) fn format_scaled(value: i64, decimals: u8) -> String {
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
    use super::*;

    #[test]
    fn only_the_grammar_of_json_is_a_number() {
        for text in [
            "", "-", "+1", ".5", "5.", "01", "1,5", "1 ", " 1", "1e", "1e+", "e5", "0x10", "1_000",
            "NaN", "Infinity", "١", "1.5.2", "--1", "1e1.5",
        ] {
            assert_eq!(Number::parse(text), Err(AmountError::NotANumber), "{text:?}");
        }
    }

    #[test]
    fn zero_and_negative_numbers_are_no_amounts() {
        for text in ["0", "-0", "0.000", "0e400", "-1", "-1e400", "0e-99999999999999999999"] {
            assert_eq!(Number::parse(text), Err(AmountError::NotPositive), "{text:?}");
        }
    }

    #[test]
    fn exponents_and_trailing_zeros_are_exact() {
        for (text, cents) in [
            ("1e2", 10_000),
            ("1.5E1", 1_500),
            ("150e-2", 150),
            ("1.5000000000", 150),
            ("10", 1_000),
            ("0.01", 1),
        ] {
            assert_eq!(Number::parse(text).unwrap().scaled(2), Ok(cents), "{text}");
        }
    }

    #[test]
    fn numbers_beyond_the_range_are_named() {
        for (text, error) in [
            ("1e400", AmountError::TooLarge),
            ("1e99999999999999999999", AmountError::TooLarge),
            ("123456789012345678901234567890", AmountError::TooLarge),
            ("123456789012345678901234567890.123", AmountError::TooLarge),
            ("92233720368547758.08", AmountError::TooLarge),
            ("0.001", AmountError::TooManyDecimals(2)),
            ("1e-400", AmountError::TooManyDecimals(2)),
        ] {
            assert_eq!(Number::parse(text).unwrap().scaled(2), Err(error), "{text}");
        }
        assert_eq!(Number::parse("92233720368547758.07").unwrap().scaled(2), Ok(i64::MAX));
    }
}
