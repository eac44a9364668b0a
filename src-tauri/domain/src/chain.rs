//! The facts that a look at the chain reports.

use bitcoin::constants::genesis_block;
use bitcoin::policy::MAX_STANDARD_TX_WEIGHT;
use bitcoin::{BlockHash, Network, ScriptBuf, Transaction};

use crate::time::Timestamp;

/// The chain that a backend shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Hash of the network's first block.
    pub genesis: BlockHash,
    /// Distinguishes chains with the same first block, such as sandboxes; `None` if there is only
    /// one such chain.
    pub instance: Option<[u8; 32]>,
}

/// The best block of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// Blocks below it.
    pub height: u32,
    /// The hash of its header.
    pub hash: BlockHash,
    /// The time of its header.
    pub time: Timestamp,
}

impl Identity {
    /// Whether it is a regtest chain, which has blocks only on demand. The sandbox's is one.
    #[must_use]
    pub fn is_regtest(&self) -> bool {
        self.genesis == genesis_block(Network::Regtest).block_hash()
    }
}

/// The place of a transaction, as a backend reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxPosition {
    /// In a block of the chain.
    Block {
        /// The height of the block.
        height: u32,
        /// The time of the block's header.
        time: Timestamp,
    },
    /// In the mempool.
    Mempool {
        /// The time at which the node accepted it.
        entered: Timestamp,
    },
    /// In neither.
    Absent,
}

impl TxPosition {
    /// The time of its block or of its entry into the mempool, at most `now`; `None` if the backend
    /// cannot tell when it entered. A time after `now` is none that a backend knows.
    #[must_use]
    pub fn made_at(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            // Miners may date a block two hours ahead.
            Self::Block { time, .. } => Some(time.min(now)),
            Self::Mempool { entered } => Some(entered).filter(|entered| *entered <= now),
            Self::Absent => None,
        }
    }
}

/// A backend's answer to a yes-or-no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// Yes.
    Yes,
    /// No.
    No,
    /// The backend cannot tell.
    Unknown,
}

impl From<bool> for Fact {
    fn from(is_so: bool) -> Self {
        if is_so { Self::Yes } else { Self::No }
    }
}

impl Fact {
    /// The answer as a `bool`; `None` if the backend cannot tell.
    #[must_use]
    pub const fn told(self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No => Some(false),
            Self::Unknown => None,
        }
    }
}

/// The place at which the last look saw a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownPosition {
    /// The height of its block.
    Block(u32),
    /// In the mempool.
    Mempool,
}

/// A backend's memory of a script from one look to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptState {
    /// The script.
    pub script: ScriptBuf,
    /// The Electrum status of its history, in the backend's own form.
    pub state: Vec<u8>,
}

/// The urgency of news about a script, the highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// A customer may be paying it now.
    Awaited,
    /// Its payment is not settled: a deadline is ahead, or a transaction that pays it is
    /// unconfirmed, missing or in one of the latest blocks.
    Moving,
    /// Its payment was made within the last day, it is one of the next scripts of a keychain, or it
    /// holds coins.
    Possible,
}

/// Whether nodes relay a transaction, by its weight alone.
#[must_use]
pub fn is_relayed(tx: &Transaction) -> bool {
    tx.weight().to_wu() <= u64::from(MAX_STANDARD_TX_WEIGHT)
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
    fn a_transaction_above_the_standard_weight_is_not_relayed() {
        assert!(is_relayed(&with_witness(390_000)) && !is_relayed(&with_witness(400_000)));
    }
}
