//! Judges by block times and by other servers' times whether a clock is right.
//!
//! A block's time may be two hours ahead of the network's and an hour behind it, and a server may
//! keep blocks back. So a young block confirms the clock, but an old block does not prove it wrong.
//! A fault only delays the closing of payments by the clock, for a day at most. If several sources
//! of exchange rates agree on the time, their time decides instead.

use crate::time::Timestamp;

/// A best block of at most this age confirms the clock.
const YOUNG_MS: i64 = 40 * 60_000;

/// A best block this far ahead shows that the clock is behind.
const AHEAD_OF_CLOCK_MS: i64 = 3_600_000;

/// If the last look is longer ago than this, by failed looks, sleep or a step of the clock, the
/// clock must be confirmed again.
const CONFIRMED_ANEW_AFTER_MS: i64 = 10 * 60_000;

/// The longest that a doubt can keep a payment open after its deadline, if no server contradicts
/// the clock.
pub(crate) const PUT_OFF_MAX_MS: i64 = 24 * 3_600_000;

/// Servers agree if their times differ by at most this. An answer may take ten seconds, and its
/// time is in whole seconds.
const SERVERS_AGREE_MS: i64 = 60_000;

/// Largest error of a clock that counts as right, in milliseconds. It is far below the half hour
/// that a customer has to pay.
const RIGHT_MS: i64 = 5 * 60_000;

/// Largest lead of a stored time over the clock, in milliseconds. The system corrects its clock by
/// seconds at any time.
const STORED_AHEAD_MS: i64 = 60_000;

/// The evidence against a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockFault {
    /// The clock may be ahead: no young block has confirmed it, and no servers confirm it. Perhaps
    /// no block was mined.
    MayBeAhead {
        /// The age of the best block.
        by_ms: i64,
    },
    /// It is ahead of the time on which several servers agree.
    IsAhead {
        /// The difference.
        by_ms: i64,
    },
    /// The times of blocks, or of several servers, are later than the clock's.
    IsBehind {
        /// The least difference.
        by_ms: i64,
    },
}

/// A clock, and the evidence about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckedClock {
    is_confirmed: bool,
    looked_at: Option<Timestamp>,
    servers_ahead_ms: Option<i64>,
}

/// The servers' lead over a clock, in milliseconds; negative if they are behind. `told_ms` is this
/// lead for each server. `None` if fewer than two agree, or if those are not the majority.
#[must_use]
pub fn servers_ahead_ms(mut told_ms: Vec<i64>) -> Option<i64> {
    told_ms.sort_unstable();
    let middle = *told_ms.get(told_ms.len().checked_sub(1)? / 2)?;
    let agree = told_ms
        .iter()
        .filter(|ahead_ms| ahead_ms.abs_diff(middle) <= SERVERS_AGREE_MS.unsigned_abs())
        .count();
    (agree >= 2 && agree > told_ms.len() / 2).then_some(middle)
}

/// The latest time that the database may hold if the clock, which shows `now`, is right and was
/// right before. A later time was stored by a clock that was ahead, or the clock is behind now.
#[must_use]
pub const fn latest_stored(now: Timestamp) -> Timestamp {
    now.plus_ms(STORED_AHEAD_MS)
}

/// Whether a block shows that the clock at `now` is behind: its time is more than an hour ahead.
#[must_use]
pub const fn is_behind_block(now: Timestamp, block_time: Timestamp) -> bool {
    now.plus_ms(AHEAD_OF_CLOCK_MS).ms() < block_time.ms()
}

impl CheckedClock {
    /// Takes in the facts of a look at `at`, with the servers' difference at that time
    /// ([`servers_ahead_ms`]). Returns the evidence against the clock.
    pub fn look(
        &mut self,
        at: Timestamp,
        tip_time: Timestamp,
        median_time: Option<Timestamp>,
        servers_ahead_ms: Option<i64>,
    ) -> Option<ClockFault> {
        let is_anew =
            self.looked_at.is_none_or(|before| at > before.plus_ms(CONFIRMED_ANEW_AFTER_MS));
        let age_ms = at.ms().saturating_sub(tip_time.ms());
        let is_confirmed = match servers_ahead_ms {
            Some(ahead_ms) => ahead_ms >= -RIGHT_MS,
            None => (self.is_confirmed && !is_anew) || age_ms <= YOUNG_MS,
        };
        *self = Self { is_confirmed, looked_at: Some(at), servers_ahead_ms };
        if let Some(ahead_ms) = servers_ahead_ms {
            let ahead = (ahead_ms < -RIGHT_MS)
                .then_some(ClockFault::IsAhead { by_ms: ahead_ms.saturating_neg() });
            let behind = (ahead_ms > RIGHT_MS).then_some(ClockFault::IsBehind { by_ms: ahead_ms });
            return ahead.or(behind);
        }
        let behind_ms = median_time.map_or(0, |median| median.ms().saturating_sub(at.ms()));
        if behind_ms > 0 || age_ms < -AHEAD_OF_CLOCK_MS {
            let by_ms = if age_ms < -AHEAD_OF_CLOCK_MS { -age_ms } else { behind_ms };
            return Some(ClockFault::IsBehind { by_ms });
        }
        (!self.is_confirmed).then_some(ClockFault::MayBeAhead { by_ms: age_ms })
    }

    /// Whether a look at `at` may close a payment with this deadline. It may if the clock is
    /// confirmed or the best block is past the deadline. Servers that contradict the clock allow it
    /// once their own time is past the deadline; without servers, a day past it is enough.
    #[must_use]
    pub(crate) fn may_close(
        &self,
        deadline: Timestamp,
        at: Timestamp,
        tip_time: Timestamp,
    ) -> bool {
        let is_past_elsewhere = match self.servers_ahead_ms {
            Some(ahead_ms) => at.plus_ms(ahead_ms) > deadline,
            None => at > deadline.plus_ms(PUT_OFF_MAX_MS),
        };
        self.is_confirmed || tip_time > deadline || is_past_elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_MS: i64 = 60_000;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_ms(1_700_000_000_000).plus_ms(minutes * MINUTE_MS)
    }

    #[test]
    fn a_clock_an_hour_ahead_closes_after_a_block_past_the_deadline() {
        let mut clock = CheckedClock::default();
        // The true time is 0; the machine says 60.
        assert_eq!(
            clock.look(at(60), at(-5), None, None),
            Some(ClockFault::MayBeAhead { by_ms: 65 * MINUTE_MS })
        );
        assert!(
            !clock.may_close(at(30), at(60), at(-5)),
            "the deadline is still half an hour away"
        );
        assert!(clock.look(at(85), at(20), None, None).is_some());
        assert!(!clock.may_close(at(30), at(85), at(20)));
        assert!(clock.may_close(at(30), at(95), at(31)), "the best block is past the deadline");
    }

    #[test]
    fn old_blocks_keep_a_payment_open_for_a_day_at_most() {
        let mut clock = CheckedClock::default();
        let old = at(-100 * 24 * 60);
        assert!(clock.look(at(0), old, None, None).is_some());
        assert!(!clock.may_close(at(-23 * 60), at(0), old));
        assert!(clock.may_close(at(-24 * 60 - 1), at(0), old));
    }

    #[test]
    fn a_confirmed_clock_stays_confirmed_during_a_long_gap() {
        let mut clock = CheckedClock::default();
        assert_eq!(clock.look(at(0), at(-39), None, None), None);
        for minute in 1..300 {
            assert_eq!(clock.look(at(minute), at(-39), None, None), None);
        }
        assert!(clock.may_close(at(299), at(300), at(-39)));
    }

    #[test]
    fn a_clock_is_confirmed_anew_after_a_step_or_a_sleep() {
        let mut clock = CheckedClock::default();
        assert_eq!(clock.look(at(0), at(-10), None, None), None);
        assert!(clock.look(at(60), at(-10), None, None).is_some());
        assert!(!clock.may_close(at(30), at(60), at(-10)));
        assert_eq!(clock.look(at(61), at(55), None, None), None);
        assert!(clock.may_close(at(30), at(61), at(55)));
    }

    #[test]
    fn a_clock_behind_is_reported_and_never_closes_early() {
        let mut clock = CheckedClock::default();
        assert_eq!(
            clock.look(at(0), at(90), None, None),
            Some(ClockFault::IsBehind { by_ms: 90 * MINUTE_MS })
        );
        assert_eq!(
            clock.look(at(1), at(30), Some(at(11)), None),
            Some(ClockFault::IsBehind { by_ms: 10 * MINUTE_MS })
        );
        // A smaller difference may be an error of the miner's clock.
        assert_eq!(clock.look(at(2), at(30), Some(at(-20)), None), None);
    }

    #[test]
    fn servers_count_if_two_agree_and_are_the_majority() {
        let minutes = |told: &[i64]| {
            servers_ahead_ms(told.iter().map(|told| told * MINUTE_MS).collect())
                .map(|ahead_ms| ahead_ms / MINUTE_MS)
        };
        assert_eq!(minutes(&[]), None);
        assert_eq!(minutes(&[-60]), None, "a single server may be wrong");
        assert_eq!(minutes(&[-60, 0]), None);
        assert_eq!(minutes(&[-60, -60, 0]), Some(-60));
        assert_eq!(minutes(&[0, -60, 0, 500, 1]), Some(0));
        assert_eq!(minutes(&[0, 0, 90, 90]), None);
        assert_eq!(servers_ahead_ms(vec![i64::MIN, i64::MAX]), None);
    }

    #[test]
    fn a_clock_days_ahead_closes_by_the_servers_time() {
        let (mut clock, ahead) = (CheckedClock::default(), 3 * 24 * 60);
        let by_ms = ahead * MINUTE_MS;
        let look = |clock: &mut CheckedClock, true_time: i64| {
            clock.look(at(true_time + ahead), at(-300), None, Some(-by_ms))
        };
        assert_eq!(look(&mut clock, 0), Some(ClockFault::IsAhead { by_ms }));
        assert!(
            !clock.may_close(at(30), at(ahead), at(-300)),
            "the deadline is still half an hour away"
        );
        assert_eq!(look(&mut clock, 31), Some(ClockFault::IsAhead { by_ms }));
        assert!(
            clock.may_close(at(30), at(31 + ahead), at(-300)),
            "no block past the deadline is needed"
        );
    }

    #[test]
    fn a_block_over_an_hour_ahead_shows_a_clock_behind() {
        assert!(!is_behind_block(at(0), at(60)));
        assert!(is_behind_block(at(0), at(61)));
    }

    #[test]
    fn servers_that_tell_the_time_outweigh_young_blocks() {
        let mut clock = CheckedClock::default();
        assert_eq!(clock.look(at(0), at(-100), None, Some(-4 * MINUTE_MS)), None);
        assert!(clock.may_close(at(-1), at(0), at(-100)));
        let by_ms = 20 * MINUTE_MS;
        assert_eq!(
            clock.look(at(20), at(10), None, Some(-by_ms)),
            Some(ClockFault::IsAhead { by_ms })
        );
        assert!(!clock.may_close(at(15), at(20), at(10)));
        assert_eq!(
            clock.look(at(21), at(10), None, Some(by_ms)),
            Some(ClockFault::IsBehind { by_ms })
        );
    }
}
