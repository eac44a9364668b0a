//! Coins that a look saw created, spent or taken back, and the transactions of payouts. [`super::payment`] handles
//! payments.

use std::collections::BTreeSet;
use std::sync::Arc;

use bitcoin::{OutPoint, Txid};

use super::due::Due;
use super::missing::MISSING_BYTES_MAX;
use super::touched::Touched;
use super::{batches, twin_ledger, twins};
use crate::chain::{TxFacts, TxPosition};
use crate::gateway::StaffWarning;
use crate::ledger::{self, About};
use crate::notifications::outbox::{Outbox, OutboxError};
use crate::store::coins::Coin;
use crate::store::keychains::Keychain;
use crate::store::ledger::LedgerKind;
use crate::store::{Reader, StoreError};

/// The effect of one transaction on our coins.
#[derive(Debug)]
pub(crate) struct Move {
    pub facts: Arc<TxFacts>,
    /// Outputs to this wallet beside payments: our change, and addresses not given to any payment here.
    pub change: Vec<Coin>,
    /// Coins of ours that it spends.
    pub spends: Vec<OutPoint>,
}

/// Stores the coins that a transaction creates beside payments. A look stores all created coins before any spend.
pub(crate) fn make(outbox: &Outbox<'_>, txid: &Txid, moved: &Move) -> Result<Option<StaffWarning>, StoreError> {
    let (tx, facts) = (outbox.tx, &moved.facts);
    if facts.position == TxPosition::Absent || moved.change.is_empty() || is_passed_over(tx, txid, moved)? {
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
    let at = facts.position.seen_at(outbox.now);
    match (highest_new, strange) {
        (Some(index), _) => twins::notice_address(outbox, (txid, came_sats, at), index),
        (None, Some(coin)) => twins::notice_change(outbox, (txid, at), coin),
        (None, None) => Ok(None),
    }
}

/// Whether a mempool transaction is ignored until mined: it spends no coin of ours, and the disk quota of its address
/// is used up.
fn is_passed_over(reader: &Reader<'_>, txid: &Txid, moved: &Move) -> Result<bool, StoreError> {
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

/// Whether a transaction spends a stored coin. An ignored transaction creates none.
fn spends_ours(reader: &Reader<'_>, moved: &Move) -> Result<bool, StoreError> {
    for outpoint in &moved.spends {
        if reader.has_coin(outpoint)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Stores the spends of a transaction, or that it is gone. The spent coins are stored already.
pub(crate) fn take(
    outbox: &Outbox<'_>,
    txid: &Txid,
    moved: &Move,
    touched: &mut Touched,
) -> Result<Option<StaffWarning>, OutboxError> {
    let (tx, facts) = (outbox.tx, &moved.facts);
    let height = match facts.position {
        TxPosition::Block { height, .. } => Some(height),
        TxPosition::Mempool { .. } | TxPosition::Absent => None,
    };
    if is_passed_over(tx, txid, moved)? {
        tracing::warn!(%txid, "a transaction in the mempool is passed over: too many that paid the same address are gone");
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
        // Takes back an income that was booked while the inputs were unknown.
        book_change(outbox, txid, false)?;
        let pays_an_address = moved.change.iter().any(|coin| coin.keychain == Keychain::External);
        return twins::take(outbox, txid, facts, pays_an_address, touched);
    }
    book_change(outbox, txid, true)?;
    Ok(None)
}

/// Marks a transaction of ours as absent because the chain does not know it.
pub(crate) fn take_unknown(outbox: &Outbox<'_>, txid: &Txid, touched: &mut Touched) -> Result<(), StoreError> {
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

/// Recomputes the touched and the due batches and twins. After a block, each batch is due as soon as its scripts are
/// known.
pub(crate) fn settle(
    outbox: &Outbox<'_>,
    mut touched: Touched,
    due: Due,
    tip_height: u32,
) -> Result<Vec<StaffWarning>, OutboxError> {
    let (mut since, mut is_all) = (tip_height, false);
    match due {
        Due::Nothing => {}
        Due::Batches(batches) => touched.batches.extend(batches),
        Due::All { before } => {
            touched.batches.extend(outbox.tx.pending_batches()?);
            (since, is_all) = (before.map_or(tip_height, |before| before.min(tip_height)), true);
        }
    }
    if is_all || !touched.batches.is_empty() {
        // Blocks may have come since the last full settling: twins count as pending from that height.
        let looked_height = outbox.tx.tip_height()?.min(since);
        touched.twins.extend(outbox.tx.pending_twins(looked_height)?);
    }
    let (mut warnings, mut alone) = (Vec::new(), BTreeSet::new());
    for txid in &touched.twins {
        twins::match_mined(outbox.tx, txid)?;
        for (payout_seq, batch_seq) in outbox.tx.payouts_of_twin(txid)? {
            match batch_seq {
                Some(batch_seq) => touched.batches.insert(batch_seq),
                None => alone.insert(payout_seq),
            };
        }
    }
    for payout_seq in alone {
        if let Some(payout) = outbox.tx.payout_by_seq(payout_seq)? {
            warnings.extend(batches::settle_alone(outbox, payout, tip_height, &mut touched.twins)?);
        }
    }
    for batch_seq in touched.batches {
        warnings.extend(batches::settle_noting(outbox, batch_seq, tip_height, &mut touched.twins)?);
        // The cost of a twin depends on the booking of the batch whose coins it spends.
        for outpoint in outbox.tx.inputs_of_batch(batch_seq)? {
            let spender = outbox.tx.coin_facts(&outpoint)?.and_then(|coin| coin.spent_by);
            if let Some(spender) = spender
                && outbox.tx.is_twin(&spender)?
            {
                touched.twins.insert(spender);
            }
        }
    }
    for txid in &touched.twins {
        twin_ledger::book(outbox, txid)?;
    }
    Ok(warnings)
}

/// Books payments to our change, or to addresses not given to any payment here. Such a payment is income only if
/// somebody else made it.
fn book_change(outbox: &Outbox<'_>, txid: &Txid, is_strangers: bool) -> Result<(), StoreError> {
    for (outpoint, coin) in outbox.tx.change_coins(txid)? {
        let sats = if is_strangers && coin.position.is_in_block() { twin_ledger::sats(coin.amount_sats) } else { 0 };
        if sats != coin.booked_sats {
            let about = About { txid: Some(*txid), ..About::default() };
            ledger::book(outbox, LedgerKind::Other, sats - coin.booked_sats, about)?;
            outbox.tx.book_coin(&outpoint, sats)?;
        }
    }
    Ok(())
}
