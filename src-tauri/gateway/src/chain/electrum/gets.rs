//! Limits the transactions that are requested at once. Customers choose their sizes, which are unknown beforehand. A
//! server with small buffers hangs up at large ones; a slow line, or Tor, exceeds the time limit.

use bitcoin::Txid;

use super::put_off::PutOff;

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
    use bitcoin::hashes::Hash as _;

    use super::*;

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
