//! The sandbox's exchange rates as a source of quotes.

use std::sync::Arc;

use tillgate_domain::money::Currency;
use tillgate_domain::rates::NoAnswer;
use tillgate_sandbox::Sandbox;

use super::rate_source::{Answer, Question, RateSource, SourceFailure, SourceQuote};

/// The rates that developers set by `PUT /sandbox/rates`.
pub struct Simulated {
    sandbox: Arc<Sandbox>,
}

impl Simulated {
    /// A source that quotes the rates of `sandbox`.
    #[must_use]
    pub fn new(sandbox: Arc<Sandbox>) -> Self {
        Self { sandbox }
    }
}

impl RateSource for Simulated {
    fn name(&self) -> &'static str {
        "sandbox"
    }

    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a> {
        let sandbox = Arc::clone(&self.sandbox);
        Box::pin(async move {
            let failed = |why: String| SourceFailure::of_text(why, NoAnswer::Unreachable);
            // `Sandbox::rates` reads a file, which blocks.
            let rates = tokio::task::spawn_blocking(move || sandbox.rates()).await;
            let rates = rates
                .map_err(|error| failed(error.to_string()))?
                .map_err(|error| failed(error.to_string()))?;
            let quote = |(code, price): (String, String)| {
                Some(SourceQuote {
                    currency: Currency::from_code(&code)?,
                    price: price.parse().ok()?,
                    at: question.at,
                })
            };
            Ok(rates.into_iter().filter_map(quote).collect::<Vec<_>>().into())
        })
    }

    fn never_stale(&self) -> bool {
        true
    }
}
