//! The certificate of a payment's or payout's rate, as the panel and the command line show it.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::Rate;
use tillgate_domain::rates::Verdict;
use tillgate_domain::time::Timestamp;
use ts_rs::TS;

use crate::rates::certificate::{self, Part};
use crate::store::rates::StoredRate;

/// A rate's certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct CertificateView {
    /// The median of the used quotes, before any spread, with 4 decimals.
    pub rate: String,
    /// The same for people: `64,210.55`.
    pub rate_shown: String,
    /// The time of the oldest quote that was used, ISO 8601.
    pub time: String,
    /// Every quote that was known then.
    pub sources: Vec<CertificateItem>,
}

/// One source's part in a rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct CertificateItem {
    /// The source's name.
    pub name: String,
    /// Its quote, with all the digits that it gave.
    pub rate: String,
    /// The same for people.
    pub rate_shown: String,
    /// When it was given, ISO 8601.
    pub time: String,
    /// Whether the quote was used.
    pub used: bool,
    /// Why it was not used, in words.
    pub why: Option<String>,
}

impl From<StoredRate> for CertificateView {
    fn from(stored: StoredRate) -> Self {
        Self {
            rate: stored.rate.format(),
            rate_shown: stored.rate.show(),
            time: stored.at.iso_seconds(),
            sources: certificate::read(&stored.sources).into_iter().map(CertificateItem::from).collect(),
        }
    }
}

impl From<Part> for CertificateItem {
    fn from(part: Part) -> Self {
        let shown = part.price().and_then(Rate::new).map(|rate| rate.show());
        Self {
            rate_shown: shown.unwrap_or_else(|| part.rate.clone()),
            time: Timestamp::iso_seconds(part.at()),
            why: part.why.as_deref().map(|why| words(why).to_owned()),
            name: part.name,
            rate: part.rate,
            used: part.used,
        }
    }
}

fn words(why: &str) -> &str {
    let is = |verdict: Verdict| why == verdict.as_str();
    if is(Verdict::Stale) {
        "older than five minutes"
    } else if is(Verdict::Stray) {
        "more than 5 % from the median"
    } else if is(Verdict::Jumped) {
        "jumped, and no other source agreed"
    } else {
        why
    }
}
