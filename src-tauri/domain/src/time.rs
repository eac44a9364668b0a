//! Moments of an environment's clock, in whole milliseconds since 1970 UTC. This module reads no
//! clock.

use chrono::{DateTime, NaiveDateTime, SecondsFormat};
use tillgate_told::Time;

/// A moment in milliseconds since the Unix epoch (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// A text that is not an ISO 8601 date-time with `Z` or an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
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

    /// The next `currentTime` of a record after this one: now, or 1 ms later if the clock has not
    /// moved on. Each is later than the one before.
    #[must_use]
    pub fn moved_on(self, now: Self) -> Self {
        now.max(self.plus_ms(1))
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
        // RFC 3339 is a part of ISO 8601. Some programs write its other forms: a comma before the
        // fraction, offsets such as `+0100` or `+01`.
        let time = DateTime::parse_from_rfc3339(text);
        let time = time.or_else(|_| {
            DateTime::parse_from_str(&text.replacen(',', ".", 1), "%Y-%m-%dT%H:%M:%S%.f%#z")
        });
        time.map(|time| Self(time.timestamp_millis())).map_err(|_| NotATime)
    }

    /// Reads the date of an HTTP header (RFC 9110: `Sun, 06 Nov 1994 08:49:37 GMT`).
    ///
    /// # Errors
    /// [`NotATime`] for anything else.
    pub fn parse_http_date(text: &str) -> Result<Self, NotATime> {
        let time = NaiveDateTime::parse_from_str(text, "%a, %d %b %Y %H:%M:%S GMT")
            .map_err(|_| NotATime)?;
        Ok(Self(time.and_utc().timestamp_millis()))
    }

    fn iso(self, form: SecondsFormat) -> String {
        // Beyond chrono's range (year 262,143) there is nothing sensible to write.
        DateTime::from_timestamp_millis(self.0)
            .unwrap_or(DateTime::UNIX_EPOCH)
            .to_rfc3339_opts(form, true)
    }
}

impl From<Timestamp> for Time {
    /// The whole second, as a sentence tells it.
    fn from(at: Timestamp) -> Self {
        Self(at.iso_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc_with_whole_seconds_or_milliseconds() {
        let time = Timestamp::from_ms(1_768_219_580_123);
        assert_eq!(time.iso_seconds(), "2026-01-12T12:06:20Z");
        assert_eq!(time.iso_millis(), "2026-01-12T12:06:20.123Z");
        assert_eq!(time.cut_to_second().iso_millis(), "2026-01-12T12:06:20.000Z");
        assert_eq!(Timestamp::from_ms(-1).cut_to_second(), Timestamp::from_ms(-1_000));
    }

    #[test]
    fn the_time_of_a_record_increases_with_every_change() {
        let last = Timestamp::from_ms(1_000);
        for (now, next) in [(2_000, 2_000), (1_001, 1_001), (1_000, 1_001), (500, 1_001)] {
            assert_eq!(last.moved_on(Timestamp::from_ms(now)), Timestamp::from_ms(next));
        }
    }

    #[test]
    fn times_are_read_with_or_without_fraction_and_offset() {
        for (text, ms) in [
            ("2026-01-12T12:06:20Z", 1_768_219_580_000),
            ("2026-01-12T12:06:20.123Z", 1_768_219_580_123),
            ("2026-01-12T12:06:20.1239999Z", 1_768_219_580_123),
            ("2026-01-12T13:36:20+01:30", 1_768_219_580_000),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2026-01-12T13:36:20+0130", 1_768_219_580_000),
            ("2026-01-12T07:06:20.5-05", 1_768_219_580_500),
            ("2026-01-12T12:06:20,123Z", 1_768_219_580_123),
        ] {
            assert_eq!(Timestamp::parse_iso(text), Ok(Timestamp::from_ms(ms)), "{text}");
        }
        for text in ["", "2026-01-12", "2026-01-12T12:06:20", "2026-13-12T12:06:20Z", "1768219580"]
        {
            assert_eq!(Timestamp::parse_iso(text), Err(NotATime), "{text}");
        }
    }

    #[test]
    fn dates_of_http_headers_are_read_and_nothing_else() {
        assert_eq!(
            Timestamp::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"),
            Ok(Timestamp::from_ms(784_111_777_000))
        );
        for text in [
            "",
            "0",
            "Sun, 06 Nov 1994 08:49:37",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "1994-11-06T08:49:37Z",
            "Sun, 99 Nov",
        ] {
            assert_eq!(Timestamp::parse_http_date(text), Err(NotATime), "{text}");
        }
    }
}
