//! Limits for transactions that a server claims to have in its mempool. Without proof, a server
//! could make up any number. There is a limit for each transaction, for each script and in total.

use bitcoin::Transaction;

/// Unconfirmed transactions of one script at most. A script with more is not reported.
pub const UNCONFIRMED_PER_SCRIPT_MAX: usize = 200;

/// Bytes of all followed unconfirmed transactions at most, missing ones included. Beyond that, a
/// new transaction counts once it is mined.
const BYTES_MAX: usize = 32 * 1_024 * 1_024;

/// After this many bytes or transactions, no further read begins for one answer of a look.
const ANSWER_BYTES_MAX: usize = 16 * 1_024 * 1_024;
const ANSWER_TXS_MAX: usize = 5_000;

/// Bytes left for unconfirmed transactions.
#[derive(Debug)]
pub struct MempoolBudget(usize);

/// The room left in one answer of a look.
#[derive(Debug)]
pub struct AnswerBudget {
    bytes: usize,
    txs: usize,
}

impl Default for MempoolBudget {
    fn default() -> Self {
        Self(BYTES_MAX)
    }
}

impl Default for AnswerBudget {
    fn default() -> Self {
        Self { bytes: ANSWER_BYTES_MAX, txs: ANSWER_TXS_MAX }
    }
}

impl MempoolBudget {
    /// The budget that remains beside the followed transactions.
    pub fn beside<'a>(followed: impl Iterator<Item = &'a Transaction>) -> Self {
        let taken = followed.map(Transaction::total_size).fold(0usize, usize::saturating_add);
        Self(BYTES_MAX.saturating_sub(taken))
    }

    /// Takes the room for one more transaction; `false` if there is none.
    pub fn take(&mut self, tx: &Transaction) -> bool {
        let left = self.0.checked_sub(tx.total_size());
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

impl AnswerBudget {
    pub const fn note(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    pub fn note_tx(&mut self, tx: &Transaction) {
        self.note(tx.total_size());
        self.txs = self.txs.saturating_sub(1);
    }

    /// Whether no further read may begin.
    pub const fn is_spent(&self) -> bool {
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
        Transaction {
            version: Version::TWO,
            lock_time: LockTime::ZERO,
            input: vec![input],
            output: Vec::new(),
        }
    }

    #[test]
    fn a_transaction_that_does_not_fit_takes_no_room() {
        let (large, small) = (with_witness(399_000), with_witness(100));
        let followed = vec![&large; BYTES_MAX / large.total_size()];
        let mut budget = MempoolBudget::beside(followed.into_iter());
        assert!(!budget.take(&large), "no room for one more");
        assert!(budget.take(&small), "a small one fits beside them");
        assert!(!MempoolBudget::beside(vec![&large; 1_000].into_iter()).take(&small));
    }

    #[test]
    fn an_answer_ends_by_bytes_and_by_transaction_count() {
        let (large, small) = (with_witness(399_000), with_witness(1));
        for (tx, fit) in [(large, ANSWER_BYTES_MAX / 399_000), (small, ANSWER_TXS_MAX - 1)] {
            let mut budget = AnswerBudget::default();
            (0..fit).for_each(|_| budget.note_tx(&tx));
            assert!(!budget.is_spent());
            (0..2).for_each(|_| budget.note_tx(&tx));
            assert!(budget.is_spent());
        }
    }
}
