//! Reads payments for GET requests.

use tillgate_domain::id::Id;
use tillgate_store::StoreError;
use tillgate_store::payment_lists::PaymentFilter;

use crate::access::record_scope::RecordScope;
use crate::gateway::Gateway;
use crate::records::{RecordList, Snapshot};

/// Limit of transactions that are read on the request's own thread. Nearly every payment has one or
/// two.
pub const FEW_TRANSACTIONS: u32 = 8;

/// The result of looking up a payment's id.
pub enum Lookup {
    /// The caller sees no such payment.
    Nothing,
    /// The record of a payment with few transactions or none.
    Short(String),
    /// A payment with more transactions. The caller renders it by [`record`].
    Long,
}

/// Finds a payment by its id, if the caller may see it. Reads only a few rows, by their keys.
///
/// # Errors
/// When the database cannot be read.
pub fn find(gateway: &Gateway, id: &Id, scope: RecordScope) -> Result<Lookup, StoreError> {
    gateway.render(|snapshot| {
        let Some(row) = snapshot.reader.payment(id)?.filter(|row| scope.includes(row.key_id))
        else {
            return Ok(Lookup::Nothing);
        };
        if row.payment.paid_sats > 0
            && snapshot.reader.has_more_receipts_than(row.seq, FEW_TRANSACTIONS)?
        {
            return Ok(Lookup::Long);
        }
        Ok(Lookup::Short(snapshot.payment(&row)?))
    })
}

/// The record of one payment, if the caller may see it. Blocks while its transactions are read.
///
/// # Errors
/// When the database cannot be read.
pub fn record(
    gateway: &Gateway,
    id: &Id,
    scope: RecordScope,
) -> Result<Option<String>, StoreError> {
    gateway.render(|snapshot| {
        let row = snapshot.reader.payment(id)?.filter(|row| scope.includes(row.key_id));
        row.map(|row| snapshot.payment(&row)).transpose()
    })
}

/// A page of payments, newest first, to be rendered in parts. Blocks while the query runs.
///
/// # Errors
/// When the database cannot be read.
pub fn list(
    snapshot: &Snapshot<'_>,
    filter: &PaymentFilter,
    limit: u32,
    offset: u64,
) -> Result<RecordList<i64>, StoreError> {
    let numbers = snapshot.reader.payment_seqs(filter, limit, offset)?;
    Ok(RecordList::new(snapshot.reader.payments_count(filter)?, numbers, |snapshot, seq| {
        snapshot.reader.payment_by_seq(*seq)?.map(|row| snapshot.payment(&row)).transpose()
    }))
}
