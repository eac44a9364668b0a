//! Payments and anomalies as GET shows them: each answer from one snapshot of the database.

use std::cell::OnceCell;

use tillgate_domain::id::Id;

use crate::environment::Environment;
use crate::gateway::Gateway;
use crate::records::{RecordContext, anomaly_record, payment_record};
use crate::store::anomalies::{AnomalyFilter, AnomalyRow};
use crate::store::payment_lists::PaymentFilter;
use crate::store::payments::PaymentRow;
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
pub fn payment(gateway: &Gateway, id: &Id) -> Result<Option<String>, StoreError> {
    in_one_snapshot(gateway, |shown| shown.reader.payment(id)?.map(|row| shown.payment(&row)).transpose())
}

/// A page of payments, newest first. Blocks for as long as the query takes.
///
/// # Errors
/// When the database cannot be read.
pub fn payments(gateway: &Gateway, filter: &PaymentFilter, limit: u32, offset: u64) -> Result<RecordPage, StoreError> {
    in_one_snapshot(gateway, |shown| {
        let rows = shown.reader.payments(filter, limit, offset)?;
        let items = rows.iter().map(|row| shown.payment(row)).collect::<Result<_, _>>()?;
        Ok(RecordPage { items, items_count: shown.reader.payments_count(filter)? })
    })
}

/// The record of one anomaly, if there is one of this id.
///
/// # Errors
/// When the database cannot be read.
pub fn anomaly(gateway: &Gateway, id: &Id) -> Result<Option<String>, StoreError> {
    in_one_snapshot(gateway, |shown| shown.reader.anomaly(id)?.map(|row| shown.anomaly(&row)).transpose())
}

/// A page of anomalies, newest first. Blocks for as long as the query takes.
///
/// # Errors
/// When the database cannot be read.
pub fn anomalies(gateway: &Gateway, filter: &AnomalyFilter, limit: u32, offset: u64) -> Result<RecordPage, StoreError> {
    in_one_snapshot(gateway, |shown| {
        let rows = shown.reader.anomalies(filter, limit, offset)?;
        let items = rows.iter().map(|row| shown.anomaly(row)).collect::<Result<_, _>>()?;
        Ok(RecordPage { items, items_count: shown.reader.anomalies_count(filter)? })
    })
}

/// One snapshot, and what its records show beside their own rows.
struct Shown<'a> {
    reader: &'a Reader<'a>,
    environment: Environment,
    pages_base: &'a str,
    /// Read once, and only where a record tells of transactions.
    tip_height: OnceCell<u32>,
}

impl Shown<'_> {
    fn payment(&self, row: &PaymentRow) -> Result<String, StoreError> {
        // Mostly a shop asks for a payment that waits to be paid: no transaction counts, so none is looked for.
        if row.payment.paid_sats == 0 {
            return Ok(payment_record(row, &[], &self.context(0)));
        }
        Ok(payment_record(row, &self.reader.receipts(row.seq)?, &self.context(self.tip_height()?)))
    }

    fn anomaly(&self, row: &AnomalyRow) -> Result<String, StoreError> {
        Ok(anomaly_record(row, &self.reader.receipts(row.payment_seq)?, &self.context(self.tip_height()?)))
    }

    fn tip_height(&self) -> Result<u32, StoreError> {
        if let Some(height) = self.tip_height.get() {
            return Ok(*height);
        }
        let height = self.reader.tip_height()?;
        Ok(*self.tip_height.get_or_init(|| height))
    }

    fn context(&self, tip_height: u32) -> RecordContext<'_> {
        RecordContext { environment: self.environment, pages_base: self.pages_base, tip_height }
    }
}

fn in_one_snapshot<T>(
    gateway: &Gateway,
    show: impl FnOnce(&Shown<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let (environment, pages_base) = (gateway.environment, gateway.pages_base());
    gateway
        .store
        .read(|reader| show(&Shown { reader, environment, pages_base: &pages_base, tip_height: OnceCell::new() }))
}
