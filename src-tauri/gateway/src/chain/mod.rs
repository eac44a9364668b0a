//! What the gateway asks of a Bitcoin backend. One file for each backend.

pub mod sandbox;

use bitcoin::{BlockHash, Transaction, Txid};
use tillgate_domain::time::Timestamp;

/// The best block of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: BlockHash,
    /// Its header's time.
    pub time: Timestamp,
}

/// Where a transaction stands in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxPosition {
    /// In this block of the best chain.
    Block {
        /// Height of the block.
        height: u32,
        /// Time of its header.
        time: Timestamp,
    },
    /// In the mempool, since.
    Mempool {
        /// When the node took it in.
        entered: Timestamp,
    },
    /// In neither.
    Absent,
}

/// What a backend tells of one transaction.
#[derive(Debug, Clone)]
pub struct TxFacts {
    /// The transaction.
    pub tx: Transaction,
    /// Where it stands.
    pub position: TxPosition,
    /// One of its inputs, or of its unconfirmed ancestors', is spent by another transaction in the chain.
    pub conflict_in_chain: bool,
    /// The same, in the mempool.
    pub conflict_in_mempool: bool,
    /// Other transactions known to spend one of its inputs.
    pub conflicts: Vec<Txid>,
    /// In the mempool, without unconfirmed ancestors, with a fee rate not below the backend's
    /// estimate for 6 blocks (or its minimum relay rate).
    pub relays_well: bool,
}

/// What changed since a cursor, in one consistent view of the chain.
#[derive(Debug, Clone)]
pub struct View {
    /// The cursor to ask with next.
    pub cursor: i64,
    /// There is more than one answer holds: ask again at once. Still one look.
    pub more: bool,
    /// The best block.
    pub tip: Tip,
    /// Transactions whose facts changed.
    pub txs: Vec<TxFacts>,
}

/// Why the backend cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the Bitcoin backend does not answer: {0}")]
pub struct ChainDown(pub String);

/// What became of a broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broadcast {
    /// It is in the mempool (or was, or is in a block).
    Accepted,
    /// Its inputs are missing or spent: it can never confirm as things stand.
    InputsSpent,
    /// Any other refusal: policy, for now.
    Refused(String),
}

/// A Bitcoin backend. Calls block: use them on a blocking thread.
pub trait Chain: Send + Sync {
    /// What changed since `cursor` (0: everything known), as of one moment.
    ///
    /// # Errors
    /// When the backend does not answer.
    fn view(&self, cursor: i64) -> Result<View, ChainDown>;

    /// Offers a transaction to the network.
    ///
    /// # Errors
    /// When the backend does not answer.
    fn broadcast(&self, tx: &Transaction) -> Result<Broadcast, ChainDown>;

    /// Whether the backend shows a mempool.
    fn has_mempool(&self) -> bool;
}
