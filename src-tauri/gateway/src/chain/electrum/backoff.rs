//! Limits learnt from a server that breaks off. Scripts and transactions of customers may be too long for it: asking
//! again in each look would cost as much and tell as little. The sizes of transactions are unknown beforehand. A server
//! with small buffers hangs up at large ones; a slow line, or Tor, exceeds the time limit.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::Txid;

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

/// Transactions at once by default: little data at usual sizes.
const AT_ONCE: usize = 50;

/// The factor of a decrease after a break, and of a later increase.
const STEP: usize = 4;

/// Blocks after which the number rises again.
const RAISED_AFTER: u32 = 6;

/// The limits learnt from earlier breaks.
pub(super) struct Gets {
    at_once: usize,
    /// The height of the best block at the last change.
    changed_at: u32,
    /// Transactions that the server does not deliver even if asked for one alone.
    put_off: PutOff<Txid>,
}

impl Default for Gets {
    fn default() -> Self {
        Self { at_once: AT_ONCE, changed_at: 0, put_off: PutOff::default() }
    }
}

impl Gets {
    /// The number to request at once, at this height of the best block.
    pub(super) fn at_once(&mut self, height: u32) -> usize {
        if self.at_once < AT_ONCE && height >= self.changed_at.saturating_add(RAISED_AFTER) {
            (self.at_once, self.changed_at) = (self.at_once.saturating_mul(STEP).min(AT_ONCE), height);
        }
        self.at_once
    }

    /// Notes that the server broke off or timed out at these transactions.
    pub(super) fn note_break(&mut self, txids: &[Txid], height: u32) {
        match txids {
            // A single break may be chance, and says nothing about the number.
            [_] => self.put_off.note_break(txids, height),
            _ => (self.at_once, self.changed_at) = ((txids.len() / STEP).max(1), height),
        }
    }

    /// Whether not to request a transaction that the server did not deliver.
    pub(super) fn is_put_off(&self, txid: &Txid, height: u32) -> bool {
        self.put_off.holds(txid, height)
    }

    pub(super) fn note_told(&mut self, txid: &Txid) {
        self.put_off.forget(txid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::hashes::Hash as _;

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

    #[test]
    fn after_a_break_fewer_are_asked_for_and_later_more_again() {
        let (mut gets, txids) = (Gets::default(), [0; 50].map(|number| Txid::from_byte_array([number; 32])));
        let mut asked = Vec::new();
        for _ in 0..5 {
            let at_once = gets.at_once(100);
            asked.push(at_once);
            gets.note_break(&txids[..at_once], 100);
        }
        assert_eq!(asked, [50, 12, 3, 1, 1]);
        assert!(
            gets.is_put_off(&txids[0], 100) && !gets.is_put_off(&txids[0], 101),
            "one that broke it off alone, twice"
        );
        let mut after_chance = Gets::default();
        after_chance.note_break(&txids[..1], 100);
        assert!(after_chance.at_once(100) == 50 && !after_chance.is_put_off(&txids[0], 100));
        assert_eq!([105, 106, 107, 112, 118, 124].map(|height| gets.at_once(height)), [1, 4, 4, 16, 50, 50]);
    }
}
