//! What of ours must not be broadcast, or not be made: a transaction that would pay what somebody else, another copy of this wallet
//! above all, pays already with other coins (interface, section 4, "Twin"). A block that holds it all the same is another matter.

use std::collections::BTreeMap;

use bitcoin::{Transaction, Txid};

use crate::chain::parents_first;
use crate::funds::{self, Unconfirmed};
use crate::gateway::{Cannot, Cause, PAYEES_MAX};
use crate::store::payouts::PayoutRow;
use crate::store::{Reader, StoreError};
use crate::watcher::payers::Payers;

/// Why nothing may be signed that pays a payout, because somebody else may have paid it; `None` where nobody has.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn paid_by_another(
    payers: &Payers<'_>,
    payout: &PayoutRow,
    tip_height: u32,
) -> Result<Option<Cannot>, StoreError> {
    let Some(twin) = payers.paid_elsewhere(payout, tip_height)? else { return Ok(None) };
    let txid = twin.txid;
    let why = if twin.position.is_in_block() {
        Cause::CopyPays.because(format!(
            "its payee was paid exactly its amount in a block, by transaction {txid}, which was not made here: it is sent by that"
        ))
    } else if twin.moves_ours {
        Cause::CopyPays.because(format!(
            "another copy of this wallet is said to pay what waits, by transaction {txid}, which is in no block: it is waited until a \
             block holds that, or it is gone"
        ))
    } else {
        Cause::Payee.because(format!(
            "somebody else pays its payee exactly its amount, by transaction {txid}, which is in no block: it is sent by that once a \
             block holds it; where nothing shows that any more, it is paid from here after {}",
            twin.awaited_until().iso_seconds()
        ))
    };
    Ok(Some(why))
}

/// The same of all that waits for a transaction: why there is none to make, for which the backend need not be asked about anything.
///
/// # Errors
/// When the database cannot be read.
pub(super) fn all_paid_by_another(reader: &Reader<'_>) -> Result<Option<Cannot>, StoreError> {
    let (mut waits, payers, tip_height) = (None, Payers::of(reader), reader.tip_height()?);
    for payout in reader.unsent_payouts(PAYEES_MAX)? {
        let Some(why) = paid_by_another(&payers, &payout, tip_height)? else { return Ok(None) };
        waits.get_or_insert(why);
    }
    Ok(waits)
}

/// Whether a stored transaction must not be broadcast: it, or an unconfirmed ancestor without which no node takes it, pays a
/// payout that is paid otherwise.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn is_held_back(reader: &Reader<'_>, txid: &Txid) -> Result<bool, StoreError> {
    rests_on_one(reader, &funds::unconfirmed(reader, txid)?)
}

/// A stored transaction behind its unconfirmed ancestors, parents first; `None` where it must not be broadcast.
pub(super) fn package(reader: &Reader<'_>, txid: &Txid) -> Result<Option<Vec<Transaction>>, StoreError> {
    let unconfirmed = funds::unconfirmed(reader, txid)?;
    if rests_on_one(reader, &unconfirmed)? {
        return Ok(None);
    }
    Ok(Some(parents_first(unconfirmed, |one| &one.tx).into_iter().map(|one| one.tx).collect()))
}

fn rests_on_one(reader: &Reader<'_>, unconfirmed: &BTreeMap<Txid, Unconfirmed>) -> Result<bool, StoreError> {
    for ancestor in unconfirmed.keys() {
        if let Some(version) = reader.version(ancestor)?
            && version.pays
            && is_paid_otherwise(reader, version.batch_seq)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether what was not made here pays a payout of a batch, so that ours must not be broadcast ([`Payers::is_held_back_for`]).
pub(super) fn is_paid_otherwise(reader: &Reader<'_>, batch_seq: i64) -> Result<bool, StoreError> {
    let (payers, tip_height) = (Payers::of(reader), reader.tip_height()?);
    for payout in reader.payouts_of_batch(batch_seq)? {
        if payers.is_held_back_for(&payout, tip_height)? {
            return Ok(true);
        }
    }
    Ok(false)
}
