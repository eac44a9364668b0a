//! Memory from one answer to the next, with the mempool as of the last look.

use std::collections::{BTreeMap, HashMap, HashSet};

use bitcoin::block::Header;
use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, FeeRate, OutPoint, Transaction, Txid};
use tillgate_domain::time::Timestamp;

use super::results::Reach;
use crate::checks::conflicts::{Facts, needs};
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
    /// The state of chain and mempool that the last look reported.
    pub last_moment: Option<Moment>,
    /// The node's reach into the network when the look began.
    pub reach: Reach,
    /// The best block when a look last listed the mempool without a notice.
    pub listed_at: Option<BlockHash>,
}

/// The state of a node's chain and mempool at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Core's sequence number of the mempool. A restarted node counts from the beginning.
    pub number: u64,
    pub digest: [u8; 32],
    pub tip: BlockId,
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

    /// Whether an arrival of this transaction in the mempool is no news: it was read already, and
    /// did not leave since if it is ours.
    pub fn is_settled(&self, txid: &Txid) -> bool {
        match self.tracked.get(txid) {
            Some(tracked) => tracked.entry.is_some(),
            None => self.knows(txid),
        }
    }

    /// Each output that our unconfirmed transactions and their ancestors spend, with its spenders.
    pub fn needed(&self) -> HashMap<OutPoint, Vec<Txid>> {
        let mut needed: HashMap<OutPoint, Vec<Txid>> = HashMap::new();
        for (outpoint, by) in self.tracked.values().flat_map(|it| needs(&it.tx, &it.ancestors)) {
            needed.entry(outpoint).or_default().push(by);
        }
        needed
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
}

impl MempoolSnapshot {
    /// A digest of the transactions in any order: the exclusive or of their ids.
    pub fn digest(&self) -> [u8; 32] {
        self.txids.iter().fold([0; 32], |mut digest, txid| {
            digest.iter_mut().zip(txid.as_byte_array()).for_each(|(sum, byte)| *sum ^= byte);
            digest
        })
    }
}
