//! Another copy of this wallet works: a transaction spends our coins that is not stored here (interface, section 4, "Twin").

use bitcoin::{OutPoint, Transaction, TxOut, Txid};
use tillgate_domain::batch::Position;
use tillgate_domain::payout::PayoutState;

use super::batches::{Touched, sats};
use crate::chain::{TxFacts, TxPosition};
use crate::gateway::StaffWarning;
use crate::ledger::{self, About};
use crate::notifications::outbox::{Outbox, OutboxError};
use crate::store::ledger::LedgerKind;
use crate::store::payouts::PayoutRow;
use crate::store::{Reader, StoreError};

const HOLD: &str = "a transaction spends coins of this wallet that was not made here: another copy of the wallet works";

/// Takes over where such a transaction stands. At its first sight the sender holds, and each of its outputs that pays an
/// approved payout's address exactly its amount pays one such payout.
pub(super) fn take(
    outbox: &Outbox<'_>,
    txid: &Txid,
    facts: &TxFacts,
    touched: &mut Touched,
) -> Result<Option<StaffWarning>, OutboxError> {
    let tx = outbox.tx;
    if tx.is_twin(txid)? {
        tx.move_twin(txid, &facts.position, facts.conflict_height)?;
        touched.twins.insert(*txid);
        return Ok(None);
    }
    if facts.position == TxPosition::Absent {
        return Ok(None);
    }
    tx.store_transaction(&facts.tx, txid, outbox.now)?;
    tx.insert_twin(txid, &facts.position, outbox.now)?;
    touched.twins.insert(*txid);
    tx.hold_sender(outbox.now, &format!("{HOLD} ({txid})"))?;
    for (vout, output) in (0u32..).zip(&facts.tx.output) {
        if let Some(payout) = paid_payout(tx, &facts.tx, txid, output)? {
            tx.store_twin_output(txid, vout, payout.seq)?;
        }
    }
    Ok(Some(StaffWarning::TwinWallet { txid: *txid }))
}

/// The payout that an output of a twin pays, if it pays one: first one whose own transaction, or whose other twins, this one
/// replaces; else one that no twin pays.
fn paid_payout(
    reader: &Reader<'_>,
    twin: &Transaction,
    txid: &Txid,
    output: &TxOut,
) -> Result<Option<PayoutRow>, StoreError> {
    let mut unpaid = None;
    for payout in reader.payouts_like(&output.script_pubkey, output.value.to_sat(), txid)? {
        let others = reader.twins_of_payout(payout.seq)?;
        let own = match payout.batch_seq {
            Some(batch_seq) => reader.inputs_of_batch(batch_seq)?,
            None => Vec::new(),
        };
        let replaces = |spent: Vec<OutPoint>| spent.iter().any(|outpoint| inputs(twin).contains(outpoint));
        if others.iter().all(|other| replaces(inputs(&other.tx))) && (!others.is_empty() || replaces(own)) {
            return Ok(Some(payout));
        }
        if others.is_empty() && unpaid.is_none() {
            unpaid = Some(payout);
        }
    }
    Ok(unpaid)
}

fn inputs(tx: &Transaction) -> Vec<OutPoint> {
    tx.input.iter().map(|input| input.previous_output).collect()
}

/// Brings the ledger's row of a twin up to date: what it takes from us beyond the payouts that were SENT by it. While a
/// transaction of ours is reckoned as confirmed that spends one of its inputs, the twin is reckoned as nothing: only one of
/// the two can be.
pub(super) fn book(outbox: &Outbox<'_>, txid: &Txid) -> Result<(), StoreError> {
    let tx = outbox.tx;
    let Some(twin) = tx.twin(txid)? else { return Ok(()) };
    let mut effect_sats = 0;
    if twin.position != Position::Absent && !conflicts_with_reckoned(tx, &twin.tx)? {
        effect_sats += sats(tx.change_of_sats(txid)?);
        for input in &twin.tx.input {
            if let Some(coin) = tx.coin_facts(&input.previous_output)? {
                effect_sats -= sats(coin.amount_sats);
            }
        }
        for payout in tx.payouts_of_twin(txid)? {
            if payout.state == PayoutState::Sent && payout.txid == Some(*txid) {
                effect_sats += sats(payout.amount_sats);
            }
        }
    }
    if effect_sats != twin.booked_sats {
        let about = About { txid: Some(*txid), ..About::default() };
        ledger::book(outbox, LedgerKind::Other, effect_sats - twin.booked_sats, about)?;
        tx.book_twin(txid, effect_sats)?;
    }
    Ok(())
}

/// Whether a version of ours that the record of a SENT payout names spends an input of a twin.
fn conflicts_with_reckoned(reader: &Reader<'_>, twin: &Transaction) -> Result<bool, StoreError> {
    for outpoint in twin.input.iter().map(|input| input.previous_output) {
        let Some(batch_seq) = reader.live_batch_of_input(&outpoint)? else { continue };
        let payouts = reader.payouts_of_batch(batch_seq)?;
        for version in reader.versions(batch_seq)? {
            let is_reckoned = payouts.iter().any(|it| it.state == PayoutState::Sent && it.txid == Some(version.txid));
            if is_reckoned && version.tx.input.iter().any(|input| input.previous_output == outpoint) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
