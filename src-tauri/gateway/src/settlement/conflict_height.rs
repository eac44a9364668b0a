//! The height at which a block rules a transaction out.

use bitcoin::{Transaction, Txid};
use tillgate_domain::batch::Position;
use tillgate_store::{Reader, StoreError};

/// Generations of ancestors that are searched for a conflict. The sender never builds a longer
/// chain.
const GENERATIONS_MAX: u32 = 25;

/// The height of the lowest block with a conflict: a transaction that spends an input of `tx`, or
/// of an unconfirmed ancestor that is ours. It is computed from stored coins, so `tx` need not be
/// known to any backend.
pub fn conflict_height(
    reader: &Reader<'_>,
    tx: &Transaction,
    txid: &Txid,
) -> Result<Option<u32>, StoreError> {
    within(reader, tx, txid, GENERATIONS_MAX)
}

/// Like [`conflict_height`], with at most this many generations of ancestors.
fn within(
    reader: &Reader<'_>,
    tx: &Transaction,
    txid: &Txid,
    generations: u32,
) -> Result<Option<u32>, StoreError> {
    let mut lowest: Option<u32> = None;
    for outpoint in tx.input.iter().map(|input| input.previous_output) {
        let Some(coin) = reader.coin_facts(&outpoint)? else { continue };
        let spent_height = coin.spent_height.filter(|_| coin.spent_by.as_ref() != Some(txid));
        let of_parent = match coin.position {
            Position::Block { .. } | Position::Mempool => None,
            Position::Absent => match reader.version(&outpoint.txid)?.filter(|_| generations > 0) {
                Some(parent) => {
                    let above = within(reader, &parent.tx, &parent.txid, generations - 1)?;
                    [coin.conflict_height, above].into_iter().flatten().min()
                }
                None => coin.conflict_height,
            },
        };
        lowest = [lowest, spent_height, of_parent].into_iter().flatten().min();
    }
    Ok(lowest)
}
