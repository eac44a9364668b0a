//! How many transactions a server is asked for at once. Customers choose how large they are, and nobody knows before: of large ones a server
//! that holds little ready for each client hangs up, and a slow line, or Tor, takes longer than is waited.

use bitcoin::Txid;

use super::put_off::PutOff;

/// So many at once where nothing is known: of usual sizes they are little.
const AT_ONCE: usize = 50;

/// How many fewer after a break, and more once it is long ago.
const STEP: usize = 4;

/// Blocks after which more are asked for at once again.
const RAISED_AFTER: u32 = 6;

/// What breaks have taught.
pub(super) struct Gets {
    at_once: usize,
    /// The height of the best block when that was last changed.
    changed_at: u32,
    /// Transactions that the server does not tell, though it is asked for one alone.
    put_off: PutOff<Txid>,
}

impl Default for Gets {
    fn default() -> Self {
        Self { at_once: AT_ONCE, changed_at: 0, put_off: PutOff::default() }
    }
}

impl Gets {
    /// How many the server is asked for at once, while the best block has this height.
    pub(super) fn at_once(&mut self, height: u32) -> usize {
        if self.at_once < AT_ONCE && height >= self.changed_at.saturating_add(RAISED_AFTER) {
            (self.at_once, self.changed_at) = (self.at_once.saturating_mul(STEP).min(AT_ONCE), height);
        }
        self.at_once
    }

    /// The server broke off, or did not answer in time, when it was asked for these.
    pub(super) fn note_break(&mut self, txids: &[Txid], height: u32) {
        match txids {
            // Once may be chance, and says nothing of many.
            [_] => self.put_off.note_break(txids, height),
            _ => (self.at_once, self.changed_at) = ((txids.len() / STEP).max(1), height),
        }
    }

    /// Whether the server is not to be asked for a transaction, for it did not tell it.
    pub(super) fn is_put_off(&self, txid: &Txid, height: u32) -> bool {
        self.put_off.holds(txid, height)
    }

    /// The server told a transaction.
    pub(super) fn note_told(&mut self, txid: &Txid) {
        self.put_off.forget(txid);
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::hashes::Hash as _;

    use super::*;

    #[test]
    fn after_a_break_fewer_are_asked_for_and_an_hour_later_more_again() {
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
