//! What of ours must not be broadcast: a transaction that would pay what another copy of this wallet pays already with
//! other coins (interface, section 4, "Twin"). A block that holds it all the same is another matter.

use std::collections::BTreeMap;

use bitcoin::{Transaction, Txid};

use crate::chain::parents_first;
use crate::funds::{self, Unconfirmed};
use crate::store::{Reader, StoreError};
use crate::watcher::batches;

/// Whether a stored transaction must not be broadcast: it, or an unconfirmed ancestor without which no node takes it, pays a
/// payout that another copy pays too.
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

/// Whether another copy pays a payout of a batch, wherever its transaction stands, as long as that may be mined.
pub(super) fn is_paid_otherwise(reader: &Reader<'_>, batch_seq: i64) -> Result<bool, StoreError> {
    let tip_height = reader.tip_height()?;
    for payout in reader.payouts_of_batch(batch_seq)? {
        if batches::is_paid_elsewhere(reader, &payout, tip_height)? {
            return Ok(true);
        }
    }
    Ok(false)
}
