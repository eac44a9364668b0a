//! Exchange rates: quotes from sources, and the rate that is made of them.
//!
//! [`Rates`] is the book of one environment. It never gives a stale rate for a price; what is
//! only told (an anomaly's worth, a price tier) may use the last one known.

mod book;
pub(crate) mod certificate;
mod fixed;
mod live;
mod quotes;
mod simulated;
mod sources;

use std::pin::Pin;

use rust_decimal::Decimal;
use tillgate_domain::money::Currency;
use tillgate_domain::rates::NoAnswer;
use tillgate_domain::time::Timestamp;

use crate::machine::outgoing::Proxy;

pub(crate) use book::Rates;
pub(crate) use live::LIVE_SOURCES;
pub(crate) use quotes::{RatesRow, SourceRow};
pub(crate) use sources::sources;

/// What the merchant's settings say of exchange rates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateRules {
    /// How many sources must have a fresh quote.
    pub min_fresh_sources: usize,
    /// The currencies that are asked for.
    pub currencies: Vec<Currency>,
    /// The names of the public sources that are asked, where public ones are.
    pub sources: Vec<&'static str>,
    /// Rates that are fixed. Where there are any, no source is asked.
    pub fixed: Vec<(Currency, Decimal)>,
    /// What public sources are asked through.
    pub proxy: Option<Proxy>,
}

impl RateRules {
    /// Whether the same sources are asked for the same, in the same way.
    fn asks_like(&self, other: &Self) -> bool {
        let Self { min_fresh_sources: _, currencies, sources, fixed, proxy } = self;
        (currencies, sources, fixed, proxy) == (&other.currencies, &other.sources, &other.fixed, &other.proxy)
    }
}

/// One question to a source.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// When it is asked, on the environment's clock.
    pub at: Timestamp,
    /// What the settings say.
    pub rules: &'a RateRules,
}

/// What a source answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answered {
    /// Its quotes. A currency that is not among them has none.
    pub said: Vec<Said>,
    /// When it answered, by its own clock, where it has one.
    pub server_time: Option<Timestamp>,
}

impl From<Vec<Said>> for Answered {
    fn from(said: Vec<Said>) -> Self {
        Self { said, server_time: None }
    }
}

/// What a source says of one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// Which.
    pub currency: Currency,
    /// Units for one Bitcoin.
    pub price: Decimal,
    /// When that was so, on the environment's clock; not later than the question.
    pub at: Timestamp,
}

/// A question came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Why, for people.
    pub why: String,
    /// What kind of thing that is, by which it is asked again.
    pub kind: NoAnswer,
}

/// The answer of a source, on its way.
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = Result<Answered, Failed>> + Send + 'a>>;

/// A source of quotes, in units of each currency for one Bitcoin.
pub trait RateSource: Send + Sync {
    /// Its name, stored with each rate that it took part in.
    fn name(&self) -> &'static str;

    /// Its quotes of this moment.
    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a>;

    /// Whether it is asked under these rules.
    fn is_chosen(&self, rules: &RateRules) -> bool {
        rules.fixed.is_empty()
    }

    /// Whether its quotes stay good until it withdraws them, as simulated ones do; others are
    /// stale after five minutes. Such a source is on this machine, and asked as often as anybody likes.
    fn never_stale(&self) -> bool {
        false
    }
}

/// There is no rate that a price may rest on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no fresh exchange rate for {currency}: {reason}")]
pub struct RateUnavailable {
    /// ISO code of the currency.
    pub currency: String,
    /// Why, for people.
    pub reason: String,
}
