//! Batches and twins that a part of a look touched. The commit that stores the part settles them last.

use std::collections::BTreeSet;

use bitcoin::Txid;

/// Batches by `seq`, and twins by txid.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub batches: BTreeSet<i64>,
    pub twins: BTreeSet<Txid>,
}
