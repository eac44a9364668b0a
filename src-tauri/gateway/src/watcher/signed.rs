//! Whether this wallet signed a transaction that spends its coins and is not stored as ours. In a block, the work says so.
//! Elsewhere it is the word of whoever tells it, who may have made it up: its scripts are run.

use bitcoin::{Transaction, Txid};

use crate::chain::{Fact, judge, spent_outputs};
use crate::store::twins::TwinRow;
use crate::store::{Reader, StoreError};

/// Whether the signatures of a transaction show that a copy of this wallet made it: one of them that holds is for the whole
/// transaction, whatever stands beside it. Unknown where it spends no coin that is known here, and where it spends one by a taproot
/// signature beside what is not known, which that signature is for too.
pub(super) fn by_this_wallet(reader: &Reader<'_>, tx: &Transaction) -> Result<Fact, StoreError> {
    let spent = spent_outputs(tx, |txid| reader.stored_transaction(txid))?;
    let mut signed = Fact::Unknown;
    for (input, verified) in tx.input.iter().zip(judge(tx, &spent)) {
        match verified {
            Some(true) if reader.has_coin(&input.previous_output)? => return Ok(Fact::Yes),
            Some(false) => signed = Fact::No,
            Some(true) | None => {}
        }
    }
    Ok(signed)
}

/// Whether a copy of this wallet made a twin. What a block held once was signed, or no work would have been done for it; the stored
/// signatures may be those of whoever told it first, for no id covers them.
pub(super) fn twin_by_this_wallet(reader: &Reader<'_>, twin: &TwinRow) -> Result<Fact, StoreError> {
    if !twin.was_in_block {
        return by_this_wallet(reader, &twin.tx);
    }
    Ok(if reader.spends_a_coin(&twin.tx)? { Fact::Yes } else { Fact::Unknown })
}

/// Whether a transaction that is said to wait is none: nobody signed it who may spend its coins, and nothing that is known of its id
/// says that somebody did.
pub(super) fn is_made_up(reader: &Reader<'_>, txid: &Txid, told: &Transaction) -> Result<bool, StoreError> {
    if by_this_wallet(reader, told)? != Fact::No || reader.version(txid)?.is_some() {
        return Ok(false);
    }
    reader.twin(txid)?.map_or(Ok(true), |twin| Ok(twin_by_this_wallet(reader, &twin)? == Fact::No))
}

/// Whether a copy of this wallet made a twin, or a block holds it.
pub(super) fn of_twin(reader: &Reader<'_>, twin: &TwinRow) -> Result<Fact, StoreError> {
    if twin.position.is_in_block() { Ok(Fact::Yes) } else { twin_by_this_wallet(reader, twin) }
}

/// Whether a twin counts for what it pays and takes: it is signed as [`of_twin`] has it, or it counted before, in a block that was left, and
/// a payout is SENT under its id.
pub(super) fn counts(is_signed: Fact, has_sent: impl FnOnce() -> Result<bool, StoreError>) -> Result<bool, StoreError> {
    match is_signed {
        Fact::Yes => Ok(true),
        Fact::No => Ok(false),
        Fact::Unknown => has_sent(),
    }
}
