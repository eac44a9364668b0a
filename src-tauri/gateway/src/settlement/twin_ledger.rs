//! Ledger rows of twins ([`tillgate_store::twins`]): what each twin took from the balance beyond
//! the payouts that it paid.

use bitcoin::{Transaction, Txid};
use tillgate_domain::batch::Position;
use tillgate_domain::payout::PayoutState;
use tillgate_store::ledger::LedgerKind;
use tillgate_store::{Reader, StoreError};

use crate::ledger::{self, About};
use crate::notifications::outbox::Outbox;

/// Books the effect of a twin on the balance, without the SENT payouts that it paid. A twin counts
/// once mined. It does not count while the ledger counts a conflicting transaction of ours, because
/// only one of the two can confirm.
pub fn book(outbox: &Outbox<'_>, txid: &Txid) -> Result<(), StoreError> {
    let tx = outbox.tx;
    let Some(twin) = tx.twin(txid)? else { return Ok(()) };
    let mut effect_sats = 0;
    let counts = match twin.position {
        Position::Block { .. } => true,
        // A reorganisation removed the twin's block.
        Position::Mempool => tx.has_sent(txid)?,
        Position::Absent => false,
    };
    if counts && !conflicts_with_sent(tx, &twin.tx)? {
        effect_sats += sats(tx.change_of_sats(txid)?);
        for input in &twin.tx.input {
            if let Some(coin) = tx.coin_facts(&input.previous_output)? {
                effect_sats -= sats(coin.amount_sats);
            }
        }
        effect_sats += sats(tx.sent_sats(txid)?);
    }
    if effect_sats != twin.booked_sats {
        let about = About { txid: Some(*txid), ..About::default() };
        ledger::book(outbox, LedgerKind::Other, effect_sats - twin.booked_sats, about)?;
        tx.book_twin(txid, effect_sats)?;
    }
    Ok(())
}

/// Whether a twin conflicts with a version of ours that the record of a SENT payout names.
fn conflicts_with_sent(reader: &Reader<'_>, twin: &Transaction) -> Result<bool, StoreError> {
    for outpoint in twin.input.iter().map(|input| input.previous_output) {
        let Some(batch_seq) = reader.live_batch_of_input(&outpoint)? else { continue };
        let payouts = reader.payouts_of_batch(batch_seq)?;
        for version in reader.versions(batch_seq)? {
            let is_sent = payouts
                .iter()
                .any(|it| it.state == PayoutState::Sent && it.txid == Some(version.txid));
            if is_sent && version.tx.input.iter().any(|input| input.previous_output == outpoint) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Satoshis as a signed number. All bitcoin are 2.1e15 satoshis, far below `i64::MAX`.
pub fn sats(sats: u64) -> i64 {
    i64::try_from(sats).unwrap_or(i64::MAX)
}
