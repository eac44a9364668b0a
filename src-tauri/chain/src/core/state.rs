//! Memory from one answer to the next, with the mempool as of the last look.

use std::collections::{BTreeMap, HashMap, HashSet};

use bitcoin::block::Header;
use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, FeeRate, OutPoint, Transaction, Txid};
use tillgate_domain::time::Timestamp;
use tokio::time::Instant;

use super::notices::log::Mark;
use super::results::Reach;
use crate::checks::conflicts::Facts;
use crate::checks::header_rules;
use crate::checks::token::{BlockId, Token};

/// Memory that belongs to the answer with its token.
#[derive(Default)]
pub struct State {
    /// The chain as the last answer saw it; `None` at the start and after a failure.
    pub token: Option<Token>,
    /// The token as written in that answer.
    pub written: Option<Vec<u8>>,
    /// The chain before the current look, if some of its blocks left the chain since.
    pub before: Option<Token>,
    /// The headers of the token's last block and the ten before it, as far as they exist, the
    /// lowest first.
    pub headers: Vec<Header>,
    /// The best block up to which headers were linked.
    pub linked: Option<BlockId>,
    /// Transactions of the mempool that were read and are not ours.
    pub others: HashSet<Txid>,
    /// The same from the last answer. They join `others` only if that answer was stored: a failed
    /// database query may have hidden a transaction of ours.
    pub fresh_others: HashSet<Txid>,
    /// Transactions of ours that no block holds.
    pub tracked: BTreeMap<Txid, Tracked>,
    /// Height and id of the mined transaction that spends an input of a tracked one.
    pub spent: HashMap<OutPoint, (u32, Txid)>,
    /// Our transactions that were reported since the look began.
    pub reported: HashSet<Txid>,
    /// The best block of the last look, with its header's time.
    pub tip_time: Option<(BlockId, Timestamp)>,
    pub looked_at: Option<Moment>,
    /// The node's reach into the network when the look began.
    pub reach: Reach,
    /// The mempool as of the last look, if notices may update it.
    pub pool: Option<MempoolSnapshot>,
}

/// The state of a node's chain and mempool at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Core's sequence number of the mempool. A restarted node counts from the beginning.
    pub number: u64,
    pub digest: [u8; 32],
    pub tip: BlockId,
    /// The number comes from a list. A number from notices may belong to another moment.
    pub is_listed: bool,
}

impl Moment {
    /// Whether `now` shows no change since this moment. A list always counts as a change after a
    /// moment from notices.
    pub fn is_same_as(&self, now: &Self) -> bool {
        let is_same = (self.number, self.digest, self.tip) == (now.number, now.digest, now.tip);
        is_same && (self.is_listed || !now.is_listed)
    }
}

/// A transaction of ours that no block holds.
pub struct Tracked {
    pub tx: Transaction,
    /// Its known unconfirmed ancestors.
    pub ancestors: BTreeMap<Txid, Transaction>,
    /// Its entry in the mempool, while it is there.
    pub entry: Option<MempoolEntry>,
    /// The last reported facts.
    pub reported: Option<Facts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MempoolEntry {
    pub entered: Timestamp,
    pub fee_rate: FeeRate,
    pub rests_on_unconfirmed: bool,
}

impl State {
    /// The part that stays true after a failure: the mempool's transactions that are not ours.
    pub fn failed(self) -> Self {
        Self { others: self.others, ..Self::default() }
    }

    /// Whether a transaction of the mempool was read already.
    pub fn knows(&self, txid: &Txid) -> bool {
        self.others.contains(txid)
            || self.fresh_others.contains(txid)
            || self.tracked.contains_key(txid)
    }

    pub fn last_block(&self) -> Option<BlockId> {
        self.token.as_ref().and_then(Token::last).map(|last| last.id)
    }

    /// Notes the header of the last block that was read.
    pub fn note_header(&mut self, header: Header) {
        let kept = header_rules::MEDIAN_REACHES as usize;
        self.headers.drain(..self.headers.len().saturating_sub(kept));
        self.headers.push(header);
    }

    /// The median time of the last block that was read and the ten before it, if they are known.
    pub fn median_time(&self) -> Option<Timestamp> {
        header_rules::median_time(self.headers.iter().map(header_rules::time))
    }

    pub fn track(&mut self, tx: Transaction) {
        let tracked = Tracked { tx, ancestors: BTreeMap::new(), entry: None, reported: None };
        self.tracked.insert(tracked.tx.compute_txid(), tracked);
    }
}

pub struct MempoolSnapshot {
    pub txids: HashSet<Txid>,
    /// Core's sequence number at that moment.
    pub number: u64,
    /// Some transactions are still unread.
    pub more: bool,
    /// This look requested the whole list, so the snapshot holds everything from before the look.
    pub is_fresh: bool,
    /// The underlying list, if notices may update it.
    pub listing: Option<Listing>,
}

/// The last request for the whole list.
#[derive(Debug, Clone, Copy)]
pub struct Listing {
    pub at: Instant,
    pub tip: BlockHash,
    /// The notices heard before the request.
    pub mark: Mark,
}

impl MempoolSnapshot {
    /// The pool that the next look may update; `None` if it must ask for the whole list.
    pub fn kept(self) -> Option<Self> {
        (self.listing.is_some() && !self.more).then_some(self)
    }

    /// A digest of the transactions in any order: the exclusive or of their ids.
    pub fn digest(&self) -> [u8; 32] {
        self.txids.iter().fold([0; 32], |mut digest, txid| {
            digest.iter_mut().zip(txid.as_byte_array()).for_each(|(sum, byte)| *sum ^= byte);
            digest
        })
    }

    /// Whether it differs from a list of the same moment.
    pub fn differs_from(&self, list: &Self) -> bool {
        self.number == list.number && !list.more && self.txids != list.txids
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn age(&mut self) {
        if let Some(listing) = &mut self.listing {
            listing.at =
                listing.at.checked_sub(std::time::Duration::from_secs(60)).unwrap_or(listing.at);
        }
    }
}
