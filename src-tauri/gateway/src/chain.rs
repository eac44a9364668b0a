//! What the gateway asks of a Bitcoin backend. One file for each backend; [`open`] chooses among them.
//!
//! A backend tells facts and holds no rule. What it cannot know is [`Fact::Unknown`], which is never taken for a no.

pub(crate) mod core;
pub(crate) mod open;
pub(crate) mod sandbox;
#[cfg(test)]
mod tests;

use bitcoin::{BlockHash, FeeRate, Transaction, Txid};
use tillgate_domain::time::Timestamp;

/// What tells a chain from every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Hash of the network's first block.
    pub genesis: BlockHash,
    /// Tells chains apart that begin with the same block, as every sandbox's does; `None` where there is but one.
    pub instance: Option<[u8; 32]>,
}

/// The best block of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    pub height: u32,
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
    /// In the mempool.
    Mempool {
        /// When the node took it in.
        entered: Timestamp,
    },
    /// In neither.
    Absent,
}

/// What a backend can say of something that is or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// It is so.
    Yes,
    /// It is not so.
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
    /// Whether it is so; `None` where the backend cannot tell.
    #[must_use]
    pub const fn told(self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No => Some(false),
            Self::Unknown => None,
        }
    }
}

/// What a backend tells of one transaction.
#[derive(Debug, Clone)]
pub struct TxFacts {
    pub tx: Transaction,
    /// Where it stands.
    pub position: TxPosition,
    /// Whether another transaction in the chain spends one of its inputs, or of its unconfirmed ancestors'.
    pub conflict_in_chain: Fact,
    /// Height of the block that holds such a transaction, the lowest where there are several; `None` where there is none
    /// or the backend cannot tell. Tells nothing that [`Self::conflict_in_chain`] does not say is so.
    pub conflict_height: Option<u32>,
    /// The same for one in the mempool.
    pub conflict_in_mempool: Fact,
    /// Other transactions known to spend one of its inputs.
    pub conflicts: Vec<Txid>,
    /// Whether it spends an output of a transaction that is in no block.
    pub unconfirmed_ancestors: Fact,
    /// Its own fee over its virtual size; `None` where the backend cannot tell.
    pub fee_rate: Option<FeeRate>,
}

/// What of the chain is ours.
pub trait WatchList {
    /// Whether a transaction pays a script of ours or spends an output of ours. A backend that sees every transaction
    /// asks about each, parents before children.
    fn concerns(&self, tx: &Transaction) -> bool;

    /// Transactions that are to be told of even where the chain knows nothing of them.
    fn txids(&self) -> &[Txid];

    /// Transactions of ours that no block holds, and those of blocks above this height: what may have moved while nobody
    /// looked, as far as something may still come of it. In no order.
    fn unsettled(&self, above: u32) -> Vec<Transaction>;
}

/// What a look asks for.
pub struct LookRequest<'a> {
    /// Where the last look at this chain ended; `None` to begin with its first block.
    pub token: Option<&'a [u8]>,
    /// The blocks up to this height hold nothing of ours; `None` where no address of ours was ever given.
    pub birth_height: Option<u32>,
    /// What of it is ours.
    pub watch: &'a dyn WatchList,
}

/// What changed, in one consistent view of the chain.
#[derive(Debug, Clone)]
pub struct View {
    /// Where it ends, in words of the backend's own.
    pub token: Vec<u8>,
    /// Whether it begins with the chain's first block: as asked, or because this chain was never where the token says.
    pub from_start: bool,
    /// There is more than one answer holds: ask again at once. Still one look.
    pub more: bool,
    /// The best block.
    pub tip: Tip,
    /// Transactions of ours whose facts changed, parents before children.
    pub txs: Vec<TxFacts>,
    /// Those of the watch list's transactions of which the backend knows nothing. Told with the last answer of a look.
    pub unknown: Vec<Txid>,
}

/// Why the backend cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the Bitcoin backend cannot be asked: {0}")]
pub struct ChainDown(pub String);

/// What became of a broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broadcast {
    /// It entered the mempool.
    Accepted,
    /// It was in the mempool or in a block already.
    AlreadyKnown,
    /// Another transaction in the mempool spends its inputs, and it does not replace that one.
    Conflict,
    /// Its inputs are nowhere to be found, which says nothing of whether they will be.
    InputsMissing,
    /// A transaction in the chain spends its inputs.
    InputsSpent,
    /// Any other refusal: policy, for now.
    Refused(String),
}

/// A Bitcoin backend. Calls block: use them on a blocking thread.
pub trait Chain: Send + Sync {
    /// Which chain it shows.
    fn identity(&self) -> Result<Identity, ChainDown>;

    /// The best block, cheaply, where a look could be made now.
    fn tip(&self) -> Result<Tip, ChainDown>;

    /// The height of the first block that can be looked at.
    fn first_block(&self) -> Result<u32, ChainDown> {
        Ok(0)
    }

    /// What changed of ours since a look ended, as of one moment.
    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown>;

    /// Offers a transaction to the network, the last of `package`, behind its unconfirmed ancestors, parents first.
    /// The answer is about the last, or about the first that was not taken.
    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown>;

    /// The estimated fee rate for a confirmation within so many blocks; the lowest that is relayed where there is no
    /// estimate.
    fn fee_rate(&self, blocks: u16) -> Result<FeeRate, ChainDown>;

    /// Whether the backend shows a mempool.
    fn has_mempool(&self) -> bool;
}
