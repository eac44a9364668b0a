//! Exchange rates: quotes from sources, and the rate that they give.
//!
//! [`Rates`] is the book of one environment. It never gives a stale rate for a price. A value that is only shown (an
//! anomaly's worth) or selects a price tier may use the last known rate.

mod book;
pub(crate) mod certificate;
mod fixed;
mod live;
mod quotes;
mod rate_source;
mod rules;
mod simulated;
mod sources;
mod unavailable;

pub(crate) use book::Rates;
pub(crate) use live::LIVE_SOURCES;
pub(crate) use quotes::{RatesRow, SourceRow};
#[cfg(test)]
pub(crate) use rate_source::{Answer, Question, RateSource, SourceAnswer, SourceFailure, SourceQuote};
pub(crate) use rules::RateRules;
pub(crate) use sources::sources;
pub(crate) use unavailable::RateUnavailable;
