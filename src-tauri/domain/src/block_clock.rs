//! Whether a clock may be believed, as far as the times of blocks tell.
//!
//! A block's time may be two hours ahead of the network's and an hour behind it, and a server may keep blocks back. So a
//! block that is young by the clock confirms it, and none that is old proves it wrong: a doubt puts off what the clock alone
//! would close, and for a day at most.

use crate::time::Timestamp;

/// A best block that is no older confirms the clock.
const YOUNG_MS: i64 = 40 * 60_000;

/// A best block that is this far ahead shows that the clock is behind.
const AHEAD_OF_CLOCK_MS: i64 = 3_600_000;

/// After looks failed for so long, after a sleep and after a step of the clock by as much it is to be confirmed anew.
const CONFIRMED_ANEW_AFTER_MS: i64 = 10 * 60_000;

/// However old the blocks are that are shown, nothing stays open for longer than this after its deadline.
const PUT_OFF_MAX_MS: i64 = 24 * 3_600_000;

/// What the times of blocks say against a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockDoubt {
    /// No block was young by it since it began to run: it is ahead, or no block came.
    MayBeAhead {
        /// The age of the best block.
        by_ms: i64,
    },
    /// Blocks are of times that have not come by it.
    IsBehind {
        /// By how much at least.
        by_ms: i64,
    },
}

/// A clock that blocks confirm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockClock {
    is_confirmed: bool,
    looked_at: Option<Timestamp>,
}

impl BlockClock {
    /// Takes over what a look at `at` shows, and answers what it says against the clock.
    pub fn look(&mut self, at: Timestamp, tip_time: Timestamp, median_time: Option<Timestamp>) -> Option<ClockDoubt> {
        let is_anew = self.looked_at.is_none_or(|before| at > before.plus_ms(CONFIRMED_ANEW_AFTER_MS));
        let age_ms = at.ms().saturating_sub(tip_time.ms());
        let behind_ms = median_time.map_or(0, |median| median.ms().saturating_sub(at.ms()));
        *self = Self { is_confirmed: (self.is_confirmed && !is_anew) || age_ms <= YOUNG_MS, looked_at: Some(at) };
        if behind_ms > 0 || age_ms < -AHEAD_OF_CLOCK_MS {
            let by_ms = if age_ms < -AHEAD_OF_CLOCK_MS { -age_ms } else { behind_ms };
            return Some(ClockDoubt::IsBehind { by_ms });
        }
        (!self.is_confirmed).then_some(ClockDoubt::MayBeAhead { by_ms: age_ms })
    }

    /// Whether a look at `at` may close what has this deadline: by a clock that is confirmed, or where the best block is past the
    /// deadline too, or it is past by a day.
    #[must_use]
    pub fn may_close(&self, deadline: Timestamp, at: Timestamp, tip_time: Timestamp) -> bool {
        self.is_confirmed || tip_time > deadline || at > deadline.plus_ms(PUT_OFF_MAX_MS)
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
        let mut clock = BlockClock::default();
        // The true time is 0; the machine says 60.
        assert_eq!(clock.look(at(60), at(-5), None), Some(ClockDoubt::MayBeAhead { by_ms: 65 * MINUTE_MS }));
        assert!(!clock.may_close(at(30), at(60), at(-5)), "it has half an hour");
        assert!(clock.look(at(85), at(20), None).is_some());
        assert!(!clock.may_close(at(30), at(85), at(20)));
        assert!(clock.may_close(at(30), at(95), at(31)), "blocks are past it");
    }

    #[test]
    fn a_server_that_shows_only_old_blocks_keeps_nothing_open_for_more_than_a_day() {
        let mut clock = BlockClock::default();
        let old = at(-100 * 24 * 60);
        assert!(clock.look(at(0), old, None).is_some());
        assert!(!clock.may_close(at(-23 * 60), at(0), old));
        assert!(clock.may_close(at(-24 * 60 - 1), at(0), old));
    }

    #[test]
    fn a_clock_that_a_young_block_confirmed_stays_so_however_long_the_next_block_takes() {
        let mut clock = BlockClock::default();
        assert_eq!(clock.look(at(0), at(-39), None), None);
        for minute in 1..300 {
            assert_eq!(clock.look(at(minute), at(-39), None), None);
        }
        assert!(clock.may_close(at(299), at(300), at(-39)));
    }

    #[test]
    fn after_a_step_or_a_sleep_it_is_confirmed_anew() {
        let mut clock = BlockClock::default();
        assert_eq!(clock.look(at(0), at(-10), None), None);
        assert!(clock.look(at(60), at(-10), None).is_some());
        assert!(!clock.may_close(at(30), at(60), at(-10)));
        assert_eq!(clock.look(at(61), at(55), None), None);
        assert!(clock.may_close(at(30), at(61), at(55)));
    }

    #[test]
    fn a_clock_that_is_behind_is_told_and_closes_late_and_never_early() {
        let mut clock = BlockClock::default();
        assert_eq!(clock.look(at(0), at(90), None), Some(ClockDoubt::IsBehind { by_ms: 90 * MINUTE_MS }));
        assert_eq!(clock.look(at(1), at(30), Some(at(11))), Some(ClockDoubt::IsBehind { by_ms: 10 * MINUTE_MS }));
        // A miner's clock may be off by less.
        assert_eq!(clock.look(at(2), at(30), Some(at(-20))), None);
    }
}
