//! The coins that one transaction pays to one payment's address: facts of the looks, and verdicts
//! that [`crate::advance`] gives.

use bitcoin::{FeeRate, Txid};

use crate::time::Timestamp;

/// The position of a transaction at a look.
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
    /// In neither block nor mempool. Every successful look since then missed it.
    Absent {
        /// Start of the first look that missed it.
        since: Timestamp,
    },
}

/// The outputs of one transaction to a payment's address, summed up, with the facts of the newest
/// look and the verdicts of the look before.
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
    /// The position at the newest look.
    pub position: Position,
    /// A transaction in the chain spends one of its inputs, or an input of its unconfirmed
    /// ancestors.
    pub conflict_in_chain: bool,
    /// A transaction in the mempool spends one of its inputs, or an input of its unconfirmed
    /// ancestors.
    pub conflict_in_mempool: bool,
    /// When a look last saw such a conflict, or any known transaction that spends one of its
    /// inputs.
    pub last_conflict_at: Option<Timestamp>,
    /// The fee rate of a transaction that may be accepted unconfirmed. It is in the mempool without
    /// unconfirmed ancestors, and the backend tells its conflicts. `None` for any other
    /// transaction.
    pub zero_conf_rate: Option<FeeRate>,
    /// Other transactions that pay the same address and spend one of its inputs.
    pub conflicts_with: Vec<Txid>,
    /// Stored verdict: the part that counts while it is neither gone nor displaced by a conflicting
    /// receipt, in satoshis; `None` before the first verdict.
    pub eligible_sats: Option<u64>,
    /// Stored verdict: the part that counts, in satoshis.
    pub counted_sats: u64,
    /// Stored verdict: whether it is gone.
    pub gone: bool,
    /// Its coins were sent back or are about to be (an anomaly is REFUNDING or REFUNDED).
    pub refunded: bool,
}

/// The facts of one look about a transaction that pays a payment's address.
#[derive(Debug, Clone, Copy)]
pub struct Sighting {
    /// Start of the look.
    pub at: Timestamp,
    /// Start of the look before it.
    pub looked_before: Option<Timestamp>,
    /// Its position and the time of it: the block's time, or the node's mempool time. `None` if it
    /// is in neither mempool nor chain.
    pub found: Option<(Position, Timestamp)>,
    /// The sum of its outputs to the address.
    pub amount_sats: u64,
    /// As in [`Receipt::conflict_in_chain`]; `None` where the backend cannot tell.
    pub conflict_in_chain: Option<bool>,
    /// As in [`Receipt::conflict_in_mempool`]; `None` where the backend cannot tell.
    pub conflict_in_mempool: Option<bool>,
    /// Whether any known transaction, at any position, spends one of its inputs.
    pub has_conflict: bool,
    /// As in [`Receipt::zero_conf_rate`].
    pub zero_conf_rate: Option<FeeRate>,
}

impl Position {
    /// The new position of a transaction that a look which started at `at` did not find. A look
    /// that failed or was not made has missed nothing.
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
    /// The receipt with the facts of a look; its verdicts stay. `None` if no look ever found the
    /// transaction. A transaction that was replaced or dropped before the first look leaves no
    /// receipt.
    #[must_use]
    pub fn after(known: Option<Self>, txid: Txid, sighting: &Sighting) -> Option<Self> {
        let &Sighting { at, looked_before, found, amount_sats, zero_conf_rate, .. } = sighting;
        let known = match (known, found) {
            (Some(known), _) => known,
            (None, Some((position, _))) => Self::first_seen(txid, position, at),
            (None, None) => return None,
        };
        let position = found.map_or_else(|| known.position.missed(at), |(position, _)| position);
        let last_seen_at = if found.is_some() {
            known.last_seen_at.max(at)
        } else {
            known.last_found_at(looked_before)
        };
        // A fact that the backend cannot tell keeps its last known value. A mempool that has the
        // transaction has no conflict with it.
        let conflict_in_chain = sighting.conflict_in_chain.unwrap_or(known.conflict_in_chain);
        let told = sighting.conflict_in_mempool;
        let conflict_in_mempool =
            told.unwrap_or(known.conflict_in_mempool && position != Position::Mempool);
        let has_conflict = conflict_in_chain || conflict_in_mempool || sighting.has_conflict;
        Some(Self {
            amount_sats,
            last_seen_at,
            earliest_at: known.earliest_at.min(at).min(found.map_or(at, |(_, since)| since)),
            position,
            conflict_in_chain,
            conflict_in_mempool,
            last_conflict_at: if has_conflict { Some(at) } else { known.last_conflict_at },
            zero_conf_rate,
            ..known
        })
    }

    /// The receipt after a look at a chain that does not know the transaction. Its conflicts are
    /// unknown and stay as they were.
    #[must_use]
    pub fn after_no_sight(self, at: Timestamp, looked_before: Option<Timestamp>) -> Self {
        let last_seen_at = self.last_found_at(looked_before);
        Self { position: self.position.missed(at), last_seen_at, zero_conf_rate: None, ..self }
    }

    /// A transaction that no earlier look found.
    const fn first_seen(txid: Txid, position: Position, at: Timestamp) -> Self {
        Self {
            txid,
            amount_sats: 0,
            first_seen_at: at,
            last_seen_at: at,
            earliest_at: at,
            position,
            conflict_in_chain: false,
            conflict_in_mempool: false,
            last_conflict_at: None,
            zero_conf_rate: None,
            conflicts_with: Vec::new(),
            eligible_sats: None,
            counted_sats: 0,
            gone: false,
            refunded: false,
        }
    }

    /// When a look last found a transaction that the newest look misses. The stored `last_seen_at`
    /// may be older, because a look that changes nothing stores nothing.
    fn last_found_at(&self, looked_before: Option<Timestamp>) -> Timestamp {
        match self.position {
            Position::Absent { .. } => self.last_seen_at,
            Position::Block { .. } | Position::Mempool => {
                looked_before.map_or(self.last_seen_at, |before| before.max(self.last_seen_at))
            }
        }
    }

    /// Whether the newest look found it in a block.
    #[must_use]
    pub const fn is_in_block(&self) -> bool {
        match self.position {
            Position::Block { .. } => true,
            Position::Mempool | Position::Absent { .. } => false,
        }
    }

    /// Its confirmations under a best block of this height: 1 in the best block itself, 0 outside
    /// of the chain.
    #[must_use]
    pub const fn confirmations(&self, tip_height: u32) -> u32 {
        match self.position {
            Position::Block { height, .. } => tip_height.saturating_add(1).saturating_sub(height),
            Position::Mempool | Position::Absent { .. } => 0,
        }
    }
}

/// The fewest confirmations among the receipts that count; 0 if none counts.
#[must_use]
pub fn least_confirmations(receipts: &[Receipt], tip_height: u32) -> u32 {
    let counting = receipts.iter().filter(|receipt| receipt.counted_sats > 0);
    counting.map(|receipt| receipt.confirmations(tip_height)).min().unwrap_or(0)
}

#[cfg(test)]
mod tests;
