//! Exchange rates: quotes from sources, and the rate that they give.
//!
//! [`Rates`] is the book of one environment. It never gives a stale rate for a price. A value that is only shown (an
//! anomaly's worth) or selects a price tier may use the last known rate.

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

/// The merchant's settings about exchange rates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateRules {
    /// Least number of sources with a fresh quote.
    pub min_fresh_sources: usize,
    /// The currencies to ask for.
    pub currencies: Vec<Currency>,
    /// The names of the public sources in use.
    pub sources: Vec<&'static str>,
    /// Fixed rates. If there are any, no source is asked.
    pub fixed: Vec<(Currency, Decimal)>,
    /// The proxy for requests to public sources.
    pub proxy: Option<Proxy>,
}

impl RateRules {
    /// Whether the same sources are asked for the same currencies in the same way.
    fn asks_like(&self, other: &Self) -> bool {
        let Self { min_fresh_sources: _, currencies, sources, fixed, proxy } = self;
        (currencies, sources, fixed, proxy) == (&other.currencies, &other.sources, &other.fixed, &other.proxy)
    }
}

/// A request to a source.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Time of the request, on the environment's clock.
    pub at: Timestamp,
    /// The rules from the settings.
    pub rules: &'a RateRules,
}

/// A source's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answered {
    /// Its quotes. A currency that is missing has no quote.
    pub said: Vec<Said>,
    /// Time of the answer by its own clock, if it has one.
    pub server_time: Option<Timestamp>,
}

impl From<Vec<Said>> for Answered {
    fn from(said: Vec<Said>) -> Self {
        Self { said, server_time: None }
    }
}

/// A source's quote for one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// The currency.
    pub currency: Currency,
    /// Units for one Bitcoin.
    pub price: Decimal,
    /// Time of the price on the environment's clock; never later than the request.
    pub at: Timestamp,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Why, for people.
    pub why: String,
    /// Its kind, which decides the time of the next request.
    pub kind: NoAnswer,
}

/// The pending answer of a source.
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = Result<Answered, Failed>> + Send + 'a>>;

/// A source of quotes, in units of each currency for one Bitcoin.
pub trait RateSource: Send + Sync {
    /// Its name, which is stored with each rate it took part in.
    fn name(&self) -> &'static str;

    /// Its quotes of this moment.
    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a>;

    /// Whether it is asked under these rules.
    fn is_chosen(&self, rules: &RateRules) -> bool {
        rules.fixed.is_empty()
    }

    /// Whether its quotes stay good until it withdraws them, as simulated ones do; other quotes are stale after five
    /// minutes. Such a source is on this machine, and may be asked at any rate.
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
