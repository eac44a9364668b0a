//! Exchange rates: the quotes of sources, and the rates that are computed from them.
//!
//! [`Rates`] holds the rates of one environment. It never returns a stale rate for a price. The last known rate, of any
//! age, is used only to show an anomaly's value and to choose a payment's confirmation tier.

mod book;
mod fixed;
mod live;
mod quotes;
mod rate_source;
mod rules;
mod simulated;
mod sources;
pub(crate) mod stored_quotes;
mod unavailable;

pub(crate) use book::Rates;
pub(crate) use live::LIVE_SOURCES;
#[cfg(test)]
pub(crate) use live::{Unfetched, Unreadable};
#[cfg(test)]
pub(crate) use quotes::MedianOutOfRange;
pub(crate) use quotes::{RatesRow, SourceRow};
#[cfg(test)]
pub(crate) use rate_source::{Answer, Question, RateSource, SourceAnswer, SourceFailure, SourceQuote};
pub(crate) use rules::RateRules;
pub(crate) use sources::sources;
pub(crate) use unavailable::RateUnavailable;
