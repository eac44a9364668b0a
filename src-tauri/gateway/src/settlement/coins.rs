//! Coins that a look saw created, spent or taken back, and the transactions of payouts.
//! [`super::payment`] handles payments.

use std::sync::Arc;

use bitcoin::{OutPoint, Txid};
use tillgate_chain::{TxFacts, TxPosition};
use tillgate_store::coins::Coin;
use tillgate_store::keychains::Keychain;
use tillgate_store::ledger::LedgerKind;
use tillgate_store::{Reader, StoreError};

use super::payment::MISSING_BYTES_MAX;
use super::touched::Touched;
use super::{twin_ledger, twins};
use crate::gateway::StaffWarning;
use crate::ledger::{self, About};
use crate::notifications::outbox::{Outbox, OutboxError};

/// The effect of one transaction on our coins.
#[derive(Debug)]
pub struct CoinMove {
    pub facts: Arc<TxFacts>,
    /// Outputs to this wallet that belong to no payment: our change, and addresses not given to any
    /// payment here.
    pub change: Vec<Coin>,
    /// Coins of ours that the transaction spends.
    pub spends: Vec<OutPoint>,
}

/// Stores the coins that a transaction creates and that belong to no payment. A look stores all
/// created coins before any spend.
pub fn store_created(
    outbox: &Outbox<'_>,
    txid: &Txid,
    moved: &CoinMove,
) -> Result<Option<StaffWarning>, StoreError> {
    let (tx, facts) = (outbox.tx, &moved.facts);
    if facts.position == TxPosition::Absent
        || moved.change.is_empty()
        || is_ignored(tx, txid, moved)?
    {
        return Ok(None);
    }
    tx.store_transaction(&facts.tx, txid, outbox.now)?;
    let (mut highest_new, mut came_sats, mut strange) = (None, 0u64, None);
    for coin in &moved.change {
        let is_new = !tx.has_coin(&coin.outpoint)?;
        if is_new
            && coin.keychain == Keychain::Internal
            && moved.spends.is_empty()
            && !tx.is_change_known(coin.index)?
        {
            strange = Some(coin);
        }
        tx.store_coin(coin, &facts.position)?;
        match coin.keychain {
            Keychain::External => {
                tx.skip_addresses_to(coin.index)?;
                if is_new {
                    highest_new = highest_new.max(Some(coin.index));
                    came_sats = came_sats.saturating_add(coin.amount_sats);
                }
            }
            Keychain::Internal => tx.use_change_index(coin.index)?,
        }
    }
    let at = facts.position.made_at(outbox.now).unwrap_or(outbox.now);
    match (highest_new, strange) {
        (Some(index), _) => twins::notice_address(outbox, (txid, came_sats, at), index),
        (None, Some(coin)) => twins::notice_change(outbox, (txid, at), coin),
        (None, None) => Ok(None),
    }
}

/// Whether a transaction is ignored until mined: it is in the mempool, spends no coin of ours, and
/// the disk quota of its address ([`MISSING_BYTES_MAX`]) is used up.
fn is_ignored(reader: &Reader<'_>, txid: &Txid, moved: &CoinMove) -> Result<bool, StoreError> {
    if !matches!(moved.facts.position, TxPosition::Mempool { .. })
        || reader.batch_of_version(txid)?.is_some()
        || spends_ours(reader, moved)?
    {
        return Ok(false);
    }
    for coin in &moved.change {
        let is_new = !reader.has_coin(&coin.outpoint)?;
        if is_new && reader.missing_bytes_at(coin.keychain, coin.index)? > MISSING_BYTES_MAX {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a transaction spends a stored coin. The coins of an ignored transaction are not stored.
fn spends_ours(reader: &Reader<'_>, moved: &CoinMove) -> Result<bool, StoreError> {
    for outpoint in &moved.spends {
        if reader.has_coin(outpoint)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Stores the spends of a transaction, or undoes them if it is absent. Call this after the spent
/// coins are stored.
pub fn store_spends(
    outbox: &Outbox<'_>,
    txid: &Txid,
    moved: &CoinMove,
    touched: &mut Touched,
) -> Result<Option<StaffWarning>, OutboxError> {
    let (tx, facts) = (outbox.tx, &moved.facts);
    let height = match facts.position {
        TxPosition::Block { height, .. } => Some(height),
        TxPosition::Mempool { .. } | TxPosition::Absent => None,
    };
    if is_ignored(tx, txid, moved)? {
        tracing::warn!(
            %txid,
            "a mempool transaction is ignored until mined: missing transactions to its address fill the disk quota"
        );
        return Ok(None);
    }
    if facts.position == TxPosition::Absent {
        tx.take_back_coins(txid, facts.conflict_height)?;
    } else {
        moved.spends.iter().try_for_each(|outpoint| tx.spend_coin(outpoint, txid, height))?;
    }
    if let Some(batch_seq) = tx.batch_of_version(txid)? {
        tx.move_version(txid, &facts.position)?;
        touched.batches.insert(batch_seq);
        return Ok(None);
    }
    if tx.is_twin(txid)? || spends_ours(tx, moved)? {
        // Removes an income that was booked before it was known that the inputs are our coins.
        book_change(outbox, txid, false)?;
        let pays_an_address = moved.change.iter().any(|coin| coin.keychain == Keychain::External);
        return twins::store_position(outbox, txid, facts, pays_an_address, touched);
    }
    book_change(outbox, txid, true)?;
    Ok(None)
}

/// Marks a transaction of ours as absent because the chain does not know it.
pub fn mark_absent(
    outbox: &Outbox<'_>,
    txid: &Txid,
    touched: &mut Touched,
) -> Result<(), StoreError> {
    let tx = outbox.tx;
    tx.take_back_coins(txid, None)?;
    if let Some(batch_seq) = tx.batch_of_version(txid)? {
        tx.move_version(txid, &TxPosition::Absent)?;
        touched.batches.insert(batch_seq);
    } else if tx.is_twin(txid)? {
        tx.move_twin(txid, &TxPosition::Absent, None)?;
        touched.twins.insert(*txid);
    } else {
        book_change(outbox, txid, true)?;
    }
    Ok(())
}

/// Books outputs to our change, or to addresses not given to any payment here. Such an output is
/// income only if the transaction spends none of our coins (`is_strangers`).
fn book_change(outbox: &Outbox<'_>, txid: &Txid, is_strangers: bool) -> Result<(), StoreError> {
    for (outpoint, coin) in outbox.tx.change_coins(txid)? {
        let sats = if is_strangers && coin.position.is_in_block() {
            twin_ledger::sats(coin.amount_sats)
        } else {
            0
        };
        if sats != coin.booked_sats {
            let about = About { txid: Some(*txid), ..About::default() };
            ledger::book(outbox, LedgerKind::Other, sats - coin.booked_sats, about)?;
            outbox.tx.book_coin(&outpoint, sats)?;
        }
    }
    Ok(())
}
