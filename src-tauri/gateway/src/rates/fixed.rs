//! The exchange rates of the setting `fixedRates`, as a source of quotes.

use super::rate_source::{Answer, Question, RateSource, SourceQuote};
use super::rules::RateRules;

/// The source `fixed`.
pub struct Fixed;

impl RateSource for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a> {
        let quote = |(currency, price): &(_, _)| SourceQuote {
            currency: *currency,
            price: *price,
            at: question.at,
        };
        let all: Vec<SourceQuote> = question.rules.fixed.iter().map(quote).collect();
        Box::pin(async { Ok(all.into()) })
    }

    fn is_chosen(&self, rules: &RateRules) -> bool {
        !rules.fixed.is_empty()
    }

    fn never_stale(&self) -> bool {
        true
    }
}
