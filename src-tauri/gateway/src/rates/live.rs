//! Public sources of exchange rates. Each is one [`Site`]: its address, its request, and one pure
//! function from the answer's text to quotes. A request needs no API key, and reveals only that
//! somebody wants rates.

mod answer;
mod bitstamp;
mod coinbase;
mod coingecko;
mod fetch;
mod kraken;
mod mempool;
mod site;

pub use answer::Unreadable;
pub use fetch::Unfetched;
use std::sync::Arc;
use std::time::Duration;

use answer::Quoted;
use fetch::{Fetched, Fetcher};
use site::Site;
use tillgate_domain::rates::NoAnswer;
use tillgate_told::Told as _;

use super::rate_source::{Answer, Question, RateSource, SourceAnswer, SourceFailure, SourceQuote};
use super::rules::RateRules;

/// Time limit of a request to a site, from its start to the last byte of the answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// All sites, in the order in which they are listed.
const SITES: [&Site; 5] =
    [&kraken::SITE, &coinbase::SITE, &bitstamp::SITE, &coingecko::SITE, &mempool::SITE];

/// The names of all sites.
pub fn live_sources() -> [&'static str; 5] {
    SITES.map(|site| site.name)
}

/// One site as a source.
struct Live {
    site: &'static Site,
    /// [`Site::base`], except in tests.
    base: String,
    fetcher: Arc<Fetcher>,
}

/// All sites.
pub fn public() -> Vec<Box<dyn RateSource>> {
    let fetcher = Arc::new(Fetcher::new(ANSWER_WITHIN));
    let live = |site: &'static Site| -> Box<dyn RateSource> {
        Box::new(Live { site, base: site.base.to_owned(), fetcher: Arc::clone(&fetcher) })
    };
    SITES.into_iter().map(live).collect()
}

impl RateSource for Live {
    fn name(&self) -> &'static str {
        self.site.name
    }

    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a> {
        Box::pin(async move {
            let rules = question.rules;
            let Some(path) = (self.site.path)(&rules.currencies) else {
                return Ok(SourceAnswer::default());
            };
            let fetched =
                self.fetcher.get(&format!("{}{path}", self.base), rules.proxy.as_ref()).await?;
            let quoted = fetched.text().and_then(|text| (self.site.parse)(text, &rules.currencies));
            let quoted = quoted.map_err(|unreadable| SourceFailure {
                why: unreadable.telling(),
                kind: NoAnswer::Refused,
            })?;
            let quotes =
                quoted.into_iter().map(|quoted| quote_of(quoted, &fetched, question)).collect();
            Ok(SourceAnswer {
                quotes,
                server_time: fetched.date.map(|date| date.plus_ms(fetched.cached_ms)),
            })
        })
    }

    fn is_chosen(&self, rules: &RateRules) -> bool {
        rules.fixed.is_empty() && rules.sources.contains(&self.site.name)
    }
}

/// A quote with its time on our clock: the time of the request, minus the quote's age by the
/// server's clock. So a wrong clock of ours does not change the age, and a source cannot date a
/// quote after the request.
fn quote_of(quoted: Quoted, fetched: &Fetched, Question { at, .. }: Question<'_>) -> SourceQuote {
    let age_ms = quoted.at.map_or(0, |quoted_at| {
        fetched.date.unwrap_or(at).ms().saturating_sub(quoted_at.ms()).max(0)
    });
    let age_ms = age_ms.saturating_add(fetched.cached_ms);
    SourceQuote {
        currency: quoted.currency,
        price: quoted.price,
        at: at.plus_ms(age_ms.saturating_neg()),
    }
}

#[cfg(test)]
mod tests;
