//! What one transaction pays to one payment's address, and what was judged of it. The judging itself
//! is [`crate::advance`]'s.

use bitcoin::Txid;

use crate::time::Timestamp;

/// Where a look found a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// In the block of this height (of the best chain), with this header time.
    Block {
        /// Height of the block.
        height: u32,
        /// The block header's time.
        time: Timestamp,
    },
    /// In the backend's mempool.
    Mempool,
    /// In neither: missed by every successful look from this one on.
    Absent {
        /// Start of the first look that missed it.
        since: Timestamp,
    },
}

/// All that one transaction pays to a payment's address (its outputs to it summed up): the
/// facts of the newest look, and the verdicts kept from earlier ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The paying transaction.
    pub txid: Txid,
    /// The sum of its outputs to the address.
    pub amount_sats: u64,
    /// Start of the look that saw it first.
    pub first_seen_at: Timestamp,
    /// Start of the last look that found it in the mempool or the chain.
    pub last_seen_at: Timestamp,
    /// The earliest of our first look, the node's mempool time and the block's time.
    pub earliest_at: Timestamp,
    /// Where the newest look found it.
    pub position: Position,
    /// A transaction that spends one of its inputs (or of its unconfirmed ancestors') is in the chain.
    pub conflict_in_chain: bool,
    /// The same, in the mempool.
    pub conflict_in_mempool: bool,
    /// When a look last saw such a conflict.
    pub last_conflict_at: Option<Timestamp>,
    /// In the mempool without unconfirmed ancestors and with a fee rate that is not too low: may
    /// be accepted unconfirmed once it was quiet for long enough.
    pub relays_well: bool,
    /// Other transactions that pay the same address and spend one of the same inputs.
    pub conflicts_with: Vec<Txid>,
    /// Verdict, kept: how much of it counts while it is not gone; `None` until first judged.
    pub eligible_sats: Option<u64>,
    /// What of it counted at the last look.
    pub counted_sats: u64,
    /// Whether it was gone at the last look.
    pub gone: bool,
    /// Its coins were sent back, or are about to be (an anomaly is REFUNDING or REFUNDED).
    pub refunded: bool,
}

impl Position {
    /// The position of what was here at the look before, when a look that starts `at` finds it in neither mempool nor
    /// chain. A look that was not made, or did not succeed, has missed nothing.
    #[must_use]
    pub const fn missed(self, at: Timestamp) -> Self {
        match self {
            Self::Block { .. } | Self::Mempool => Self::Absent { since: at },
            Self::Absent { since } => Self::Absent { since },
        }
    }

    /// Whether it is in neither mempool nor chain.
    #[must_use]
    pub const fn is_absent(self) -> bool {
        match self {
            Self::Absent { .. } => true,
            Self::Block { .. } | Self::Mempool => false,
        }
    }
}

impl Receipt {
    /// Whether the newest look found it in a block.
    #[must_use]
    pub const fn is_in_block(&self) -> bool {
        match self.position {
            Position::Block { .. } => true,
            Position::Mempool | Position::Absent { .. } => false,
        }
    }

    /// Its confirmations under a best block of this height: 1 in the best block itself, 0 outside of the chain.
    #[must_use]
    pub const fn confirmations(&self, tip_height: u32) -> u32 {
        match self.position {
            Position::Block { height, .. } => tip_height.saturating_add(1).saturating_sub(height),
            Position::Mempool | Position::Absent { .. } => 0,
        }
    }
}
