//! Payments as GET answers them.

use tillgate_domain::id::Id;

use crate::access::sees::Sees;
use crate::gateway::Gateway;
use crate::records::{RecordList, Snapshot};
use crate::store::StoreError;
use crate::store::payment_lists::PaymentFilter;

/// What there is under a payment's id.
pub(crate) enum Lookup {
    /// No payment that the caller sees.
    Nothing,
    /// The record, which lists no transaction: one row holds all of it.
    Short(String),
    /// A payment whose record may list any number of transactions: [`record`] renders it.
    Long,
}

/// Looks for a payment of this id that the caller `sees`. Reads one row at most, by its key.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn find(gateway: &Gateway, id: &Id, sees: Sees) -> Result<Lookup, StoreError> {
    gateway.render(|snapshot| match snapshot.reader.payment(id)?.filter(|row| sees.may_see(row.key_id)) {
        None => Ok(Lookup::Nothing),
        Some(row) if row.payment.paid_sats == 0 => Ok(Lookup::Short(snapshot.payment(&row)?)),
        Some(_) => Ok(Lookup::Long),
    })
}

/// The record of one payment, if there is one of this id that the caller `sees`. Blocks for as long as it takes to read its
/// transactions.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn record(gateway: &Gateway, id: &Id, sees: Sees) -> Result<Option<String>, StoreError> {
    gateway.render(|snapshot| {
        let row = snapshot.reader.payment(id)?.filter(|row| sees.may_see(row.key_id));
        row.map(|row| snapshot.payment(&row)).transpose()
    })
}

/// A page of payments, newest first, to be rendered in parts. Blocks for as long as the query takes.
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
