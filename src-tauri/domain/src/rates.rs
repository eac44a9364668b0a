//! Quotes of exchange rates (interface, section 6): how long a quote is fresh, which quote replaces
//! another, and the rate that several sources' quotes give.

mod again;
mod price;

use rust_decimal::Decimal;

use crate::time::Timestamp;

pub use again::{ASKED_EVERY_MS, NoAnswer, retry_delay_ms};
pub use price::{NotAPrice, mid_price, parse_price};

/// Quotes older than this are stale.
const STALE_AFTER_MS: i64 = 5 * 60_000;

/// A quote that differs from the median by more than this is ignored.
const STRAY_MAX_PER_CENT: i64 = 5;

/// A price that moves by more than this in [`JUMP_WITHIN_MS`] has jumped.
const JUMP_MAX_PER_CENT: i64 = 20;

/// The time in which a jump is measured. Over a longer time the bound grows in proportion.
const JUMP_WITHIN_MS: i64 = 60_000;

/// A price at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Units for one Bitcoin, positive.
    pub price: Decimal,
    /// When the price was given.
    pub at: Timestamp,
}

/// One source's quote for one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// The source's name.
    pub source: &'static str,
    /// Units for one Bitcoin, positive.
    pub price: Decimal,
    /// When the source gave it; never later than the request.
    pub at: Timestamp,
    /// Whether it stays good until its source withdraws it; true for simulated quotes.
    pub never_stale: bool,
    /// The price from which it jumped, if it did. A quote that jumped makes no rate alone.
    pub jumped_from: Option<Known>,
}

impl Quote {
    /// The last moment at which it is fresh; `None` if it never goes stale.
    #[must_use]
    pub fn fresh_until(&self) -> Option<Timestamp> {
        (!self.never_stale).then(|| self.at.plus_ms(STALE_AFTER_MS))
    }

    /// Whether a rate may use it.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.fresh_until().is_none_or(|until| now <= until)
    }

    /// The quote to keep after the source gave this one. An older quote never replaces a newer one.
    /// A quote that is far from a recent price is marked as jumped.
    ///
    /// `before` is the source's last quote, `last_known` the last rate that was made. `others` are
    /// quotes for the same currency; if another source agrees with `before`, the jump of `before`
    /// is believed.
    #[must_use]
    pub fn succeed(
        self,
        before: Option<&Self>,
        last_known: Option<Known>,
        others: &[Self],
    ) -> Self {
        if let Some(before) = before {
            if self.never_stale {
                // An unchanged quote keeps its time, so that it is the same stored row.
                return if before.price == self.price { *before } else { self };
            }
            if self.at < before.at {
                return *before;
            }
        }
        if self.never_stale {
            return self;
        }
        let recent = |known: &Known| self.at <= known.at.plus_ms(STALE_AFTER_MS);
        let held = before.and_then(|before| before.held_from(others)).filter(recent);
        let jumped_from = match held {
            Some(from) => moved_by_more(from.price, self.price, JUMP_MAX_PER_CENT).then_some(from),
            None => {
                let known = before
                    .map(|before| Known { price: before.price, at: before.at })
                    .filter(recent);
                known
                    .or_else(|| last_known.filter(recent))
                    .filter(|from| jumps(*from, self.price, self.at))
            }
        };
        Self { jumped_from, ..self }
    }

    /// The price from which it jumped, unless another source agrees with the jump.
    fn held_from(&self, others: &[Self]) -> Option<Known> {
        let confirmed = others.iter().any(|other| {
            other.source != self.source && other.is_fresh(self.at) && self.agrees(other)
        });
        self.jumped_from.filter(|_| !confirmed)
    }

    fn agrees(&self, other: &Self) -> bool {
        !differs(self.price, other.price, self.price.min(other.price))
    }
}

/// How a quote was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The rate is made of it.
    Used,
    /// It is older than five minutes.
    Stale,
    /// It differs too much from the median.
    Stray,
    /// It jumped, and no other source agrees.
    Jumped,
    /// The quotes give no rate.
    NoRate,
}

impl Verdict {
    /// Its name in stored certificates.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Stale => "stale",
            Self::Stray => "stray",
            Self::Jumped => "jumped",
            Self::NoRate => "no rate",
        }
    }
}

/// The rate that fresh quotes give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combined {
    /// The rate: units for one Bitcoin.
    pub median: Decimal,
    /// The quotes behind the median.
    pub used: Vec<Quote>,
    /// The quotes that differ too much from the median.
    pub strays: Vec<Quote>,
}

/// Why fresh quotes give no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum NoRate {
    /// There are no fresh quotes.
    #[error("no source has a fresh quote")]
    NoFreshQuote,
    /// Fewer fresh quotes than must agree.
    #[error("too few sources have a fresh quote ({fresh} of the {wanted} that must agree)")]
    TooFew {
        /// The number of fresh quotes.
        fresh: usize,
        /// The number that must agree.
        wanted: usize,
    },
    /// Two fresh quotes disagree, or too few are near the median.
    #[error("the sources disagree by more than 5 %")]
    Disagreement,
    /// The only quote jumped.
    #[error(
        "the quote of {source_name} jumped by more than 20 % in a minute, and no other source agrees yet"
    )]
    Jump {
        /// The source of the quote.
        source_name: &'static str,
    },
}

/// The quotes for one currency, judged at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The rate, or the reason why it is missing.
    pub rate: Result<Decimal, NoRate>,
    /// Each quote with its verdict.
    pub quotes: Vec<(Quote, Verdict)>,
}

/// Judges the quotes for one currency, one from each source, at `now`; at least `wanted` of them
/// must agree.
#[must_use]
pub fn judge(quotes: &[Quote], now: Timestamp, wanted: usize) -> Judged {
    let fresh: Vec<Quote> = quotes.iter().filter(|quote| quote.is_fresh(now)).copied().collect();
    let combined = combine(&fresh, wanted);
    let verdict = |quote: &Quote| match &combined {
        _ if !quote.is_fresh(now) => Verdict::Stale,
        Ok(combined) if combined.used.contains(quote) => Verdict::Used,
        Ok(_) => Verdict::Stray,
        Err(NoRate::Jump { source_name }) if quote.source == *source_name => Verdict::Jumped,
        Err(_) => Verdict::NoRate,
    };
    let quotes = quotes.iter().map(|quote| (*quote, verdict(quote))).collect();
    Judged { rate: combined.map(|combined| combined.median), quotes }
}

/// Makes a rate from `fresh` quotes; at least `wanted` of them must agree.
///
/// # Errors
/// The reason why they give no rate.
pub fn combine(fresh: &[Quote], wanted: usize) -> Result<Combined, NoRate> {
    let all = median(fresh).ok_or(NoRate::NoFreshQuote)?;
    if fresh.len() < wanted {
        return Err(NoRate::TooFew { fresh: fresh.len(), wanted });
    }
    // If two sources disagree, either may be the wrong one.
    if let [one, other] = fresh
        && !one.agrees(other)
    {
        return Err(NoRate::Disagreement);
    }
    let (strays, used): (Vec<Quote>, Vec<Quote>) =
        fresh.iter().partition(|quote| differs(quote.price, all, all));
    if used.len() < wanted.max(1) {
        return Err(NoRate::Disagreement);
    }
    // Several used quotes confirm each other. No other quote confirms the jump of a single one.
    if let [only] = used.as_slice()
        && only.jumped_from.is_some()
    {
        return Err(NoRate::Jump { source_name: only.source });
    }
    let median = median(&used).ok_or(NoRate::NoFreshQuote)?;
    Ok(Combined { median, used, strays })
}

fn differs(one: Decimal, other: Decimal, of: Decimal) -> bool {
    exceeds(one, other, of, STRAY_MAX_PER_CENT, 1)
}

fn moved_by_more(from: Decimal, to: Decimal, per_cent: i64) -> bool {
    exceeds(from, to, from, per_cent, 1)
}

/// Whether a price moved from `from` further than the bound for that time.
fn jumps(from: Known, price: Decimal, at: Timestamp) -> bool {
    let elapsed_ms = at.ms().saturating_sub(from.at.ms()).max(JUMP_WITHIN_MS);
    exceeds(
        from.price,
        price,
        from.price,
        JUMP_MAX_PER_CENT.saturating_mul(elapsed_ms),
        JUMP_WITHIN_MS,
    )
}

/// Whether two prices differ by more than `per_cent / parts` hundredths of `of`.
fn exceeds(one: Decimal, other: Decimal, of: Decimal, per_cent: i64, parts: i64) -> bool {
    let difference = one.checked_sub(other).and_then(|difference| {
        difference.abs().checked_mul(Decimal::ONE_HUNDRED)?.checked_mul(Decimal::from(parts))
    });
    match (difference, of.checked_mul(Decimal::from(per_cent))) {
        (Some(difference), Some(bound)) => difference > bound,
        // The product exceeds the range of a decimal, so no currency has such a price.
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
mod tests;
