//! Tests of each source's function from text to quotes, with real or documented answers.

use proptest::prelude::*;

use super::super::answer::Quoted;
use super::super::{SITES, Site, bitstamp, coinbase, coingecko, kraken, mempool};
use super::support::currencies;

const KRAKEN: &str = include_str!("../fixtures/kraken.json");
const KRAKEN_ERROR: &str = include_str!("../fixtures/kraken-error.json");
const COINBASE: &str = include_str!("../fixtures/coinbase.json");
const BITSTAMP: &str = include_str!("../fixtures/bitstamp.json");
const BITSTAMP_2026: &str = include_str!("../fixtures/bitstamp-2026.json");
const COINGECKO: &str = include_str!("../fixtures/coingecko.json");
const MEMPOOL: &str = include_str!("../fixtures/mempool.json");

/// The quotes read for these currencies: code, price, time in seconds.
fn quotes(
    site: &Site,
    text: &str,
    codes: &[&str],
) -> Result<Vec<(String, String, Option<i64>)>, String> {
    let quotes = (site.parse)(text, &currencies(codes)).map_err(|error| error.to_string())?;
    let shown = |quote: Quoted| {
        let at = quote.at.map(|at| at.ms() / 1_000);
        (quote.currency.code().to_owned(), quote.price.normalize().to_string(), at)
    };
    Ok(quotes.into_iter().map(shown).collect())
}

fn quote(code: &str, price: &str, at: Option<i64>) -> (String, String, Option<i64>) {
    (code.to_owned(), price.to_owned(), at)
}

#[test]
fn krakens_answer_is_read_as_the_middle_between_bid_and_ask() {
    assert_eq!(
        quotes(&kraken::SITE, KRAKEN, &["USD", "EUR", "GBP"]),
        Ok(vec![quote("USD", "27712.05", None), quote("EUR", "727.5785", None)]),
        "a market that the answer lacks has no quote"
    );
    assert!(
        quotes(&kraken::SITE, KRAKEN_ERROR, &["USD"])
            .unwrap_err()
            .contains("EQuery:Unknown asset pair")
    );
}

#[test]
fn coinbases_answer_is_read_in_the_wanted_currencies_only() {
    assert_eq!(
        quotes(&coinbase::SITE, COINBASE, &["USD", "JPY", "ZAR"]),
        Ok(vec![
            quote("USD", "4360.6", None),
            quote("JPY", "472848", None),
            quote("ZAR", "56943.87", None)
        ])
    );
    assert!(
        quotes(&coinbase::SITE, r#"{"data":{"currency":"ETH","rates":{"USD":"1"}}}"#, &["USD"])
            .is_err()
    );
}

#[test]
fn bitstamps_list_is_read_for_its_markets_of_bitcoin() {
    assert_eq!(
        quotes(&bitstamp::SITE, BITSTAMP, &["USD", "EUR"]),
        Ok(vec![quote("USD", "26209.5", Some(1_686_068_944))])
    );
    assert_eq!(
        quotes(&bitstamp::SITE, BITSTAMP_2026, &["USD"]),
        Ok(vec![quote("USD", "85052.335", Some(1_790_515_990))])
    );
    let twice = format!("[{0},{0}]", BITSTAMP_2026.trim().trim_matches(['[', ']']));
    assert!(quotes(&bitstamp::SITE, &twice, &["USD"]).unwrap_err().contains("twice"));
}

#[test]
fn coingeckos_answer_is_read_with_its_time() {
    let answer = Ok(vec![quote("USD", "67187.3358936566", Some(1_711_356_300))]);
    assert_eq!(quotes(&coingecko::SITE, COINGECKO, &["USD", "EUR"]), answer);
    let null = COINGECKO.replace("67187.3358936566", "null");
    assert_eq!(
        quotes(&coingecko::SITE, &null, &["USD"]),
        Ok(Vec::new()),
        "null means no price, and is no error"
    );
}

#[test]
fn mempools_answer_is_read_and_minus_one_is_no_price() {
    let without_euros = MEMPOOL.replace("40545", "-1");
    assert_eq!(
        quotes(&mempool::SITE, &without_euros, &["USD", "EUR", "JPY", "ZAR"]),
        Ok(vec![
            quote("USD", "43753", Some(1_703_252_411)),
            quote("JPY", "6218915", Some(1_703_252_411))
        ])
    );
}

/// For each site: an answer, the digits of one price in it, the price's currency, and whether the
/// price is a string.
const PRICES: [(&Site, &str, &str, &str, bool); 5] = [
    (&kraken::SITE, KRAKEN, "27712.00000", "USD", true),
    (&coinbase::SITE, COINBASE, "3645.16", "EUR", true),
    (&bitstamp::SITE, BITSTAMP_2026, "85052.33", "USD", true),
    (&coingecko::SITE, COINGECKO, "67187.3358936566", "USD", false),
    (&mempool::SITE, MEMPOOL, "43753", "USD", false),
];

#[test]
fn an_invalid_price_is_never_read() {
    for (site, text, digits, code, is_string) in PRICES {
        let written = if is_string { format!("\"{digits}\"") } else { digits.to_owned() };
        assert_eq!(text.matches(&written).count(), 1, "{}", site.name);
        assert_eq!(quotes(site, text, &[code]).unwrap().len(), 1);
        for other in [
            "0",
            "0.0",
            "-1.5",
            "1e5",
            "NaN",
            "Infinity",
            "",
            "5 5",
            "1,000",
            "99999999999999999999",
            "0.5",
            "true",
        ] {
            let read = quotes(site, &text.replace(digits, other), &[code]);
            assert!(read.is_err(), "{} takes {other:?} for {read:?}", site.name);
        }
        let other_type = if is_string { digits.to_owned() } else { format!("\"{digits}\"") };
        for other in [other_type.as_str(), "[5]", "{}", "[]", "{\"a\":5}", "true"] {
            let read = quotes(site, &text.replace(&written, other), &[code]);
            assert!(read.is_err(), "{} takes {other} for {read:?}", site.name);
        }
    }
}

#[test]
fn an_answer_of_another_form_is_refused_as_a_whole() {
    let deep = "[".repeat(100_000);
    let broken = [
        "",
        "null",
        "1",
        "\"\"",
        "<!DOCTYPE html><html><body>Maintenance</body></html>",
        "{",
        "{}",
        "[{}]",
        "[[]]",
        "{}x",
        "\u{feff}{}",
        r#"{"error":[],"result":[]}"#,
        r#"{"data":null}"#,
        r#"{"bitcoin":[]}"#,
        r#"{"time":"now"}"#,
        r#"{"USD":1,"USD":2}"#,
        &deep,
    ];
    for site in SITES {
        for text in broken {
            assert!(quotes(site, text, &["USD"]).is_err(), "{} takes {text:.40}", site.name);
        }
    }
    let without_time = MEMPOOL.replace("time", "date");
    assert!(
        quotes(&mempool::SITE, &without_time, &["USD"]).is_err(),
        "a price without its time is refused"
    );
    for (site, text, time) in [
        (&mempool::SITE, MEMPOOL, "1703252411"),
        (&coingecko::SITE, COINGECKO, "1711356300"),
        (&bitstamp::SITE, BITSTAMP, "1686068944"),
    ] {
        for other in ["-1", "1e9", "99999999999", "1.5", "null"] {
            assert!(
                quotes(site, &text.replacen(time, other, 1), &["USD"]).is_err(),
                "{}: {other}",
                site.name
            );
        }
    }
}

#[test]
fn an_answer_that_is_cut_off_anywhere_is_refused() {
    for (site, text, ..) in PRICES {
        let text = text.trim_end();
        for end in (0..text.len()).step_by(7).filter(|end| text.is_char_boundary(*end)) {
            assert!(quotes(site, &text[..end], &["USD"]).is_err(), "{} up to {end}", site.name);
        }
    }
}

#[test]
fn a_site_is_asked_only_for_its_currencies() {
    let asked = |site: &Site, codes: &[&str]| (site.path)(&currencies(codes));
    assert_eq!(
        asked(&kraken::SITE, &["USD", "ZAR", "AUD"]).as_deref(),
        Some("/0/public/Ticker?pair=XBTUSD,XBTAUD")
    );
    for site in [&kraken::SITE, &bitstamp::SITE, &mempool::SITE] {
        assert_eq!(asked(site, &["ZAR"]), None, "{}", site.name);
    }
    assert_eq!(asked(&bitstamp::SITE, &["JPY", "GBP"]).as_deref(), Some("/api/v2/ticker/"));
    assert!(asked(&coingecko::SITE, &["ZAR", "USD"]).unwrap().contains("vs_currencies=zar,usd&"));
}

#[test]
fn sites_are_asked_only_over_tls() {
    for site in SITES {
        assert!(site.base.starts_with("https://") && !site.base.ends_with('/'), "{}", site.base);
    }
}

proptest! {
    #[test]
    fn a_damaged_answer_is_refused_or_holds_valid_prices(
        which in 0..PRICES.len(), at in any::<prop::sample::Index>(), put in "\\PC{0,3}",
    ) {
        let (site, text, _, code, _) = PRICES[which];
        let mut changed = text.to_owned();
        let at = at.index(text.len());
        changed.replace_range(at..=at, &put);
        for quote in (site.parse)(&changed, &currencies(&[code])).unwrap_or_default() {
            prop_assert!(quote.price >= 1.into() && quote.price < 10_000_000_000_000_i64.into(), "{changed}");
        }
    }
}
