//! Moments of an environment's clock, in whole milliseconds since 1970 UTC.

use chrono::{DateTime, SecondsFormat};

/// A moment in milliseconds since the Unix epoch (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// A text that is not an ISO 8601 date-time with `Z` or an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a time is ISO 8601 with Z or an offset, like 2026-01-12T12:06:20Z")]
pub struct NotATime;

impl Timestamp {
    /// From milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn ms(self) -> i64 {
        self.0
    }

    /// This moment plus `ms` milliseconds (negative: before), saturating.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Cut (toward the past) to the whole second.
    #[must_use]
    pub const fn cut_to_second(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000))
    }

    /// `2026-01-12T12:06:20Z`; milliseconds are cut off.
    #[must_use]
    pub fn iso_seconds(self) -> String {
        self.iso(SecondsFormat::Secs)
    }

    /// `2026-01-12T12:06:20.123Z`.
    #[must_use]
    pub fn iso_millis(self) -> String {
        self.iso(SecondsFormat::Millis)
    }

    /// Reads ISO 8601 with or without a fraction, with `Z` or an offset. A finer fraction than
    /// milliseconds is cut.
    ///
    /// # Errors
    /// [`NotATime`] for anything else.
    pub fn parse_iso(text: &str) -> Result<Self, NotATime> {
        DateTime::parse_from_rfc3339(text).map(|time| Self(time.timestamp_millis())).map_err(|_| NotATime)
    }

    fn iso(self, form: SecondsFormat) -> String {
        // Beyond chrono's range (year 262,143) nothing sensible can be shown.
        DateTime::from_timestamp_millis(self.0).unwrap_or(DateTime::UNIX_EPOCH).to_rfc3339_opts(form, true)
    }
}
