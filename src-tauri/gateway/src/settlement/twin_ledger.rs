//! Ledger rows of twins ([`crate::store::twins`]): the cost of each beyond its SENT payouts.

use bitcoin::{Transaction, Txid};
use tillgate_domain::batch::Position;
use tillgate_domain::payout::PayoutState;

use crate::ledger::{self, About};
use crate::notifications::outbox::Outbox;
use crate::store::ledger::LedgerKind;
use crate::store::{Reader, StoreError};

/// Updates the ledger row of a twin: its cost beyond its SENT payouts. A twin counts once mined. It does not count
/// while a conflicting transaction of ours counts as confirmed: only one of the two can be.
pub(super) fn book(outbox: &Outbox<'_>, txid: &Txid) -> Result<(), StoreError> {
    let tx = outbox.tx;
    let Some(twin) = tx.twin(txid)? else { return Ok(()) };
    let mut effect_sats = 0;
    let counts = match twin.position {
        Position::Block { .. } => true,
        // A reorganisation removed its block.
        Position::Mempool => tx.has_sent(txid)?,
        Position::Absent => false,
    };
    if counts && !conflicts_with_reckoned(tx, &twin.tx)? {
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

/// Whether a version of ours, named by the record of a SENT payout, spends an input of a twin.
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

/// 21 million BTC are 2.1e15 satoshis, far below the range.
pub(super) fn sats(sats: u64) -> i64 {
    i64::try_from(sats).unwrap_or(i64::MAX)
}
