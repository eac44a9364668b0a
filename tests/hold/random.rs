//! Random numbers that a seed reproduces (SplitMix64).

use std::time::Duration;

/// A source of random numbers; the same seed gives the same numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// True with this probability.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the items; `None` if there are none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() {
            None
        } else {
            from.get(usize::try_from(self.below(from.len() as u64)).unwrap())
        }
    }

    /// A time from 0 to `max_ms` milliseconds.
    pub fn pause(&mut self, max_ms: u64) -> Duration {
        Duration::from_millis(self.below(max_ms.saturating_add(1)))
    }

    /// A new source, for a separate task.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
