//! Coins that a look saw made as change, spent, or taken back. What pays a payment is [`super::advance`]'s.

use std::sync::Arc;

use bitcoin::{OutPoint, Txid};
use tillgate_domain::time::Timestamp;

use crate::chain::{TxFacts, TxPosition};
use crate::store::coins::Coin;
use crate::store::{StoreError, Tx};

/// What one transaction does to our coins.
#[derive(Debug)]
pub(super) struct Move {
    pub facts: Arc<TxFacts>,
    /// Our change that it makes.
    pub change: Vec<Coin>,
    /// Our coins that it spends.
    pub spends: Vec<OutPoint>,
}

/// Takes over what a transaction does. The coins that it spends are stored already.
pub(super) fn take(tx: &Tx<'_>, txid: &Txid, moved: &Move, at: Timestamp) -> Result<(), StoreError> {
    let facts = &moved.facts;
    if facts.position == TxPosition::Absent {
        return tx.take_back_coins(txid);
    }
    if !moved.change.is_empty() {
        tx.store_transaction(&facts.tx, txid, at)?;
    }
    for coin in &moved.change {
        tx.store_coin(coin, &facts.position)?;
    }
    moved.spends.iter().try_for_each(|outpoint| tx.spend_coin(outpoint, txid))
}
