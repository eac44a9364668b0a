//! Exchange rates that the setting `fixedRates` names, as a source of quotes.

use super::{Answer, Question, RateRules, RateSource, Said};

/// The rates in the setting.
pub(super) struct Fixed;

impl RateSource for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a> {
        let said = |(currency, price): &(_, _)| Said { currency: *currency, price: *price, at: question.at };
        let all: Vec<Said> = question.rules.fixed.iter().map(said).collect();
        Box::pin(async { Ok(all.into()) })
    }

    fn is_chosen(&self, rules: &RateRules) -> bool {
        !rules.fixed.is_empty()
    }

    fn never_stale(&self) -> bool {
        true
    }
}
