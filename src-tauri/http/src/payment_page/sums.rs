//! Sums as the page's language writes them, such as `1.234,50 EUR` in German. Portuguese is
//! Brazil's.

use fixed_decimal::Decimal;
use icu_decimal::DecimalFormatter;
use icu_locale_core::Locale;
use tillgate_domain::money::{Currency, format_btc};

use super::texts::Texts;

/// A sum of money, with the code of its currency.
pub fn fiat(minor: i64, currency: Currency, texts: &Texts) -> String {
    format!("{} {}", in_form(currency.format_minor(minor), texts), currency.code())
}

/// An amount of Bitcoin, without its unit. The amount that a customer copies has a point instead:
/// wallets read that.
pub fn btc(sats: u64, texts: &Texts) -> String {
    in_form(format_btc(sats), texts)
}

/// A number such as `1234.50` with the language's marks. All its decimals stay.
fn in_form(number: String, texts: &Texts) -> String {
    let Ok(locale) = Locale::try_from_str(texts.lang) else { return number };
    match (
        Decimal::try_from_str(&number),
        DecimalFormatter::try_new(locale.into(), Default::default()),
    ) {
        (Ok(decimal), Ok(formatter)) => formatter.format(&decimal).to_string(),
        (Err(_), _) | (_, Err(_)) => number,
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::LANGUAGES;
    use super::*;

    #[test]
    fn sums_have_the_marks_of_the_readers_language() {
        let currency = |code| Currency::from_code(code).unwrap();
        let all = |minor, code| LANGUAGES.map(|texts| fiat(minor, currency(code), texts));
        let us = "1,234,567.50 USD";
        let narrow = "1\u{202f}234\u{202f}567,50 USD";
        assert_eq!(
            all(123_456_750, "USD"),
            [us, "1.234.567,50 USD", narrow, "1.234.567,50 USD", "1.234.567,50 USD", us]
        );
        assert_eq!(all(1_500, "JPY")[..2], ["1,500 JPY", "1.500 JPY"]);
        assert_eq!(all(1_234, "KWD")[..2], ["1.234 KWD", "1,234 KWD"]);
        assert_eq!(all(150_000, "EUR")[3], "1500,00 EUR", "Spanish groups five digits and more");
    }

    #[test]
    fn bitcoin_keeps_its_eight_decimals() {
        assert_eq!(
            LANGUAGES.map(|texts| btc(120_000_000_000, texts))[..2],
            ["1,200.00000000", "1.200,00000000"]
        );
        assert_eq!(LANGUAGES.map(|texts| btc(294, texts))[..2], ["0.00000294", "0,00000294"]);
    }
}
