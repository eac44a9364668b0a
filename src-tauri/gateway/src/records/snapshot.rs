//! Renders records from the database; all facts of a record are from one moment.

use std::cell::OnceCell;

use tillgate_store::anomalies::AnomalyRow;
use tillgate_store::payments::PaymentRow;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Installation, Reader, StoreError};

use super::anomaly::anomaly_record;
use super::context::RecordContext;
use super::payment::payment_record;
use super::payout::payout_record;

/// The most items of one page.
pub const PAGE_MAX: u32 = 500;

/// One snapshot of the database, with the facts of records that their rows do not hold.
pub struct Snapshot<'a> {
    /// Reads from the snapshot.
    pub reader: &'a Reader<'a>,
    installation: Installation,
    pages_base: &'a str,
    /// Read once, and only if a record lists transactions.
    tip_height: OnceCell<u32>,
}

impl<'a> Snapshot<'a> {
    /// Records of an installation with payment pages at `pages_base`.
    #[must_use]
    pub fn new(reader: &'a Reader<'a>, installation: Installation, pages_base: &'a str) -> Self {
        Self { reader, installation, pages_base, tip_height: OnceCell::new() }
    }

    /// The Payment record of a row.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn payment(&self, row: &PaymentRow) -> Result<String, StoreError> {
        // Shops mostly ask for NEW payments. They have no transaction that counts, so none is read.
        if row.payment.paid_sats == 0 {
            return Ok(payment_record(row, &[], &self.context(0)));
        }
        Ok(payment_record(row, &self.reader.receipts(row.seq)?, &self.context(self.tip_height()?)))
    }

    /// The Anomaly record of a row.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn anomaly(&self, row: &AnomalyRow) -> Result<String, StoreError> {
        Ok(anomaly_record(
            row,
            &self.reader.receipts_of(row.payment_seq, &row.anomaly.txids)?,
            &self.context(self.tip_height()?),
        ))
    }

    /// The Payout record of a row.
    #[must_use]
    pub fn payout(&self, row: &PayoutRow) -> String {
        payout_record(row, &self.context(0))
    }

    fn tip_height(&self) -> Result<u32, StoreError> {
        if let Some(height) = self.tip_height.get() {
            return Ok(*height);
        }
        let height = self.reader.tip_height()?;
        Ok(*self.tip_height.get_or_init(|| height))
    }

    fn context(&self, tip_height: u32) -> RecordContext<'_> {
        let Installation { environment, merchant_id, .. } = self.installation;
        RecordContext { environment, merchant_id, pages_base: self.pages_base, tip_height }
    }
}
