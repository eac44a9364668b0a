//! The mempool of a node as of the last look.

use std::collections::HashSet;

use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, Txid};
use tokio::time::Instant;

use super::heard::Mark;

pub(super) struct Pool {
    pub txids: HashSet<Txid>,
    /// Core's number of that moment.
    pub number: u64,
    /// Some transactions are still unread.
    pub more: bool,
    /// This look asked for the list, so it holds everything from before the look.
    pub is_fresh: bool,
    /// The underlying list, if notices may update it.
    pub listing: Option<Listing>,
}

/// The last request for the whole list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listing {
    pub at: Instant,
    pub tip: BlockHash,
    /// The notices heard before it.
    pub mark: Mark,
}

impl Pool {
    /// The pool that the next look may update; `None` if it must ask for the whole list.
    pub(super) fn kept(self) -> Option<Self> {
        (self.listing.is_some() && !self.more).then_some(self)
    }

    /// A digest of the transactions in any order: the exclusive or of their ids.
    pub(super) fn digest(&self) -> [u8; 32] {
        self.txids.iter().fold([0; 32], |mut digest, txid| {
            digest.iter_mut().zip(txid.as_byte_array()).for_each(|(sum, byte)| *sum ^= byte);
            digest
        })
    }

    /// Whether it differs from a list of the same moment.
    pub(super) fn differs_from(&self, list: &Self) -> bool {
        self.number == list.number && !list.more && self.txids != list.txids
    }

    #[cfg(test)]
    pub(super) fn age(&mut self) {
        if let Some(listing) = &mut self.listing {
            listing.at = listing.at.checked_sub(std::time::Duration::from_secs(60)).unwrap_or(listing.at);
        }
    }
}
