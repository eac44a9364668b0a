//! What is remembered from one answer to the next.

use std::collections::{BTreeMap, HashMap, HashSet};

use bitcoin::{CompactTarget, FeeRate, OutPoint, Transaction, Txid};
use tillgate_domain::time::Timestamp;

use super::pool::Pool;
use crate::chain::token::{BlockId, Token};
use crate::chain::{Fact, TxFacts, TxPosition};

/// What is remembered. It belongs to the answer whose token it holds.
#[derive(Default)]
pub(super) struct State {
    /// The last answer's; `None` at the start, and after a failure.
    pub token: Option<Token>,
    /// Bits of the header of the token's last block.
    pub bits: Option<CompactTarget>,
    /// Transactions of the mempool that were read and do not concern us.
    pub strangers: HashSet<Txid>,
    /// The same of the last answer alone: whether the database could be asked about them shows when the next one is asked
    /// for.
    pub fresh_strangers: HashSet<Txid>,
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
    /// The mempool's number.
    pub number: u64,
    pub tip: BlockId,
    /// By a list of the node's. Otherwise the number was told, and another moment may have it.
    pub is_listed: bool,
}

impl Moment {
    /// Whether nothing is to be seen in `now` that was not seen in this one. A list is believed before what was told.
    pub(super) fn shows_what(&self, now: &Self) -> bool {
        (self.number, self.tip) == (now.number, now.tip) && (self.is_listed || !now.is_listed)
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

/// What is told of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::chain) struct Facts {
    pub position: TxPosition,
    pub conflict_in_chain: Fact,
    pub conflict_height: Option<u32>,
    pub conflict_in_mempool: Fact,
    pub conflicts: Vec<Txid>,
    pub unconfirmed_ancestors: Fact,
    pub fee_rate: Option<FeeRate>,
}

impl State {
    /// What is still true after a failure: which of the mempool's transactions are none of ours.
    pub(super) fn failed(self) -> Self {
        Self { strangers: self.strangers, ..Self::default() }
    }

    /// Whether a transaction of the mempool was read already.
    pub(super) fn knows(&self, txid: &Txid) -> bool {
        self.strangers.contains(txid) || self.fresh_strangers.contains(txid) || self.tracked.contains_key(txid)
    }

    /// The block up to which was looked.
    pub(super) fn last_block(&self) -> Option<BlockId> {
        self.token.as_ref().and_then(Token::last).map(|last| last.id)
    }

    /// Follows a transaction from now on.
    pub(super) fn track(&mut self, tx: Transaction) {
        let tracked = Tracked { tx, ancestors: BTreeMap::new(), entry: None, told: None };
        self.tracked.insert(tracked.tx.compute_txid(), tracked);
    }
}

impl Tracked {
    /// Every output that it needs, with the transaction that is to spend it: it itself, or an unconfirmed ancestor. A
    /// block's reward needs none, and a node that is asked about the output of nothing that it names refuses to answer.
    pub(super) fn needs(&self) -> impl Iterator<Item = (OutPoint, Txid)> {
        let own = std::iter::once((self.tx.compute_txid(), &self.tx));
        let line = self.ancestors.iter().map(|(txid, tx)| (*txid, tx));
        let needs =
            own.chain(line).flat_map(|(txid, tx)| tx.input.iter().map(move |input| (input.previous_output, txid)));
        needs.filter(|(outpoint, _)| !outpoint.is_null())
    }
}

impl Facts {
    /// Of a transaction that no other rules out.
    pub(in crate::chain) const fn undisputed(position: TxPosition) -> Self {
        Self {
            position,
            conflict_in_chain: Fact::No,
            conflict_height: None,
            conflict_in_mempool: Fact::No,
            conflicts: Vec::new(),
            unconfirmed_ancestors: Fact::No,
            fee_rate: None,
        }
    }

    /// Together with the transaction.
    pub(in crate::chain) fn of(self, tx: Transaction) -> TxFacts {
        let Self {
            position,
            conflict_in_chain,
            conflict_height,
            conflict_in_mempool,
            conflicts,
            unconfirmed_ancestors,
            fee_rate,
        } = self;
        TxFacts {
            tx,
            position,
            conflict_in_chain,
            conflict_height,
            conflict_in_mempool,
            conflicts,
            unconfirmed_ancestors,
            fee_rate,
        }
    }
}

/// In an order in which parents stand before children.
pub(in crate::chain) fn parents_first<T>(mut items: BTreeMap<Txid, T>, tx: impl Fn(&T) -> &Transaction) -> Vec<T> {
    let mut ordered = Vec::with_capacity(items.len());
    while let Some(txid) = items.keys().next().copied() {
        // Each is looked at twice: its parents go before it.
        let mut open = vec![(txid, false)];
        while let Some((txid, parents_are_in)) = open.pop() {
            if parents_are_in {
                ordered.extend(items.remove(&txid));
            } else if let Some(item) = items.get(&txid) {
                open.push((txid, true));
                open.extend(tx(item).input.iter().map(|input| (input.previous_output.txid, false)));
            }
        }
    }
    ordered
}
