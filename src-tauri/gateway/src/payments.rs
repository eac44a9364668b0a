//! Making, showing and listing payments. What becomes of a payment afterwards is the watcher's.

mod create;
mod draft;

pub use create::{Author, CreateError, Created, create};
pub use draft::{Draft, RedirectOutcome};

use tillgate_domain::id::Id;

use crate::gateway::Gateway;
use crate::records::{RecordContext, payment_record};
use crate::store::payments::{PaymentFilter, PaymentRow};
use crate::store::{Reader, StoreError};

/// The most items of one page.
pub const PAGE_MAX: u32 = 500;

/// A page of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordPage {
    /// Each a JSON object.
    pub items: Vec<String>,
    /// All that match.
    pub items_count: u64,
}

/// The record of one payment, if there is one of this id.
///
/// # Errors
/// When the database cannot be read.
pub fn get(gateway: &Gateway, id: &Id) -> Result<Option<String>, StoreError> {
    let pages_base = gateway.pages_base();
    gateway.store.read(|reader| {
        let Some(row) = reader.payment(id)? else { return Ok(None) };
        let tip_height = reader.tip_height()?;
        let context = RecordContext { environment: gateway.environment, pages_base: &pages_base, tip_height };
        record_of(reader, &row, &context).map(Some)
    })
}

/// A page of payments, newest first. Blocks for as long as the query takes.
///
/// # Errors
/// When the database cannot be read.
pub fn list(gateway: &Gateway, filter: &PaymentFilter, limit: u32, offset: u64) -> Result<RecordPage, StoreError> {
    let pages_base = gateway.pages_base();
    gateway.store.read(|reader| {
        let tip_height = reader.tip_height()?;
        let context = RecordContext { environment: gateway.environment, pages_base: &pages_base, tip_height };
        let rows = reader.payments(filter, limit, offset)?;
        let items = rows.iter().map(|row| record_of(reader, row, &context)).collect::<Result<_, _>>()?;
        Ok(RecordPage { items, items_count: reader.payments_count(filter)? })
    })
}

/// The record of a row, with its receipts as of the same snapshot.
pub(crate) fn record_of(
    reader: &Reader<'_>,
    row: &PaymentRow,
    context: &RecordContext<'_>,
) -> Result<String, StoreError> {
    let receipts = reader.receipts(row.seq)?;
    Ok(payment_record(row, &receipts, context))
}
