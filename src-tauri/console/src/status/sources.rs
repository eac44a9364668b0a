//! Sentences about the sources of exchange rates.

use std::collections::BTreeMap;

use tillgate_domain::money::Currency;
use tillgate_gateway::rates::{RatesRow, SourceRow};
use tillgate_told::{Telling, Told};

/// The sentences.
#[derive(Debug, thiserror::Error, Told)]
pub enum RateSources {
    #[error("the rate source {name} does not answer: {why}")]
    Silent { name: &'static str, why: Telling },
    #[error("no rate source answers: check that this computer reaches the internet")]
    AllSilent,
    #[error(
        "{silent} of {all} rate sources do not answer ({names}): check that this computer reaches the internet"
    )]
    SomeSilent { silent: usize, all: usize, names: String },
    #[error(
        "the rate source {name} strays from the others by more than 5 % and is left out of {currencies}"
    )]
    Strays { name: String, currencies: String },
}

/// A sentence about a source that did not answer when it was last asked.
pub fn silent(source: &SourceRow) -> Option<RateSources> {
    let why = source.failed.clone()?;
    Some(RateSources::Silent { name: source.name, why })
}

/// One sentence about all sources that did not answer. If several did not, it leaves out the error
/// of each.
pub fn silent_together(sources: &[SourceRow]) -> Option<RateSources> {
    let silent_ones: Vec<_> = sources.iter().filter(|source| source.failed.is_some()).collect();
    match silent_ones.as_slice() {
        [] => None,
        [one] => silent(one),
        many if many.len() == sources.len() => Some(RateSources::AllSilent),
        many => {
            let names: Vec<_> = many.iter().map(|source| source.name).collect();
            Some(RateSources::SomeSilent {
                silent: many.len(),
                all: sources.len(),
                names: names.join(", "),
            })
        }
    }
}

/// A sentence for each source whose quotes stray from the median. It names those of `currencies`
/// that are concerned.
pub fn strays(rates: &[RatesRow], currencies: &[Currency]) -> Vec<RateSources> {
    let mut strays: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rates.iter().filter(|row| currencies.contains(&row.currency)) {
        for source in row.strays() {
            strays.entry(source).or_default().push(row.currency.code());
        }
    }
    let sentence = |(source, codes): (&str, Vec<&str>)| RateSources::Strays {
        name: source.to_owned(),
        currencies: codes.join(", "),
    };
    strays.into_iter().map(sentence).collect()
}
