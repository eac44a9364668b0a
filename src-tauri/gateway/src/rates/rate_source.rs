//! The port of all sources of exchange rates.

use std::pin::Pin;

use rust_decimal::Decimal;
use tillgate_domain::money::Currency;
use tillgate_domain::rates::NoAnswer;
use tillgate_domain::time::Timestamp;

use super::rules::RateRules;

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
pub struct SourceAnswer {
    /// Its quotes. A currency that is missing has no quote.
    pub quotes: Vec<SourceQuote>,
    /// Time of the answer by its own clock, if it has one.
    pub server_time: Option<Timestamp>,
}

impl From<Vec<SourceQuote>> for SourceAnswer {
    fn from(quotes: Vec<SourceQuote>) -> Self {
        Self { quotes, server_time: None }
    }
}

/// A source's quote for one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceQuote {
    /// The currency.
    pub currency: Currency,
    /// Units for one Bitcoin.
    pub price: Decimal,
    /// Time of the price on the environment's clock; never later than the request.
    pub at: Timestamp,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFailure {
    /// Why, for people.
    pub why: String,
    /// Its kind, which decides the time of the next request.
    pub kind: NoAnswer,
}

/// The pending answer of a source.
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = Result<SourceAnswer, SourceFailure>> + Send + 'a>>;

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
