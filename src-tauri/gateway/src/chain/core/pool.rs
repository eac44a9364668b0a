//! The mempool of a node as it was last looked at.

use std::collections::HashSet;

use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, Txid};
use tokio::time::Instant;

use super::heard::Mark;

/// The mempool at one moment.
pub(super) struct Pool {
    pub txids: HashSet<Txid>,
    /// Core's number of that moment.
    pub number: u64,
    /// Not all of it was read yet.
    pub more: bool,
    /// The list was asked for by this look: it holds all that came before the look started.
    pub is_fresh: bool,
    /// The list that it rests on, where the node's notices may tell what became of it.
    pub listing: Option<Listing>,
}

/// When the whole list was last asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listing {
    pub at: Instant,
    pub tip: BlockHash,
    /// How far was heard of the node before.
    pub mark: Mark,
}

impl Pool {
    /// What the next look may go by; `None` where it must ask for the whole list.
    pub(super) fn kept(self) -> Option<Self> {
        (self.listing.is_some() && !self.more).then_some(self)
    }

    /// A digest of the transactions that it holds, in whatever order: all their ids by exclusive or.
    pub(super) fn digest(&self) -> [u8; 32] {
        self.txids.iter().fold([0; 32], |mut digest, txid| {
            digest.iter_mut().zip(txid.as_byte_array()).for_each(|(sum, byte)| *sum ^= byte);
            digest
        })
    }

    /// Whether it holds other transactions than a list of the same moment.
    pub(super) fn differs_from(&self, list: &Self) -> bool {
        self.number == list.number && !list.more && self.txids != list.txids
    }

    /// It was listed long ago.
    #[cfg(test)]
    pub(super) fn age(&mut self) {
        if let Some(listing) = &mut self.listing {
            listing.at = listing.at.checked_sub(std::time::Duration::from_secs(60)).unwrap_or(listing.at);
        }
    }
}
