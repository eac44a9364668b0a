//! Limits learnt from a server that hangs up. A transaction or a script's history that a customer
//! chose may be too large for the server. A repetition in each look would fail at the same cost.
//! Transaction sizes are unknown beforehand. A server with small buffers hangs up at large
//! transactions; a slow line, or Tor, exceeds the timeout.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::Txid;

/// The longest wait between two requests, in blocks.
const SPAN_MAX: u32 = 144;

/// Limit of remembered scripts or transactions.
const SUBJECTS_MAX: usize = 20_000;

/// Scripts or transactions (`K`) that must not be requested for some blocks.
#[derive(Debug)]
pub struct Backoff<K> {
    waits: BTreeMap<K, Wait>,
    broken_once: BTreeSet<K>,
}

#[derive(Debug)]
struct Wait {
    until: u32,
    span: u32,
}

impl<K> Default for Backoff<K> {
    fn default() -> Self {
        Self { waits: BTreeMap::new(), broken_once: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> Backoff<K> {
    /// Whether a subject must not be requested yet at this tip height.
    pub fn is_waiting(&self, subject: &K, height: u32) -> bool {
        self.waits.get(subject).is_some_and(|wait| height < wait.until)
    }

    /// Notes a request without an answer. The next request waits for one block, then for twice as
    /// many blocks each time.
    pub fn note_failure(&mut self, subject: &K, height: u32) {
        if self.is_waiting(subject, height) {
            return;
        }
        if self.waits.len() >= SUBJECTS_MAX {
            self.waits.pop_first();
        }
        let span =
            self.waits.get(subject).map_or(1, |wait| wait.span.saturating_mul(2).min(SPAN_MAX));
        self.waits.insert(subject.clone(), Wait { until: height.saturating_add(span), span });
    }

    /// Notes that a request for these subjects failed. The first failure may be chance; a subject
    /// waits after the second.
    pub fn note_break(&mut self, subjects: &[K], height: u32) {
        for subject in subjects {
            if self.broken_once.contains(subject) {
                self.note_failure(subject, height);
                continue;
            }
            if self.broken_once.len() >= SUBJECTS_MAX {
                self.broken_once.pop_first();
            }
            self.broken_once.insert(subject.clone());
        }
    }

    /// Ends the wait, because the server delivered the subject.
    pub fn forget(&mut self, subject: &K) {
        self.waits.remove(subject);
        self.broken_once.remove(subject);
    }
}

/// Transactions in one batch by default: few bytes at usual sizes.
const SIZE_MAX: usize = 50;

/// The factor of each decrease and increase of the batch size.
const STEP: usize = 4;

/// Blocks until the batch size rises again.
const RAISED_AFTER: u32 = 6;

/// The number of transactions that are requested at once, learnt from earlier failures.
pub struct BatchSize {
    size: usize,
    /// The tip height at the last change of the size.
    changed_at: u32,
    /// Transactions that the server did not deliver even when requested alone.
    backoff: Backoff<Txid>,
}

impl Default for BatchSize {
    fn default() -> Self {
        Self { size: SIZE_MAX, changed_at: 0, backoff: Backoff::default() }
    }
}

impl BatchSize {
    /// The batch size at this tip height, raised if that is due.
    pub fn current(&mut self, height: u32) -> usize {
        if self.size < SIZE_MAX && height >= self.changed_at.saturating_add(RAISED_AFTER) {
            (self.size, self.changed_at) = (self.size.saturating_mul(STEP).min(SIZE_MAX), height);
        }
        self.size
    }

    /// Notes that the server hung up or timed out at these transactions.
    pub fn note_break(&mut self, txids: &[Txid], height: u32) {
        match txids {
            // The failure of a single transaction says nothing about the batch size.
            [_] => self.backoff.note_break(txids, height),
            _ => (self.size, self.changed_at) = ((txids.len() / STEP).max(1), height),
        }
    }

    /// Whether an undelivered transaction must not be requested yet at this tip height.
    pub fn is_backed_off(&self, txid: &Txid, height: u32) -> bool {
        self.backoff.is_waiting(txid, height)
    }

    pub fn note_delivered(&mut self, txid: &Txid) {
        self.backoff.forget(txid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::hashes::Hash as _;

    #[test]
    fn wait_for_a_script_doubles_up_to_144_blocks() {
        let (mut backoff, script) = (Backoff::default(), 1);
        assert!(!backoff.is_waiting(&script, 100));
        let mut asked = Vec::new();
        for height in 100..1_000 {
            if !backoff.is_waiting(&script, height) {
                asked.push(height);
                // Several failures in one block count once.
                (0..3).for_each(|_| backoff.note_failure(&script, height));
            }
        }
        assert_eq!(asked[..9], [100, 101, 103, 107, 115, 131, 163, 227, 355]);
        assert!(asked.windows(2).all(|two| two[1] - two[0] <= SPAN_MAX));
        backoff.forget(&script);
        assert!(!backoff.is_waiting(&script, 1_000));
    }

    #[test]
    fn batch_size_falls_after_failures_and_rises_with_blocks() {
        let (mut batch_size, txids) =
            (BatchSize::default(), [0; 50].map(|number| Txid::from_byte_array([number; 32])));
        let mut asked = Vec::new();
        for _ in 0..5 {
            let at_once = batch_size.current(100);
            asked.push(at_once);
            batch_size.note_break(&txids[..at_once], 100);
        }
        assert_eq!(asked, [50, 12, 3, 1, 1]);
        assert!(
            batch_size.is_backed_off(&txids[0], 100) && !batch_size.is_backed_off(&txids[0], 101),
            "a transaction that failed alone twice waits one block"
        );
        let mut after_chance = BatchSize::default();
        after_chance.note_break(&txids[..1], 100);
        assert!(after_chance.current(100) == 50 && !after_chance.is_backed_off(&txids[0], 100));
        assert_eq!(
            [105, 106, 107, 112, 118, 124].map(|height| batch_size.current(height)),
            [1, 4, 4, 16, 50, 50]
        );
    }
}
