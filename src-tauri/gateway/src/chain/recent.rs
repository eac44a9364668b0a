//! Single transactions in no block, or in a block that may still be reorganised, whoever they pay. Their raw bytes are
//! kept if a transaction of ours rests on them.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Transaction, Txid};

/// The answer about some transactions. A transaction in neither field is in a deeper block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recent {
    /// Those in the mempool, and those in blocks above the requested height.
    pub txs: BTreeMap<Txid, Transaction>,
    /// Those that the backend lacks, or whose place it does not know.
    pub unknown: BTreeSet<Txid>,
}

impl Recent {
    #[must_use]
    pub fn unknown(txids: &[Txid]) -> Self {
        Self { txs: BTreeMap::new(), unknown: txids.iter().copied().collect() }
    }
}
