//! What a backend tells of single transactions, whoever they pay: those that are in no block yet, or in one that a
//! reorganisation may still take off. Their raw bytes are kept where one of ours rests on them.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Transaction, Txid};

/// The answer about some transactions. What it says nothing of is in a block that lies deeper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recent {
    /// Those in the mempool, and those in blocks above the height that was asked for.
    pub txs: BTreeMap<Txid, Transaction>,
    /// Those of which the backend cannot tell: it does not have them, or not where they are.
    pub unknown: BTreeSet<Txid>,
}

impl Recent {
    /// Nothing is told of these.
    #[must_use]
    pub fn unknown(txids: &[Txid]) -> Self {
        Self { txs: BTreeMap::new(), unknown: txids.iter().copied().collect() }
    }
}
