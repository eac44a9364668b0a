//! How much is taken of what a server says that its mempool holds. Nothing proves it, so that a server could make up as much as
//! it likes: it is bounded for each transaction, for each script and altogether.

use bitcoin::Transaction;
use bitcoin::policy::MAX_STANDARD_TX_WEIGHT;

/// Unconfirmed transactions of one script at most. One that has more is not told of.
pub(super) const OF_SCRIPT_MAX: usize = 200;

/// Bytes of all unconfirmed transactions that are followed at most, missing ones among them. Beyond that what is new waits until a
/// block holds it.
const BYTES_MAX: usize = 32 * 1_024 * 1_024;

/// Bytes and transactions that are read for one answer of a look, after which no more are begun.
const ANSWER_BYTES_MAX: usize = 16 * 1_024 * 1_024;
const ANSWER_TXS_MAX: usize = 5_000;

/// Bytes that are left for unconfirmed transactions.
#[derive(Debug)]
pub(super) struct Room(usize);

/// What one answer of a look may still hold.
#[derive(Debug)]
pub(super) struct AnswerRoom {
    bytes: usize,
    txs: usize,
}

/// Whether nodes relay a transaction, by its weight alone.
pub(crate) fn is_relayed(tx: &Transaction) -> bool {
    tx.weight().to_wu() <= u64::from(MAX_STANDARD_TX_WEIGHT)
}

impl Default for Room {
    fn default() -> Self {
        Self(BYTES_MAX)
    }
}

impl Default for AnswerRoom {
    fn default() -> Self {
        Self { bytes: ANSWER_BYTES_MAX, txs: ANSWER_TXS_MAX }
    }
}

impl Room {
    /// What those that are followed leave.
    pub(super) fn beside<'a>(followed: impl Iterator<Item = &'a Transaction>) -> Self {
        let taken = followed.map(Transaction::total_size).fold(0usize, usize::saturating_add);
        Self(BYTES_MAX.saturating_sub(taken))
    }

    /// Takes the room for one more; no where there is none.
    pub(super) fn take(&mut self, tx: &Transaction) -> bool {
        let left = self.0.checked_sub(tx.total_size());
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

impl AnswerRoom {
    /// Notes so many bytes.
    pub(super) const fn note(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Notes a transaction.
    pub(super) fn note_tx(&mut self, tx: &Transaction) {
        self.note(tx.total_size());
        self.txs = self.txs.saturating_sub(1);
    }

    /// Whether no more is to be begun.
    pub(super) const fn is_spent(&self) -> bool {
        self.bytes == 0 || self.txs == 0
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::absolute::LockTime;
    use bitcoin::transaction::Version;
    use bitcoin::{TxIn, Witness};

    use super::*;

    fn with_witness(bytes: usize) -> Transaction {
        let input = TxIn { witness: Witness::from_slice(&[vec![7; bytes]]), ..TxIn::default() };
        Transaction { version: Version::TWO, lock_time: LockTime::ZERO, input: vec![input], output: Vec::new() }
    }

    #[test]
    fn a_transaction_that_no_node_relays_is_told_by_its_weight() {
        assert!(is_relayed(&with_witness(390_000)) && !is_relayed(&with_witness(400_000)));
    }

    #[test]
    fn what_is_followed_leaves_so_much_room_and_what_does_not_fit_takes_none() {
        let (large, small) = (with_witness(399_000), with_witness(100));
        let followed = vec![&large; BYTES_MAX / large.total_size()];
        let mut room = Room::beside(followed.into_iter());
        assert!(!room.take(&large), "one more is too many");
        assert!(room.take(&small), "a small one fits beside them");
        assert!(!Room::beside(vec![&large; 1_000].into_iter()).take(&small));
    }

    #[test]
    fn an_answer_ends_by_its_bytes_and_by_its_number() {
        let (large, small) = (with_witness(399_000), with_witness(1));
        for (tx, fit) in [(large, ANSWER_BYTES_MAX / 399_000), (small, ANSWER_TXS_MAX - 1)] {
            let mut room = AnswerRoom::default();
            (0..fit).for_each(|_| room.note_tx(&tx));
            assert!(!room.is_spent());
            (0..2).for_each(|_| room.note_tx(&tx));
            assert!(room.is_spent());
        }
    }
}
