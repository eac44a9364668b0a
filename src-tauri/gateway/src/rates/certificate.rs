//! A rate's certificate: the quotes that were known when it was made, and what became of each. Stored with every rate that
//! something rests on, and never changed.

use rust_decimal::Decimal;
use tillgate_domain::rates::{Quote, Verdict};
use tillgate_domain::time::Timestamp;

use serde::{Deserialize, Serialize};

/// One source's part in a rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// The source's name.
    pub(crate) name: String,
    /// Its quote, with all the digits that it gave.
    pub(crate) rate: String,
    /// When the quote was given, in milliseconds since 1970.
    pub(crate) time: i64,
    /// Whether the rate was made of it.
    pub(crate) used: bool,
    /// Why it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

impl Part {
    /// When the quote was given.
    pub(crate) const fn at(&self) -> Timestamp {
        Timestamp::from_ms(self.time)
    }

    /// The quote as a number; `None` where the stored text is none.
    pub(crate) fn price(&self) -> Option<Decimal> {
        self.rate.parse().ok()
    }
}

/// The certificate as it is stored: JSON.
pub(super) fn written(quotes: &[(Quote, Verdict)]) -> String {
    let part = |(quote, verdict): &(Quote, Verdict)| Part {
        name: quote.source.to_owned(),
        rate: quote.price.to_string(),
        time: quote.at.ms(),
        used: *verdict == Verdict::Used,
        why: (*verdict != Verdict::Used).then(|| verdict.as_str().to_owned()),
    };
    let parts: Vec<Part> = quotes.iter().map(part).collect();
    // Strings, numbers and truth values: nothing that JSON could not hold.
    serde_json::to_string(&parts).unwrap_or_else(|_| "[]".to_owned())
}

/// Reads what was stored; nothing where it cannot be read.
pub(crate) fn read(stored: &str) -> Vec<Part> {
    serde_json::from_str(stored).unwrap_or_default()
}
