//! Batches and twins that a look touched; they are settled at its end.

use std::collections::BTreeSet;

use bitcoin::Txid;

/// Batch numbers and twin txids.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub batches: BTreeSet<i64>,
    pub twins: BTreeSet<Txid>,
}
