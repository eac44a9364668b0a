//! Whether this wallet signed a transaction that spends its coins and is not stored as ours. In a block, the work says so.
//! Elsewhere it is the word of whoever tells it, who may have made it up: its scripts are run.

use bitcoin::{Transaction, Txid};
use tillgate_domain::payout::PayoutState;

use crate::chain::{Fact, spent_outputs};
use crate::store::twins::TwinRow;
use crate::store::{Reader, StoreError};

/// Whether the signatures of a transaction show that a copy of this wallet made it. Unknown where it spends no coin that is known
/// here, and where it spends one by a taproot signature beside what is not known, which that signature is for too.
pub(super) fn by_this_wallet(reader: &Reader<'_>, tx: &Transaction) -> Result<Fact, StoreError> {
    let spent = spent_outputs(tx, |txid| reader.stored_transaction(txid))?;
    let mut signed = Fact::Unknown;
    for (input, verified) in tx.input.iter().zip(tillgate_sandbox::verify_each_script(tx, &spent)) {
        match verified {
            Some(false) => return Ok(Fact::No),
            Some(true) if reader.has_coin(&input.previous_output)? => signed = Fact::Yes,
            Some(true) | None => {}
        }
    }
    Ok(signed)
}

/// Whether a twin counts for what it pays and takes: a block holds it, or this wallet signed it, or it counted before, in a block
/// that was left.
pub(super) fn counts(reader: &Reader<'_>, twin: &TwinRow) -> Result<bool, StoreError> {
    if twin.position.is_in_block() {
        return Ok(true);
    }
    Ok(match by_this_wallet(reader, &twin.tx)? {
        Fact::Yes => true,
        Fact::No => false,
        Fact::Unknown => has_sent(reader, &twin.txid)?,
    })
}

/// Whether a payout is SENT under a twin's id.
pub(super) fn has_sent(reader: &Reader<'_>, twin: &Txid) -> Result<bool, StoreError> {
    let payouts = reader.payouts_of_twin(twin)?;
    Ok(payouts.iter().any(|payout| payout.state == PayoutState::Sent && payout.txid.as_ref() == Some(twin)))
}
