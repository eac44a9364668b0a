//! Exchange rates: the quotes of sources, and the rates that are computed from them.
//!
//! [`Rates`] holds the rates of one environment. It never returns a stale rate for a price. The
//! last known rate, of any age, is used only to show an anomaly's value and to choose a payment's
//! confirmation tier.

mod book;
mod fixed;
mod live;
mod quotes;
mod rate_source;
mod rules;
mod simulated;
mod sources;
pub mod stored_quotes;
mod unavailable;

pub use book::Rates;
pub use live::{Unfetched, Unreadable, live_sources};
pub use quotes::MedianOutOfRange;
pub use quotes::{RatesRow, SourceRow};
pub use rate_source::{Answer, Question, RateSource, SourceAnswer, SourceFailure, SourceQuote};
pub use rules::RateRules;
pub use sources::sources;
pub use unavailable::RateUnavailable;
