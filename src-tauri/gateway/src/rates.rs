//! Exchange rates: quotes from sources, and the rate that is made of them.
//!
//! [`Rates`] is the book of one environment. It never gives a stale rate for a price; what is
//! only told (an anomaly's worth, a price tier) may use the last one known.

mod book;
mod simulated;
mod sources;

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use tillgate_domain::money::Currency;

pub(crate) use book::{Rates, RatesRow};
pub(crate) use simulated::Simulated;
pub(crate) use sources::sources;

/// A source of quotes, in units of each currency for one Bitcoin. Calls block.
pub trait RateSource: Send + Sync {
    /// Its name, stored with each rate that it took part in.
    fn name(&self) -> &'static str;

    /// Its quotes of this moment. A currency that is not in the answer has none.
    ///
    /// # Errors
    /// Why it cannot be asked, for people.
    fn quotes(&self) -> Result<BTreeMap<Currency, Decimal>, String>;

    /// Whether its quotes stay good until it withdraws them, as simulated ones do; others are
    /// stale after five minutes.
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
