//! An upper bound of a sum that is slow to count, kept in memory between counts. An addition is
//! reserved before its transaction and kept after the commit. Only a count and a release lower the
//! bound.

use std::time::Duration;

use tokio::time::Instant;

/// Pause between counts, as a multiple of the last count's duration. Counting thus takes at most a
/// twentieth of the time.
const COUNT_PAUSE_FACTOR: u32 = 20;

#[derive(Debug, Default)]
pub struct UpperBound {
    /// The last count plus additions kept since; `None` before the first count.
    at_most: Option<u64>,
    /// Reserved additions whose transactions have not ended.
    reserved: u64,
    /// Additions kept since the program started.
    kept: u64,
    /// Earliest time of the next count.
    count_again_at: Option<Instant>,
}

/// The begin of a count.
#[derive(Debug, Clone, Copy)]
pub struct Counting {
    started: Instant,
    kept_before: u64,
}

impl UpperBound {
    /// The bound with all reserved additions; `None` before the first count.
    pub fn sum(&self) -> Option<u64> {
        Some(self.at_most?.saturating_add(self.reserved))
    }

    /// Reserves `amount` if the sum then is at most `limit`. Returns false before the first count,
    /// too.
    #[must_use]
    pub fn reserve(&mut self, amount: u64, limit: u64) -> bool {
        let fits = self.sum().is_some_and(|sum| sum.saturating_add(amount) <= limit);
        if fits {
            self.reserved = self.reserved.saturating_add(amount);
        }
        fits
    }

    /// Ends a reservation whose addition was not made.
    pub fn release(&mut self, amount: u64) {
        self.reserved = self.reserved.saturating_sub(amount);
    }

    /// Ends a reservation whose addition may have been committed.
    pub fn keep(&mut self, amount: u64) {
        self.release(amount);
        self.kept = self.kept.saturating_add(amount);
        self.at_most = self.at_most.map(|at_most| at_most.saturating_add(amount));
    }

    /// Begins a count; `None` while the pause after the last count lasts.
    pub fn begin_count(&self, now: Instant) -> Option<Counting> {
        let pauses = self.at_most.is_some() && self.count_again_at.is_some_and(|at| now < at);
        (!pauses).then_some(Counting { started: now, kept_before: self.kept })
    }

    /// Stores the result of a count. An addition kept during the count may be missing from it, and
    /// is added.
    pub fn end_count(&mut self, counting: Counting, counted: u64, now: Instant) {
        self.at_most = Some(counted.saturating_add(self.kept.saturating_sub(counting.kept_before)));
        let pause =
            (now - counting.started).checked_mul(COUNT_PAUSE_FACTOR).unwrap_or(Duration::MAX);
        self.count_again_at = now.checked_add(pause);
    }

    /// Forgets the last count: the next reservation needs a new one.
    pub fn forget(&mut self) {
        self.at_most = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(bound: &mut UpperBound, sum: u64) {
        bound.forget();
        let counting = bound.begin_count(Instant::now()).unwrap();
        bound.end_count(counting, sum, Instant::now());
    }

    #[test]
    fn kept_additions_fill_the_limit_until_a_count() {
        let mut bound = UpperBound::default();
        assert!(!bound.reserve(0, 100), "reserved before the first count");
        counted(&mut bound, 40);
        assert!(bound.reserve(50, 100));
        assert!(!bound.reserve(11, 100));
        bound.keep(50);
        assert!(!bound.reserve(11, 100));
        counted(&mut bound, 0);
        assert!(bound.reserve(100, 100));
    }

    #[test]
    fn a_released_reservation_makes_room_at_once() {
        let mut bound = UpperBound::default();
        counted(&mut bound, 0);
        assert!(bound.reserve(100, 100));
        bound.release(100);
        assert!(bound.reserve(100, 100));
    }

    #[test]
    fn an_addition_kept_during_a_count_is_not_lost() {
        let mut bound = UpperBound::default();
        counted(&mut bound, 0);
        assert!(bound.reserve(1, 100) && bound.reserve(10, 100));
        bound.forget();
        let counting = bound.begin_count(Instant::now()).unwrap();
        bound.keep(10);
        bound.end_count(counting, 0, Instant::now());
        assert_eq!(bound.sum(), Some(11));
        bound.keep(1);
        assert_eq!(bound.sum(), Some(11));
    }

    #[test]
    fn a_slow_count_is_repeated_only_after_a_pause() {
        let mut bound = UpperBound::default();
        let seconds = |seconds| Duration::from_secs(seconds);
        let start = Instant::now();
        let counting = bound.begin_count(start).unwrap();
        bound.end_count(counting, 0, start + seconds(1));
        assert!(bound.begin_count(start + seconds(20)).is_none());
        assert!(bound.begin_count(start + seconds(21)).is_some());
    }
}
