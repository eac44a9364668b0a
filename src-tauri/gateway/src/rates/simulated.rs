//! The sandbox's exchange rates as a source of quotes.

use std::collections::BTreeMap;
use std::sync::Arc;

use rust_decimal::Decimal;
use tillgate_domain::money::Currency;
use tillgate_sandbox::Sandbox;

use super::RateSource;

/// What developers set by `PUT /sandbox/rates`.
pub(crate) struct Simulated {
    sandbox: Arc<Sandbox>,
}

impl Simulated {
    /// Quotes the rates of `sandbox`.
    #[must_use]
    pub(crate) fn new(sandbox: Arc<Sandbox>) -> Self {
        Self { sandbox }
    }
}

impl RateSource for Simulated {
    fn name(&self) -> &'static str {
        "sandbox"
    }

    fn quotes(&self) -> Result<BTreeMap<Currency, Decimal>, String> {
        let rates = self.sandbox.rates().map_err(|error| error.to_string())?;
        let quote = |(code, price): (String, String)| Some((Currency::from_code(&code)?, price.parse().ok()?));
        Ok(rates.into_iter().filter_map(quote).collect())
    }

    fn never_stale(&self) -> bool {
        true
    }
}
