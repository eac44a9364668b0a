//! When a notification is tried again, and when it is given up (interface, section 5).

use crate::time::Timestamp;

/// How long after the first, second, … failed attempt the next one comes, in milliseconds.
const DELAYS_MS: [i64; 7] = [10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000];

/// How long after each later failed attempt the next one comes.
const LATER_DELAY_MS: i64 = 6 * 3_600_000;

/// How long a notification is tried.
const TRIED_FOR_MS: i64 = 3 * 24 * 3_600_000;

/// The most that chance may add or take, per mille of a delay.
const MAX_JITTER_PER_MILLE: i64 = 100;

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// Try again, not before this moment.
    RetryAt(Timestamp),
    /// Three days have passed: given up until somebody asks for a resend.
    GiveUp,
}

/// Decides what follows failed attempt number `attempts` (1 is the first) that ended at `ended_at`,
/// of a notification first due at `queued_at`. `jitter_per_mille` is the caller's random number
/// from -100 to 100.
///
/// The last attempt is never earlier than the end of the three days, however far the clock jumps
/// between two attempts: a retry that would come later is drawn back to the end itself.
#[must_use]
pub fn after_failure(attempts: u32, queued_at: Timestamp, ended_at: Timestamp, jitter_per_mille: i64) -> AfterFailure {
    let end = queued_at.plus_ms(TRIED_FOR_MS);
    if ended_at >= end {
        return AfterFailure::GiveUp;
    }
    let index = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    let delay_ms = DELAYS_MS.get(index).copied().unwrap_or(LATER_DELAY_MS);
    let jitter = jitter_per_mille.clamp(-MAX_JITTER_PER_MILLE, MAX_JITTER_PER_MILLE);
    let retry = ended_at.plus_ms(delay_ms + delay_ms * jitter / 1_000);
    AfterFailure::RetryAt(retry.min(end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const QUEUED: Timestamp = Timestamp::from_ms(1_000_000);

    #[test]
    fn delays_follow_the_schedule_from_the_end_of_the_attempt_before() {
        let ended = QUEUED.plus_ms(5_000);
        let seconds = [10, 30, 60, 300, 900, 3_600, 10_800, 21_600, 21_600];
        for (attempts, delay) in (1..).zip(seconds) {
            let retry = AfterFailure::RetryAt(ended.plus_ms(delay * 1_000));
            assert_eq!(after_failure(attempts, QUEUED, ended, 0), retry, "attempt {attempts}");
        }
        assert_eq!(after_failure(u32::MAX, QUEUED, ended, 0), AfterFailure::RetryAt(ended.plus_ms(21_600_000)));
    }

    #[test]
    fn chance_moves_a_retry_by_a_tenth_at_most() {
        for (jitter, delay_ms) in [(-100, 9_000), (100, 11_000), (50, 10_500), (5_000, 11_000)] {
            let retry = AfterFailure::RetryAt(QUEUED.plus_ms(delay_ms));
            assert_eq!(after_failure(1, QUEUED, QUEUED, jitter), retry, "{jitter}");
        }
    }

    #[test]
    fn the_last_attempt_is_at_the_end_of_the_three_days() {
        let end = QUEUED.plus_ms(TRIED_FOR_MS);
        assert_eq!(after_failure(20, QUEUED, end.plus_ms(-1), 0), AfterFailure::RetryAt(end));
        assert_eq!(after_failure(20, QUEUED, end, 0), AfterFailure::GiveUp);
        assert_eq!(after_failure(1, QUEUED, end.plus_ms(1), 0), AfterFailure::GiveUp);
    }

    proptest! {
        #[test]
        fn attempts_end_with_one_at_the_end(took_ms in 0..10_000_i64, jitter in -100..=100_i64) {
            let mut now = QUEUED;
            for attempts in 1..100 {
                let ended = now.plus_ms(took_ms);
                match after_failure(attempts, QUEUED, ended, jitter) {
                    AfterFailure::RetryAt(at) => {
                        prop_assert!(at > ended);
                        now = at;
                    }
                    AfterFailure::GiveUp => {
                        prop_assert!(ended >= QUEUED.plus_ms(TRIED_FOR_MS));
                        prop_assert!((15..30).contains(&attempts));
                        return Ok(());
                    }
                }
            }
            prop_assert!(false, "never given up");
        }
    }
}
