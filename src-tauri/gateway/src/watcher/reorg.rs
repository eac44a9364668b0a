//! Block reorganisations: transactions and coinbases whose blocks left the chain.

use bitcoin::Txid;
use tillgate_chain::{Fact, Tip, TxFacts, TxPosition, coinbase_height};
use tillgate_store::{Reader, StoreError};

/// Our transactions that were in removed blocks above `left_above`, or were ruled out by such
/// blocks, and that no answer of this look reports.
///
/// Without this, such a transaction or its conflict would keep gaining confirmations until a later
/// answer. No answer comes if the script states are lost, or the server refuses to report the
/// script.
pub fn unmined(
    reader: &Reader<'_>,
    left_above: u32,
    is_reported: impl Fn(&Txid) -> bool,
) -> Result<Vec<Txid>, StoreError> {
    let mut unmined = reader.transactions_decided_above(left_above)?;
    unmined.retain(|txid| !is_reported(txid));
    Ok(unmined)
}

/// Treats a coinbase without a block as ruled out at its height: no other block can hold it. If its
/// block returns, the coinbase is valid again.
pub fn with_lost_reward(facts: TxFacts, tip: &Tip) -> TxFacts {
    if facts.position != TxPosition::Absent || !facts.tx.is_coinbase() {
        return facts;
    }
    let conflict_height = coinbase_height(&facts.tx);
    if conflict_height.is_some_and(|height| height > tip.height) {
        return facts;
    }
    TxFacts { conflict_in_chain: Fact::Yes, conflict_height, ..facts }
}
