//! Payments as GET shows them.

use tillgate_domain::id::Id;

use crate::gateway::Gateway;
use crate::records::{RecordList, Snapshot};
use crate::store::StoreError;
use crate::store::payment_lists::PaymentFilter;

/// The record of one payment, if there is one of this id; with `key_id`, if that key made it.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn show(gateway: &Gateway, id: &Id, key_id: Option<i64>) -> Result<Option<String>, StoreError> {
    gateway.render(|snapshot| {
        let row = snapshot.reader.payment(id)?.filter(|row| key_id.is_none() || row.key_id == key_id);
        row.map(|row| snapshot.payment(&row)).transpose()
    })
}

/// A page of payments, newest first, to be made in parts. Blocks for as long as the query takes.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn list(
    snapshot: &Snapshot<'_>,
    filter: &PaymentFilter,
    limit: u32,
    offset: u64,
) -> Result<RecordList<i64>, StoreError> {
    let numbers = snapshot.reader.payment_numbers(filter, limit, offset)?;
    Ok(RecordList::new(snapshot.reader.payments_count(filter)?, numbers, |snapshot, seq| {
        snapshot.reader.payment_by_seq(*seq)?.map(|row| snapshot.payment(&row)).transpose()
    }))
}
