//! The certificate of an exchange rate: all quotes from which the rate of a payment or payout was
//! computed.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::Rate;
use tillgate_domain::rates::Verdict;
use tillgate_domain::time::Timestamp;
use tillgate_gateway::rates::stored_quotes::{self, Part};
use tillgate_store::rates::StoredRate;
use ts_rs::TS;

/// A rate's certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CertificateView {
    /// The median of the used quotes, before any spread, with 4 decimals.
    pub rate: String,
    /// The rate for people: `64,210.55`.
    pub rate_shown: String,
    /// The time of the oldest quote that was used, ISO 8601.
    pub time: String,
    /// All quotes that were known when the rate was computed.
    pub sources: Vec<CertificateItem>,
}

/// The quote of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CertificateItem {
    pub name: String,
    /// The quote with all digits that the source gave.
    pub rate: String,
    /// The quote for people.
    pub rate_shown: String,
    /// When the source gave the quote, ISO 8601.
    pub time: String,
    /// Whether the rate was computed from this quote.
    pub used: bool,
    /// The reason why the quote was not used, for people.
    pub why: Option<String>,
}

impl From<StoredRate> for CertificateView {
    fn from(stored: StoredRate) -> Self {
        Self {
            rate: stored.rate.format(),
            rate_shown: stored.rate.show(),
            time: stored.at.iso_seconds(),
            sources: stored_quotes::parse(&stored.sources)
                .into_iter()
                .map(CertificateItem::from)
                .collect(),
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
