//! Batches and twins that a look touched: both are settled at its end.

use std::collections::BTreeSet;

use bitcoin::Txid;

/// Their numbers and ids.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub batches: BTreeSet<i64>,
    pub twins: BTreeSet<Txid>,
}
