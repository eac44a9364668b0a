//! When a source of rates is asked again.

/// Interval between requests to a source that answers; five requests may fail before its quote is
/// stale.
pub const ASKED_EVERY_MS: i64 = 60_000;

/// The first wait after a failed request; each further failure doubles it.
const FIRST_WAIT_MS: i64 = 15_000;

/// The longest wait for a server that cannot be reached. A request costs such a server nothing, and
/// the network may return at any moment.
const UNREACHABLE_WAIT_MAX_MS: i64 = 60_000;

/// The longest wait for a server that answers, but without rates.
const REFUSED_WAIT_MAX_MS: i64 = 5 * 60_000;

/// The shortest wait for a server that says it is asked too often.
const TOO_OFTEN_WAIT_MS: i64 = 60_000;

/// The longest wait that a server can demand; a longer one is taken for a mistake.
const TOLD_WAIT_MAX_MS: i64 = 60 * 60_000;

/// Waits vary by up to a tenth, so that gateways that failed together do not ask together.
const MAX_JITTER_PER_MILLE: i64 = 100;

/// The kind of a failed request, which decides the wait before the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// There was no answer.
    Unreachable,
    /// The answer holds no rates.
    Refused,
    /// The server is asked too often, or has too much to do.
    TooOften {
        /// The wait that it asks for, if it names one.
        wait_ms: Option<i64>,
    },
}

/// The wait after the last of `failures` failed requests in a row. `jitter_per_mille` is the
/// caller's random number from -100 to 100. A wait that a server asked for is never cut short,
/// except by the bound.
#[must_use]
pub fn retry_delay_ms(failures: u32, why: NoAnswer, jitter_per_mille: i64) -> i64 {
    let doublings = failures.saturating_sub(1).min(16);
    let doubled_ms = FIRST_WAIT_MS.saturating_mul(1 << doublings);
    let jitter = jitter_per_mille.clamp(-MAX_JITTER_PER_MILLE, MAX_JITTER_PER_MILLE);
    let spread = |wait_ms: i64, jitter: i64| wait_ms + wait_ms * jitter / 1_000;
    match why {
        NoAnswer::Unreachable => spread(doubled_ms.min(UNREACHABLE_WAIT_MAX_MS), jitter),
        NoAnswer::Refused => spread(doubled_ms.min(REFUSED_WAIT_MAX_MS), jitter),
        NoAnswer::TooOften { wait_ms } => {
            let own_ms = doubled_ms.clamp(TOO_OFTEN_WAIT_MS, REFUSED_WAIT_MAX_MS);
            let told_ms = wait_ms.unwrap_or(0).clamp(0, TOLD_WAIT_MAX_MS);
            spread(own_ms.max(told_ms), jitter.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_or_five_after_a_bad_answer() {
        let waits = |why| {
            (1..=7).map(|failures| retry_delay_ms(failures, why, 0) / 1_000).collect::<Vec<_>>()
        };
        assert_eq!(waits(NoAnswer::Unreachable), [15, 30, 60, 60, 60, 60, 60]);
        assert_eq!(waits(NoAnswer::Refused), [15, 30, 60, 120, 240, 300, 300]);
        assert_eq!(waits(NoAnswer::TooOften { wait_ms: None }), [60, 60, 60, 120, 240, 300, 300]);
    }

    #[test]
    fn a_servers_wait_is_obeyed_up_to_an_hour() {
        let wait = |seconds: i64, jitter| {
            retry_delay_ms(
                1,
                NoAnswer::TooOften { wait_ms: Some(seconds.saturating_mul(1_000)) },
                jitter,
            ) / 1_000
        };
        assert_eq!(
            (wait(0, 0), wait(600, 0), wait(600, -100), wait(600, 100)),
            (60, 600, 660, 660)
        );
        assert_eq!((wait(1_000_000, 0), wait(i64::MAX, 0), wait(-5, 0)), (3_600, 3_600, 60));
    }

    proptest! {
        #[test]
        fn every_wait_is_bounded(failures: u32, told: Option<i64>, jitter: i64, kind in 0..3) {
            let why = match kind {
                0 => NoAnswer::Unreachable,
                1 => NoAnswer::Refused,
                _ => NoAnswer::TooOften { wait_ms: told },
            };
            let wait_ms = retry_delay_ms(failures, why, jitter);
            prop_assert!((13_500..=66 * 60_000).contains(&wait_ms), "{wait_ms}");
        }
    }
}
