//! Scripts and transactions of customers that are too long for a server to tell. Asking again in each look would cost
//! as much and tell as little.

use std::collections::{BTreeMap, BTreeSet};

/// Blocks between two questions at most.
const SPAN_MAX: u32 = 144;

/// Subjects remembered at most.
const SUBJECTS_MAX: usize = 20_000;

/// The subjects that are put off, each with its end.
#[derive(Debug)]
pub(super) struct PutOff<K> {
    resting: BTreeMap<K, Rest>,
    broken_once: BTreeSet<K>,
}

#[derive(Debug)]
struct Rest {
    until: u32,
    span: u32,
}

impl<K> Default for PutOff<K> {
    fn default() -> Self {
        Self { resting: BTreeMap::new(), broken_once: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> PutOff<K> {
    /// Whether not to ask about a subject at this height of the best block.
    pub(super) fn holds(&self, subject: &K, height: u32) -> bool {
        self.resting.get(subject).is_some_and(|rest| height < rest.until)
    }

    /// Notes a question without an answer. The next one follows with the next block, then after twice as many blocks
    /// each time.
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

    /// The server broke off when it was asked about these. Once may be chance; a subject is put off after the second
    /// break.
    pub(super) fn note_break(&mut self, subjects: &[K], height: u32) {
        for subject in subjects {
            if self.broken_once.contains(subject) {
                self.note(subject, height);
                continue;
            }
            if self.broken_once.len() >= SUBJECTS_MAX {
                self.broken_once.pop_first();
            }
            self.broken_once.insert(subject.clone());
        }
    }

    /// The server told the subject completely.
    pub(super) fn forget(&mut self, subject: &K) {
        self.resting.remove(subject);
        self.broken_once.remove(subject);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_asked_about_more_and_more_rarely() {
        let (mut put_off, script) = (PutOff::default(), 1);
        assert!(!put_off.holds(&script, 100));
        let mut asked = Vec::new();
        for height in 100..1_000 {
            if !put_off.holds(&script, height) {
                asked.push(height);
                // However often in a block.
                (0..3).for_each(|_| put_off.note(&script, height));
            }
        }
        assert_eq!(asked[..9], [100, 101, 103, 107, 115, 131, 163, 227, 355]);
        assert!(asked.windows(2).all(|two| two[1] - two[0] <= SPAN_MAX));
        put_off.forget(&script);
        assert!(!put_off.holds(&script, 1_000));
    }
}
