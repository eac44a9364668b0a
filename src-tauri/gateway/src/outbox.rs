//! Queueing the notification of a record, in the transaction of the change that it tells of.

use tillgate_domain::receipt::Receipt;
use tillgate_domain::time::Timestamp;

use crate::entropy::{Entropy, NoEntropy};
use crate::environment::Environment;
use crate::records::{RecordContext, anomaly_record, payment_record};
use crate::store::anomalies::AnomalyRow;
use crate::store::notifications::{NewNotification, SubjectKind};
use crate::store::payments::PaymentRow;
use crate::store::{StoreError, Tx};

/// Why a notification could not be queued.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// It could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be given an identifier.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
}

/// Where a transaction's notifications go, with what their records show beside their own rows.
#[derive(Clone, Copy)]
pub struct Outbox<'a> {
    /// The transaction of the change.
    pub tx: &'a Tx<'a>,
    /// For the notifications' identifiers.
    pub entropy: &'a dyn Entropy,
    /// Records of a test environment say so.
    pub environment: Environment,
    /// Where the payment pages are, without a slash at the end.
    pub pages_base: &'a str,
    /// Height of the best block, by which confirmations count.
    pub tip_height: u32,
    /// Now.
    pub now: Timestamp,
}

impl Outbox<'_> {
    /// Queues a payment's record, and answers whether there was a URL to queue it for. `row` and
    /// `receipts` are as the transaction now holds them.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn queue_payment(&self, row: &PaymentRow, receipts: &[Receipt]) -> Result<bool, OutboxError> {
        let Some(url) = &row.notification_url else { return Ok(false) };
        let body = payment_record(row, receipts, &self.record_context());
        self.queue(SubjectKind::Payment, row.payment.id, url, body)
    }

    /// The same for an anomaly; `receipts` are all of its payment's.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn queue_anomaly(&self, row: &AnomalyRow, receipts: &[Receipt]) -> Result<bool, OutboxError> {
        let Some(url) = &row.notification_url else { return Ok(false) };
        let body = anomaly_record(row, receipts, &self.record_context());
        self.queue(SubjectKind::Anomaly, row.anomaly.id, url, body)
    }

    fn queue(
        &self,
        subject_kind: SubjectKind,
        subject_id: tillgate_domain::id::Id,
        url: &str,
        body: String,
    ) -> Result<bool, OutboxError> {
        self.tx.queue_notification(&NewNotification {
            id: self.entropy.id()?,
            subject_kind,
            subject_id,
            url: url.to_owned(),
            body: body.into_bytes(),
            at: self.now,
        })?;
        Ok(true)
    }

    fn record_context(&self) -> RecordContext<'_> {
        RecordContext { environment: self.environment, pages_base: self.pages_base, tip_height: self.tip_height }
    }
}
