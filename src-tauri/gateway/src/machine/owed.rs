//! The bytes that stored records may still cost, as an upper bound in memory. A new record adds its own bytes, and a fresh
//! count lowers the sum by all that was written meanwhile.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Between two counts there is so many times the duration of the last one.
const COUNT_PAUSE_FACTOR: u32 = 20;

/// The sum for one environment.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    sum: Mutex<Sum>,
    /// Held during a count: those that wait for it find the result.
    counting: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Sum {
    /// The last count and all that ended since; `None` before the first count.
    at_most: Option<u64>,
    /// Promises for records that may not be committed yet.
    under_way: u64,
    /// Promises that ended since the program started.
    ended: u64,
}

/// A promise of room for one record. It is dropped after the commit, or without one.
#[derive(Debug)]
pub(crate) struct Promise {
    owed: Arc<Owed>,
    bytes: u64,
}

impl Owed {
    /// The sum; 0 before the first count.
    pub(crate) fn bytes(&self) -> u64 {
        let sum = self.sum.lock();
        sum.at_most.unwrap_or(0).saturating_add(sum.under_way)
    }

    /// Adds a record's bytes, if all that is owed then fits into `room`. `None` before the first count, too.
    pub(crate) fn promise(self: &Arc<Self>, bytes: u64, room: u64) -> Option<Promise> {
        let mut sum = self.sum.lock();
        let owed = sum.at_most?.saturating_add(sum.under_way).saturating_add(bytes);
        if owed > room {
            return None;
        }
        sum.under_way = sum.under_way.saturating_add(bytes);
        Some(Promise { owed: Arc::clone(self), bytes })
    }

    /// Counts what is owed afresh, unless it was counted a moment ago.
    ///
    /// # Errors
    /// What `count` answered.
    pub(crate) fn count<E>(&self, count: impl FnOnce() -> Result<u64, E>) -> Result<(), E> {
        let mut count_again_at = self.counting.lock();
        let started = Instant::now();
        if count_again_at.is_some_and(|at| started < at) {
            return Ok(());
        }
        let ended_before = self.sum.lock().ended;
        let counted = count()?;
        {
            let mut sum = self.sum.lock();
            // A promise that ended during the count may be in it or not.
            sum.at_most = Some(counted.saturating_add(sum.ended.saturating_sub(ended_before)));
        }
        let pause = started.elapsed().checked_mul(COUNT_PAUSE_FACTOR).unwrap_or(Duration::MAX);
        *count_again_at = Instant::now().checked_add(pause);
        Ok(())
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let mut sum = self.owed.sum.lock();
        sum.under_way = sum.under_way.saturating_sub(self.bytes);
        sum.ended = sum.ended.saturating_add(self.bytes);
        sum.at_most = sum.at_most.map(|at_most| at_most.saturating_add(self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn count(owed: &Owed, bytes: u64) {
        *owed.counting.lock() = None;
        owed.count(|| Ok::<_, Infallible>(bytes)).unwrap();
    }

    #[test]
    fn promises_end_at_the_room_and_stay_owed_until_a_count() {
        let owed = Arc::new(Owed::default());
        assert!(owed.promise(0, 100).is_none(), "it was not counted yet");
        count(&owed, 40);
        let first = owed.promise(50, 100).unwrap();
        assert!(owed.promise(11, 100).is_none());
        drop(first);
        assert!(owed.promise(11, 100).is_none());
        count(&owed, 0);
        assert!(owed.promise(100, 100).is_some());
    }

    #[test]
    fn a_promise_during_a_count_is_not_lost() {
        let owed = Arc::new(Owed::default());
        count(&owed, 0);
        let (open, during) = (owed.promise(1, 100).unwrap(), owed.promise(10, 100).unwrap());
        *owed.counting.lock() = None;
        let counted = owed.count(|| {
            drop(during);
            Ok::<_, Infallible>(0)
        });
        counted.unwrap();
        assert_eq!(owed.bytes(), 11);
        drop(open);
        assert_eq!(owed.bytes(), 11);
    }
}
