//! Quotes of exchange rates (interface, section 6): how long one is fresh, and what several sources' quotes for one
//! currency amount to.

use rust_decimal::Decimal;

use crate::time::Timestamp;

/// Quotes older than this are stale.
const STALE_AFTER_MS: i64 = 5 * 60_000;

/// A source that strays further from the median is left out.
const STRAY_MAX_PER_CENT: i64 = 5;

/// One source's quote for one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// The source's name.
    pub source: &'static str,
    /// Units for one Bitcoin, positive.
    pub price: Decimal,
    /// When the source gave it.
    pub at: Timestamp,
    /// Whether it stays good until its source withdraws it, as a simulated one does.
    pub never_stale: bool,
}

impl Quote {
    /// The last moment at which it is fresh; `None` for ever.
    #[must_use]
    pub fn fresh_until(&self) -> Option<Timestamp> {
        (!self.never_stale).then(|| self.at.plus_ms(STALE_AFTER_MS))
    }

    /// Whether a rate may be made of it.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.fresh_until().is_none_or(|until| now <= until)
    }
}

/// What the fresh quotes amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combined {
    /// The rate: units for one Bitcoin.
    pub median: Decimal,
    /// Those that the median is made of.
    pub used: Vec<Quote>,
    /// Those that stray too far.
    pub strays: Vec<Quote>,
}

/// Why fresh quotes give no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRate {
    /// There are none.
    #[error("no source has a fresh quote")]
    NoFreshQuote,
    /// There are fewer than must agree.
    #[error("too few sources have a fresh quote ({fresh} of the {wanted} that must agree)")]
    TooFew {
        /// How many there are.
        fresh: usize,
        /// How many must agree.
        wanted: usize,
    },
    /// No median stands for enough of them.
    #[error("the sources disagree by more than 5 %")]
    Disagreement,
}

/// Makes a rate of `fresh` quotes; at least `wanted` of them must agree.
///
/// # Errors
/// Why they give none.
pub fn combine(fresh: &[Quote], wanted: usize) -> Result<Combined, NoRate> {
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
            never_stale: false,
        };
        NAMES.iter().zip(prices).map(quote).collect()
    }

    fn rate(prices: &[&str], wanted: usize) -> Result<String, NoRate> {
        combine(&quotes(prices), wanted).map(|combined| combined.median.normalize().to_string())
    }

    #[test]
    fn a_quote_is_fresh_for_five_minutes_unless_it_never_goes_stale() {
        let quote = quotes(&["65000"])[0];
        let last = Timestamp::from_ms(300_000);
        assert!(quote.is_fresh(last) && !quote.is_fresh(last.plus_ms(1)));
        assert!(Quote { never_stale: true, ..quote }.is_fresh(Timestamp::from_ms(i64::MAX)));
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
