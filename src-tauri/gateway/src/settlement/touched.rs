//! Batches and twins that the findings of one commit touched. The same commit settles them after it
//! stored its findings.

use std::collections::BTreeSet;

use bitcoin::Txid;

/// Batches by `seq`, and twins by txid.
#[derive(Debug, Default)]
pub struct Touched {
    pub batches: BTreeSet<i64>,
    pub twins: BTreeSet<Txid>,
}
