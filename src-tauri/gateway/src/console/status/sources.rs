//! Sentences about the sources of exchange rates.

use std::collections::BTreeMap;

use tillgate_domain::money::Currency;

use crate::rates::{RatesRow, SourceRow};

/// A sentence about a source that did not answer when it was last asked.
pub(crate) fn silent(source: &SourceRow) -> Option<String> {
    let why = source.failed.as_ref()?;
    Some(format!("the rate source {} does not answer: {why}", source.name))
}

/// One sentence about all sources that did not answer. If several did not, it leaves out the error of each.
pub(crate) fn silent_together(sources: &[SourceRow]) -> Option<String> {
    let silent_ones: Vec<_> = sources.iter().filter(|source| source.failed.is_some()).collect();
    match silent_ones.as_slice() {
        [] => None,
        [one] => silent(one),
        many => {
            let names: Vec<_> = many.iter().map(|source| source.name).collect();
            let which = if many.len() == sources.len() {
                "no rate source answers".to_owned()
            } else {
                format!("{} of {} rate sources do not answer ({})", many.len(), sources.len(), names.join(", "))
            };
            Some(format!("{which}: check that this computer reaches the internet"))
        }
    }
}

/// A sentence for each source whose quotes stray from the median. It names those of `currencies` that are concerned.
pub(crate) fn strays(rates: &[RatesRow], currencies: &[Currency]) -> Vec<String> {
    let mut strays: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rates.iter().filter(|row| currencies.contains(&row.currency)) {
        for source in row.strays() {
            strays.entry(source).or_default().push(row.currency.code());
        }
    }
    let sentence = |(source, codes): (&str, Vec<&str>)| {
        format!(
            "the rate source {source} strays from the others by more than 5 % and is left out of {}",
            codes.join(", ")
        )
    };
    strays.into_iter().map(sentence).collect()
}
