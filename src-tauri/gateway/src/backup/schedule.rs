//! Times of nightly backups: three in the morning of the machine's local time, when shops are
//! quiet. A missed backup is due at once, and a failed one is due again after an hour.

use tillgate_domain::time::Timestamp;

const HOUR_MS: i64 = 3_600_000;

const DAY_MS: i64 = 24 * HOUR_MS;

/// The hour of the day, in local time.
const AT_HOUR: i64 = 3;

/// The earlier nightly backups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// Start of the last good nightly backup.
    pub good_at: Option<Timestamp>,
    /// Time of the last failure.
    pub failed_at: Option<Timestamp>,
}

/// Time of the next nightly backup, on the machine's clock. A time in `before` that is far in the
/// future was stored while the clock was wrong, and is ignored.
pub fn next_at(before: Before, now: Timestamp, local_offset_ms: i64) -> Timestamp {
    let good_at = before.good_at.filter(|at| *at <= now.plus_ms(DAY_MS));
    let failed_at = before.failed_at.filter(|at| *at <= now.plus_ms(HOUR_MS));
    let by_night = good_at.map_or(now, |good_at| next_night(good_at, local_offset_ms));
    match failed_at.filter(|failed_at| good_at.is_none_or(|good_at| good_at < *failed_at)) {
        Some(failed_at) => failed_at.plus_ms(HOUR_MS),
        None => by_night,
    }
}

/// The first 03:00 local time after `at`.
fn next_night(at: Timestamp, local_offset_ms: i64) -> Timestamp {
    let since_night_ms = at
        .ms()
        .saturating_add(local_offset_ms)
        .saturating_sub(AT_HOUR * HOUR_MS)
        .rem_euclid(DAY_MS);
    at.plus_ms(DAY_MS - since_night_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Before = Before { good_at: None, failed_at: None };

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_iso(text).unwrap()
    }

    fn good(text: &str) -> Before {
        Before { good_at: Some(at(text)), ..NONE }
    }

    #[test]
    fn the_first_backup_is_due_at_once_and_the_next_at_three() {
        let now = at("2026-01-12T12:00:00Z");
        assert_eq!(next_at(NONE, now, 0), now);
        for (offset_hours, due) in
            [(0, "2026-01-13T03:00:00Z"), (9, "2026-01-12T18:00:00Z"), (-8, "2026-01-13T11:00:00Z")]
        {
            assert_eq!(
                next_at(good("2026-01-12T11:30:00Z"), now, offset_hours * HOUR_MS),
                at(due),
                "{offset_hours}"
            );
        }
        let of_tonight = next_at(good("2026-01-13T03:00:00Z"), at("2026-01-13T03:00:05Z"), 0);
        assert_eq!(of_tonight, at("2026-01-14T03:00:00Z"));
    }

    #[test]
    fn a_backup_missed_during_a_sleep_is_due_at_once() {
        assert!(
            next_at(good("2026-01-12T03:00:00Z"), at("2026-01-15T09:00:00Z"), 0)
                < at("2026-01-15T09:00:00Z")
        );
    }

    #[test]
    fn a_failed_backup_is_tried_again_in_an_hour() {
        let failed =
            Before { failed_at: Some(at("2026-01-13T03:00:00Z")), ..good("2026-01-12T03:00:00Z") };
        assert_eq!(next_at(failed, at("2026-01-13T03:30:00Z"), 0), at("2026-01-13T04:00:00Z"));
        let first_failed = Before { good_at: None, ..failed };
        assert_eq!(
            next_at(first_failed, at("2026-01-13T03:30:00Z"), 0),
            at("2026-01-13T04:00:00Z")
        );
        // After a failed backup by day, the next attempt does not wait for the night either.
        let by_day =
            Before { failed_at: Some(at("2026-01-12T12:00:00Z")), ..good("2026-01-12T11:00:00Z") };
        assert_eq!(next_at(by_day, at("2026-01-12T12:10:00Z"), 0), at("2026-01-12T13:00:00Z"));
        let mended =
            Before { failed_at: Some(at("2026-01-13T03:00:00Z")), ..good("2026-01-13T04:00:00Z") };
        assert_eq!(next_at(mended, at("2026-01-13T04:30:00Z"), 0), at("2026-01-14T03:00:00Z"));
    }

    #[test]
    fn a_clock_that_was_a_year_ahead_stops_no_backups() {
        let now = at("2026-01-12T12:00:00Z");
        assert_eq!(next_at(good("2027-01-12T12:00:00Z"), now, 0), now);
        let failed = Before { good_at: None, failed_at: Some(at("2027-01-12T12:00:00Z")) };
        assert_eq!(next_at(failed, now, 0), now);
    }
}
