//! The merchant's settings about exchange rates.

use rust_decimal::Decimal;
use tillgate_domain::money::Currency;
use tillgate_machine::outgoing::Proxy;

/// The settings that select the sources, and how they are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateRules {
    /// Number of sources that must have a fresh quote before there is a rate.
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
    pub fn asks_like(&self, other: &Self) -> bool {
        let Self { min_fresh_sources: _, currencies, sources, fixed, proxy } = self;
        (currencies, sources, fixed, proxy)
            == (&other.currencies, &other.sources, &other.fixed, &other.proxy)
    }
}
