//! Whether a clock may be believed, as far as the times of blocks and of other people's servers tell.
//!
//! A block's time may be two hours ahead of the network's and an hour behind it, and a server may keep blocks back. So a
//! block that is young by the clock confirms it, and none that is old proves it wrong: a fault puts off what the clock alone
//! would close, and for a day at most. Where several sources of exchange rates agree on the time, that decides instead.

use crate::time::Timestamp;

/// A best block that is no older confirms the clock.
const YOUNG_MS: i64 = 40 * 60_000;

/// A best block that is this far ahead shows that the clock is behind.
const AHEAD_OF_CLOCK_MS: i64 = 3_600_000;

/// After looks failed for so long, after a sleep and after a step of the clock by as much it is to be confirmed anew.
const CONFIRMED_ANEW_AFTER_MS: i64 = 10 * 60_000;

/// However old the blocks are that are shown, nothing stays open for longer than this after its deadline by a clock that no
/// server contradicts.
const PUT_OFF_MAX_MS: i64 = 24 * 3_600_000;

/// Servers agree whose times differ by no more. An answer may be ten seconds on its way, and a time is told in seconds.
const SERVERS_AGREE_MS: i64 = 60_000;

/// A clock that is off by no more is right: so much is nobody's loss.
const RIGHT_MS: i64 = 5 * 60_000;

/// A time that was stored may be ahead of the clock by this: the system sets it right by seconds all the time.
const STORED_AHEAD_MS: i64 = 60_000;

/// What speaks against a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockFault {
    /// No block was young by it since it began to run, and no servers confirm it: it is ahead, or no block came.
    MayBeAhead {
        /// The age of the best block.
        by_ms: i64,
    },
    /// It is ahead of what several servers agree on.
    IsAhead {
        /// By how much.
        by_ms: i64,
    },
    /// Blocks, or several servers, are of times that have not come by it.
    IsBehind {
        /// By how much at least.
        by_ms: i64,
    },
}

/// A clock, and what was learned of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckedClock {
    is_confirmed: bool,
    looked_at: Option<Timestamp>,
    servers_ahead_ms: Option<i64>,
}

/// By how much the servers are ahead of a clock, where each told its time; less than nothing where they are behind it. `None`
/// where fewer than two agree, or they are not most of those that told.
#[must_use]
pub fn servers_ahead_ms(mut told_ms: Vec<i64>) -> Option<i64> {
    told_ms.sort_unstable();
    let middle = *told_ms.get(told_ms.len().checked_sub(1)? / 2)?;
    let agree = told_ms.iter().filter(|ahead_ms| ahead_ms.abs_diff(middle) <= SERVERS_AGREE_MS.unsigned_abs()).count();
    (agree >= 2 && agree > told_ms.len() / 2).then_some(middle)
}

/// The latest time that can have been stored by a clock like the one that shows `now`. What has a later one was made by a clock that
/// was ahead, or this one is behind: a running clock never goes back.
#[must_use]
pub const fn latest_stored(now: Timestamp) -> Timestamp {
    now.plus_ms(STORED_AHEAD_MS)
}

/// Whether a block's time shows that the clock which shows `now` is behind: no miner's clock is so far ahead.
#[must_use]
pub const fn is_behind_block(now: Timestamp, block_time: Timestamp) -> bool {
    now.plus_ms(AHEAD_OF_CLOCK_MS).ms() < block_time.ms()
}

impl CheckedClock {
    /// Takes over what a look at `at` shows, with what servers tell at that time ([`servers_ahead_ms`]), and answers what
    /// speaks against the clock.
    pub fn look(
        &mut self,
        at: Timestamp,
        tip_time: Timestamp,
        median_time: Option<Timestamp>,
        servers_ahead_ms: Option<i64>,
    ) -> Option<ClockFault> {
        let is_anew = self.looked_at.is_none_or(|before| at > before.plus_ms(CONFIRMED_ANEW_AFTER_MS));
        let age_ms = at.ms().saturating_sub(tip_time.ms());
        let is_confirmed = match servers_ahead_ms {
            Some(ahead_ms) => ahead_ms >= -RIGHT_MS,
            None => (self.is_confirmed && !is_anew) || age_ms <= YOUNG_MS,
        };
        *self = Self { is_confirmed, looked_at: Some(at), servers_ahead_ms };
        if let Some(ahead_ms) = servers_ahead_ms {
            let ahead = (ahead_ms < -RIGHT_MS).then_some(ClockFault::IsAhead { by_ms: ahead_ms.saturating_neg() });
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

    /// Whether a look at `at` may close what has this deadline: by a clock that is confirmed, where the best block is past the
    /// deadline too, or where the servers are that contradict the clock; where none does, once it is past by a day.
    #[must_use]
    pub fn may_close(&self, deadline: Timestamp, at: Timestamp, tip_time: Timestamp) -> bool {
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
    fn a_clock_an_hour_ahead_closes_nothing_before_its_deadline_by_the_blocks() {
        let mut clock = CheckedClock::default();
        // The true time is 0; the machine says 60.
        assert_eq!(clock.look(at(60), at(-5), None, None), Some(ClockFault::MayBeAhead { by_ms: 65 * MINUTE_MS }));
        assert!(!clock.may_close(at(30), at(60), at(-5)), "it has half an hour");
        assert!(clock.look(at(85), at(20), None, None).is_some());
        assert!(!clock.may_close(at(30), at(85), at(20)));
        assert!(clock.may_close(at(30), at(95), at(31)), "blocks are past it");
    }

    #[test]
    fn a_server_that_shows_only_old_blocks_keeps_nothing_open_for_more_than_a_day() {
        let mut clock = CheckedClock::default();
        let old = at(-100 * 24 * 60);
        assert!(clock.look(at(0), old, None, None).is_some());
        assert!(!clock.may_close(at(-23 * 60), at(0), old));
        assert!(clock.may_close(at(-24 * 60 - 1), at(0), old));
    }

    #[test]
    fn a_clock_that_a_young_block_confirmed_stays_so_however_long_the_next_block_takes() {
        let mut clock = CheckedClock::default();
        assert_eq!(clock.look(at(0), at(-39), None, None), None);
        for minute in 1..300 {
            assert_eq!(clock.look(at(minute), at(-39), None, None), None);
        }
        assert!(clock.may_close(at(299), at(300), at(-39)));
    }

    #[test]
    fn after_a_step_or_a_sleep_it_is_confirmed_anew() {
        let mut clock = CheckedClock::default();
        assert_eq!(clock.look(at(0), at(-10), None, None), None);
        assert!(clock.look(at(60), at(-10), None, None).is_some());
        assert!(!clock.may_close(at(30), at(60), at(-10)));
        assert_eq!(clock.look(at(61), at(55), None, None), None);
        assert!(clock.may_close(at(30), at(61), at(55)));
    }

    #[test]
    fn a_clock_that_is_behind_is_told_and_closes_late_and_never_early() {
        let mut clock = CheckedClock::default();
        assert_eq!(clock.look(at(0), at(90), None, None), Some(ClockFault::IsBehind { by_ms: 90 * MINUTE_MS }));
        assert_eq!(clock.look(at(1), at(30), Some(at(11)), None), Some(ClockFault::IsBehind { by_ms: 10 * MINUTE_MS }));
        // A miner's clock may be off by less.
        assert_eq!(clock.look(at(2), at(30), Some(at(-20)), None), None);
    }

    #[test]
    fn servers_are_heard_where_two_agree_and_they_are_most_of_those_that_told() {
        let minutes = |told: &[i64]| {
            servers_ahead_ms(told.iter().map(|told| told * MINUTE_MS).collect()).map(|ahead_ms| ahead_ms / MINUTE_MS)
        };
        assert_eq!(minutes(&[]), None);
        assert_eq!(minutes(&[-60]), None, "one may be wrong itself");
        assert_eq!(minutes(&[-60, 0]), None);
        assert_eq!(minutes(&[-60, -60, 0]), Some(-60));
        assert_eq!(minutes(&[0, -60, 0, 500, 1]), Some(0));
        assert_eq!(minutes(&[0, 0, 90, 90]), None);
        assert_eq!(servers_ahead_ms(vec![i64::MIN, i64::MAX]), None);
    }

    #[test]
    fn a_clock_days_ahead_closes_nothing_before_its_deadline_by_the_servers() {
        let (mut clock, ahead) = (CheckedClock::default(), 3 * 24 * 60);
        let by_ms = ahead * MINUTE_MS;
        let look =
            |clock: &mut CheckedClock, true_time: i64| clock.look(at(true_time + ahead), at(-300), None, Some(-by_ms));
        assert_eq!(look(&mut clock, 0), Some(ClockFault::IsAhead { by_ms }));
        assert!(!clock.may_close(at(30), at(ahead), at(-300)), "it has half an hour");
        assert_eq!(look(&mut clock, 31), Some(ClockFault::IsAhead { by_ms }));
        assert!(clock.may_close(at(30), at(31 + ahead), at(-300)), "no block is needed for it");
    }

    #[test]
    fn a_block_shows_that_a_clock_is_behind_where_no_miners_clock_is_so_far_ahead() {
        assert!(!is_behind_block(at(0), at(60)));
        assert!(is_behind_block(at(0), at(61)));
    }

    #[test]
    fn a_clock_that_servers_confirm_needs_no_young_block_and_one_that_they_contradict_finds_none_young_enough() {
        let mut clock = CheckedClock::default();
        assert_eq!(clock.look(at(0), at(-100), None, Some(-4 * MINUTE_MS)), None);
        assert!(clock.may_close(at(-1), at(0), at(-100)));
        let by_ms = 20 * MINUTE_MS;
        assert_eq!(clock.look(at(20), at(10), None, Some(-by_ms)), Some(ClockFault::IsAhead { by_ms }));
        assert!(!clock.may_close(at(15), at(20), at(10)));
        assert_eq!(clock.look(at(21), at(10), None, Some(by_ms)), Some(ClockFault::IsBehind { by_ms }));
    }
}
