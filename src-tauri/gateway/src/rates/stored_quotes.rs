//! A rate's certificate: all quotes at the time when the rate was computed, each with its verdict.
//! It is stored with every used rate and never changed.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use tillgate_domain::rates::{Quote, Verdict};
use tillgate_domain::time::Timestamp;

/// One source's part in a rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The source's name.
    pub name: String,
    /// Its quote, with all digits that the source gave.
    pub rate: String,
    /// Time of the quote, in milliseconds since 1970.
    pub time: i64,
    /// Whether the rate uses the quote.
    pub used: bool,
    /// The reason why the quote was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Part {
    /// Time of the quote.
    pub const fn at(&self) -> Timestamp {
        Timestamp::from_ms(self.time)
    }

    /// The quote as a number; `None` if the stored text is not a number.
    pub fn price(&self) -> Option<Decimal> {
        self.rate.parse().ok()
    }
}

/// The certificate in its stored form, JSON.
pub fn written(quotes: &[(Quote, Verdict)]) -> String {
    let part = |(quote, verdict): &(Quote, Verdict)| Part {
        name: quote.source.to_owned(),
        rate: quote.price.to_string(),
        time: quote.at.ms(),
        used: *verdict == Verdict::Used,
        why: (*verdict != Verdict::Used).then(|| verdict.as_str().to_owned()),
    };
    let parts: Vec<Part> = quotes.iter().map(part).collect();
    // Strings, numbers and booleans always fit into JSON.
    serde_json::to_string(&parts).unwrap_or_else(|_| "[]".to_owned())
}

/// Reads a stored certificate; empty if it cannot be read.
pub fn parse(stored: &str) -> Vec<Part> {
    serde_json::from_str(stored).unwrap_or_default()
}
