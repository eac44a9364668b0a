//! What several sources' quotes for one currency amount to. Pure.

use rust_decimal::Decimal;
use tillgate_domain::time::Timestamp;

/// A source that strays further from the median is left out.
const STRAY_MAX_PER_CENT: i64 = 5;

/// One source's quote for one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quote {
    pub source: &'static str,
    /// Units for one Bitcoin, positive.
    pub price: Decimal,
    pub at: Timestamp,
}

/// What the fresh quotes amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Combined {
    pub median: Decimal,
    /// Those that the median is made of.
    pub used: Vec<Quote>,
    /// Those that stray too far.
    pub strays: Vec<Quote>,
}

/// Why fresh quotes give no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoRate {
    #[error("no source has a fresh quote")]
    NoFreshQuote,
    #[error("only {fresh} of the {wanted} sources wanted have a fresh quote")]
    TooFew { fresh: usize, wanted: usize },
    #[error("the sources disagree by more than 5 %")]
    Disagreement,
}

/// Makes a rate of `fresh` quotes; at least `wanted` of them must agree.
pub(super) fn combine(fresh: &[Quote], wanted: usize) -> Result<Combined, NoRate> {
    let all = median(fresh).ok_or(NoRate::NoFreshQuote)?;
    if fresh.len() < wanted {
        return Err(NoRate::TooFew { fresh: fresh.len(), wanted });
    }
    // Of two, none is the one that strays.
    if let [one, other] = fresh
        && differs(one.price, other.price, one.price.min(other.price))
    {
        return Err(NoRate::Disagreement);
    }
    let (strays, used): (Vec<_>, Vec<_>) = fresh.iter().partition(|quote| differs(quote.price, all, all));
    if used.len() < wanted.max(1) {
        return Err(NoRate::Disagreement);
    }
    let median = median(&used).ok_or(NoRate::NoFreshQuote)?;
    Ok(Combined { median, used, strays })
}

fn differs(one: Decimal, other: Decimal, of: Decimal) -> bool {
    let hundred_times = |value: Decimal| value.checked_mul(Decimal::ONE_HUNDRED);
    let bound = of.checked_mul(Decimal::from(STRAY_MAX_PER_CENT));
    match (hundred_times((one - other).abs()), bound) {
        (Some(difference), Some(bound)) => difference > bound,
        // Beyond what a decimal holds: no rate of any currency.
        _ => true,
    }
}

fn median(quotes: &[Quote]) -> Option<Decimal> {
    let mut prices: Vec<Decimal> = quotes.iter().map(|quote| quote.price).collect();
    prices.sort_unstable();
    let upper = *prices.get(prices.len() / 2)?;
    if prices.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *prices.get(prices.len() / 2 - 1)?;
    Some(lower + (upper - lower) / Decimal::TWO)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn quotes(prices: &[&str]) -> Vec<Quote> {
        let quote = |(source, price): (&&'static str, &&str)| Quote {
            source,
            price: price.parse().unwrap(),
            at: Timestamp::from_ms(0),
        };
        NAMES.iter().zip(prices).map(quote).collect()
    }

    fn rate(prices: &[&str], wanted: usize) -> Result<String, NoRate> {
        combine(&quotes(prices), wanted).map(|combined| combined.median.normalize().to_string())
    }

    #[test]
    fn the_rate_is_the_median() {
        assert_eq!(rate(&["65000"], 1).as_deref(), Ok("65000"));
        assert_eq!(rate(&["65000", "65001"], 2).as_deref(), Ok("65000.5"));
        assert_eq!(rate(&["65200", "65000", "65100"], 2).as_deref(), Ok("65100"));
    }

    #[test]
    fn a_source_that_strays_more_than_five_per_cent_is_left_out() {
        let combined = combine(&quotes(&["100", "100.5", "101", "110"]), 2).unwrap();
        assert_eq!(combined.median, Decimal::new(1005, 1));
        assert_eq!(combined.strays.iter().map(|quote| quote.source).collect::<Vec<_>>(), ["d"]);
        assert_eq!(rate(&["95", "100", "105"], 3).as_deref(), Ok("100"), "five per cent is no stray");
    }

    #[test]
    fn two_that_disagree_by_more_than_five_per_cent_give_none() {
        assert_eq!(rate(&["100", "105"], 1).as_deref(), Ok("102.5"));
        assert_eq!(rate(&["100", "105.01"], 1), Err(NoRate::Disagreement));
        assert_eq!(rate(&["100", "100", "120", "120"], 1), Err(NoRate::Disagreement), "two camps");
    }

    #[test]
    fn too_few_fresh_quotes_give_none() {
        assert_eq!(rate(&[], 1), Err(NoRate::NoFreshQuote));
        assert_eq!(rate(&["100"], 2), Err(NoRate::TooFew { fresh: 1, wanted: 2 }));
        assert_eq!(rate(&["100", "200", "100"], 3), Err(NoRate::Disagreement), "a stray does not make up the number");
    }
}
