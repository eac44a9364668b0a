//! Reads a price as a person types it: `10,00` and `10.00`, `1,234.50` and `1.234,50`. A text that
//! could mean two prices is refused. Prices from programs are plain decimals and are not read here.

use super::currency::Currency;

/// Digits between two thousands separators.
const GROUP: usize = 3;

/// A price that could be read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("could mean two prices: write it without marks between thousands, like 1234.50")]
pub struct Ambiguous;

impl Currency {
    /// The typed price as a plain decimal number with a point. A text that is not a number is
    /// returned as it is; the parser refuses it later.
    ///
    /// # Errors
    /// [`Ambiguous`] if a separator may stand for the decimals or for thousands.
    pub fn plain_amount(&self, typed: &str) -> Result<String, Ambiguous> {
        let typed = typed.trim();
        let text: String =
            typed.chars().filter(|it| !it.is_whitespace() && !matches!(it, '\'' | '’')).collect();
        let Some(last) = text.rfind(['.', ',']) else { return Ok(text) };
        if !text.chars().all(|it| it.is_ascii_digit() || matches!(it, '.' | ',')) {
            return Ok(typed.to_owned());
        }
        let (whole, decimals) = (&text[..last], &text[last + 1..]);
        let mark = if text[last..].starts_with('.') { '.' } else { ',' };
        let other = if mark == '.' { ',' } else { '.' };
        if whole.contains(mark) {
            // A separator that occurs more than once separates thousands.
            return match is_grouped(&text, mark) {
                true => Ok(text.replace(mark, "")),
                false => Err(Ambiguous),
            };
        }
        if whole.contains(other) {
            return match is_grouped(whole, other) {
                true => Ok(format!("{}.{decimals}", whole.replace(other, ""))),
                false => Err(Ambiguous),
            };
        }
        let may_be_thousands =
            decimals.len() == GROUP && (1..=GROUP).contains(&whole.len()) && whole != "0";
        if may_be_thousands && usize::from(self.minor_units()) < GROUP {
            return Err(Ambiguous);
        }
        Ok(format!("{whole}.{decimals}"))
    }
}

/// Whether `mark` separates groups of three digits; the first group may be shorter.
fn is_grouped(text: &str, mark: char) -> bool {
    let mut groups = text.split(mark);
    let first = groups.next().unwrap_or_default();
    let all_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    (1..=GROUP).contains(&first.len())
        && all_digits(first)
        && groups.all(|group| group.len() == GROUP && all_digits(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(code: &str, typed: &str) -> Result<String, Ambiguous> {
        Currency::from_code(code).unwrap().plain_amount(typed)
    }

    #[test]
    fn both_decimal_marks_and_marked_thousands_are_read() {
        for (typed, read) in [
            ("10", "10"),
            (" 10.00 ", "10.00"),
            ("10,00", "10.00"),
            ("10,5", "10.5"),
            ("0,005", "0.005"),
            ("1234,50", "1234.50"),
            ("1,234.50", "1234.50"),
            ("1.234,50", "1234.50"),
            ("1 234,50", "1234.50"),
            ("1'234.50", "1234.50"),
            ("1,234,567", "1234567"),
            ("1234.567", "1234.567"),
        ] {
            assert_eq!(plain("USD", typed).as_deref(), Ok(read), "{typed}");
        }
        assert_eq!(plain("KWD", "1.234").as_deref(), Ok("1.234"), "a currency with three decimals");
    }

    #[test]
    fn a_price_with_two_possible_meanings_is_refused() {
        for (code, typed) in [
            ("JPY", "1,500"),
            ("USD", "1.000"),
            ("USD", "1,000"),
            ("USD", "12,34,56"),
            ("USD", "1,23.45"),
            ("USD", "1,234,5"),
        ] {
            assert_eq!(plain(code, typed), Err(Ambiguous), "{typed}");
        }
    }

    #[test]
    fn a_text_that_is_no_number_is_returned_as_it_is() {
        for typed in ["ten", "10.00 EUR", "-1.5", "", "1e3.5"] {
            assert_eq!(plain("USD", typed).as_deref(), Ok(typed), "{typed}");
        }
    }
}
