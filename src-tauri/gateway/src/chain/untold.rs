//! What strangers chose and of which a server told nothing: it is too long for it, or for whoever asks. Asking again with each look would
//! cost each as much, and tell as little.

use std::collections::{BTreeMap, BTreeSet};

/// Blocks between two questions at most.
const SPAN_MAX: u32 = 144;

/// Subjects that are remembered.
const SUBJECTS_MAX: usize = 20_000;

/// Until when nothing is asked about what.
#[derive(Debug)]
pub(super) struct Untold<K> {
    resting: BTreeMap<K, Rest>,
    suspects: BTreeSet<K>,
}

#[derive(Debug)]
struct Rest {
    until: u32,
    span: u32,
}

impl<K> Default for Untold<K> {
    fn default() -> Self {
        Self { resting: BTreeMap::new(), suspects: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> Untold<K> {
    /// Whether nothing is to be asked about a subject while the best block has this height.
    pub(super) fn holds(&self, subject: &K, height: u32) -> bool {
        self.resting.get(subject).is_some_and(|rest| height < rest.until)
    }

    /// Nothing was told of a subject: it is asked about with the next block, and then after twice as many each time.
    pub(super) fn note(&mut self, subject: &K, height: u32) {
        if self.holds(subject, height) {
            return;
        }
        if self.resting.len() >= SUBJECTS_MAX {
            self.resting.pop_first();
        }
        let span = self.resting.get(subject).map_or(1, |rest| rest.span.saturating_mul(2).min(SPAN_MAX));
        self.resting.insert(subject.clone(), Rest { until: height.saturating_add(span), span });
    }

    /// The server broke off when it was asked about these. Once may be chance; of what it does so twice before it told all of it, it tells
    /// nothing.
    pub(super) fn note_break(&mut self, subjects: &[K], height: u32) {
        for subject in subjects {
            if self.suspects.contains(subject) {
                self.note(subject, height);
                continue;
            }
            if self.suspects.len() >= SUBJECTS_MAX {
                self.suspects.pop_first();
            }
            self.suspects.insert(subject.clone());
        }
    }

    /// Whether the server broke off at a subject, or at one that it was asked about with it.
    pub(super) fn is_suspect(&self, subject: &K) -> bool {
        self.suspects.contains(subject)
    }

    /// All was told of a subject.
    pub(super) fn forget(&mut self, subject: &K) {
        self.resting.remove(subject);
        self.suspects.remove(subject);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_asked_about_with_the_next_block_and_then_ever_more_rarely() {
        let (mut untold, script) = (Untold::default(), 1);
        assert!(!untold.holds(&script, 100));
        let mut asked = Vec::new();
        for height in 100..1_000 {
            if !untold.holds(&script, height) {
                asked.push(height);
                // However often in a block.
                (0..3).for_each(|_| untold.note(&script, height));
            }
        }
        assert_eq!(asked[..9], [100, 101, 103, 107, 115, 131, 163, 227, 355]);
        assert!(asked.windows(2).all(|two| two[1] - two[0] <= SPAN_MAX));
        untold.forget(&script);
        assert!(!untold.holds(&script, 1_000));
    }
}
