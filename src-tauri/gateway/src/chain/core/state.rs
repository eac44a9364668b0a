//! What is remembered from one answer to the next.

use std::collections::{BTreeMap, HashMap, HashSet};

use bitcoin::block::Header;
use bitcoin::{FeeRate, OutPoint, Transaction, Txid};
use tillgate_domain::time::Timestamp;

use super::pool::Pool;
use crate::chain::facts::Facts;
use crate::chain::headers;
use crate::chain::token::{BlockId, Token};

/// What is remembered. It belongs to the answer whose token it holds.
#[derive(Default)]
pub(super) struct State {
    /// The chain as the last answer saw it; `None` at the start, and after a failure.
    pub token: Option<Token>,
    /// The token as that answer told it.
    pub written: Option<Vec<u8>>,
    /// The chain before a look that is under way and left blocks of it.
    pub before: Option<Token>,
    /// The headers of the token's last block and of the ten before it, as far as there are any, the lowest first.
    pub headers: Vec<Header>,
    /// The best block up to which headers were linked.
    pub linked: Option<BlockId>,
    /// Transactions of the mempool that were read and do not concern us.
    pub others: HashSet<Txid>,
    /// The same of the last answer alone: whether the database could be asked about them shows when the next one is asked
    /// for.
    pub fresh_others: HashSet<Txid>,
    /// Transactions of ours that no block holds.
    pub tracked: BTreeMap<Txid, Tracked>,
    /// Which transaction of which block spends an output that a tracked one spends, too.
    pub spent: HashMap<OutPoint, (u32, Txid)>,
    /// Transactions of ours that were told of since the look began with the first block.
    pub told: HashSet<Txid>,
    /// The best block that was last looked at, with its header's time.
    pub tip_time: Option<(BlockId, Timestamp)>,
    /// What was last looked at.
    pub looked_at: Option<Moment>,
    /// The mempool as it was last looked at, where the node's notices may tell what became of it since.
    pub pool: Option<Pool>,
}

/// A moment of the node that was looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// The mempool's number. A node that was restarted counts anew.
    pub number: u64,
    /// The mempool's digest.
    pub digest: [u8; 32],
    pub tip: BlockId,
    /// By a list of the node's. Otherwise the number was told, and another moment may have it.
    pub is_listed: bool,
}

impl Moment {
    /// Whether nothing is to be seen in `now` that was not seen in this one. A list is believed before what was told.
    pub(super) fn shows_what(&self, now: &Self) -> bool {
        let is_same = (self.number, self.digest, self.tip) == (now.number, now.digest, now.tip);
        is_same && (self.is_listed || !now.is_listed)
    }
}

/// A transaction of ours that no block holds.
pub(super) struct Tracked {
    pub tx: Transaction,
    /// Unconfirmed transactions that it rests on, as far as they are known.
    pub ancestors: BTreeMap<Txid, Transaction>,
    /// What the mempool says of it, while it is in there.
    pub entry: Option<Seen>,
    /// What was last told of it.
    pub told: Option<Facts>,
}

/// What the mempool says of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub entered: Timestamp,
    pub fee_rate: FeeRate,
    pub rests_on_unconfirmed: bool,
}

impl State {
    /// What is still true after a failure: which of the mempool's transactions are none of ours.
    pub(super) fn failed(self) -> Self {
        Self { others: self.others, ..Self::default() }
    }

    /// Whether a transaction of the mempool was read already.
    pub(super) fn knows(&self, txid: &Txid) -> bool {
        self.others.contains(txid) || self.fresh_others.contains(txid) || self.tracked.contains_key(txid)
    }

    /// The block up to which was looked.
    pub(super) fn last_block(&self) -> Option<BlockId> {
        self.token.as_ref().and_then(Token::last).map(|last| last.id)
    }

    /// Notes the header of the block up to which was looked.
    pub(super) fn note_header(&mut self, header: Header) {
        let kept = headers::MEDIAN_REACHES as usize;
        self.headers.drain(..self.headers.len().saturating_sub(kept));
        self.headers.push(header);
    }

    /// The median time of that block and the ten before it, where they are known.
    pub(super) fn median_time(&self) -> Option<Timestamp> {
        headers::median_time(self.headers.iter().map(headers::time))
    }

    /// Follows a transaction from now on.
    pub(super) fn track(&mut self, tx: Transaction) {
        let tracked = Tracked { tx, ancestors: BTreeMap::new(), entry: None, told: None };
        self.tracked.insert(tracked.tx.compute_txid(), tracked);
    }
}
