//! The port for sources of exchange rates: the trait that each source implements, and its types.

use std::pin::Pin;

use rust_decimal::Decimal;
use tillgate_domain::money::Currency;
use tillgate_domain::rates::NoAnswer;
use tillgate_domain::time::Timestamp;
use tillgate_told::Telling;

use super::rules::RateRules;

/// A request to a source.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Time of the request, on the environment's clock.
    pub at: Timestamp,
    /// The rules from the settings.
    pub rules: &'a RateRules,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceAnswer {
    /// The quotes. The source has none for a currency that is missing here.
    pub quotes: Vec<SourceQuote>,
    /// Time of the answer by the source's own clock, if it has one.
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
    pub currency: Currency,
    /// Units for one Bitcoin.
    pub price: Decimal,
    /// Time of the price on the environment's clock; never later than the request.
    pub at: Timestamp,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFailure {
    /// The reason, for people.
    pub why: Telling,
    /// The kind of the failure, which decides the time of the next request.
    pub kind: NoAnswer,
}

impl SourceFailure {
    /// A failure in the words of another program.
    pub fn of_text(why: impl Into<String>, kind: NoAnswer) -> Self {
        Self { why: Telling::of_text(why), kind }
    }
}

/// The pending answer of a source.
pub type Answer<'a> =
    Pin<Box<dyn Future<Output = Result<SourceAnswer, SourceFailure>> + Send + 'a>>;

/// A source of quotes, in units of each currency for one Bitcoin.
pub trait RateSource: Send + Sync {
    /// The name of the source, which is stored in the certificate of each rate.
    fn name(&self) -> &'static str;

    /// Requests the current quotes.
    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a>;

    /// Whether the source is asked under these rules.
    fn is_chosen(&self, rules: &RateRules) -> bool {
        rules.fixed.is_empty()
    }

    /// Whether the source's quotes are valid until it withdraws them, as simulated and fixed rates
    /// are. Other quotes are stale after five minutes. Such a source is on this machine, so that it
    /// may be asked at any time.
    fn never_stale(&self) -> bool {
        false
    }
}
