//! Queues the notification of a record, in the transaction of the change that it reports.

use std::cell::Cell;
use std::sync::{Arc, Weak};

use tillgate_domain::id::Id;
use tillgate_domain::notification::SubjectKind;
use tillgate_domain::receipt::Receipt;
use tillgate_domain::time::Timestamp;
use tillgate_machine::entropy::NoEntropy;
use tillgate_store::anomalies::AnomalyRow;
use tillgate_store::notifications::NewNotification;
use tillgate_store::payments::PaymentRow;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{StoreError, Tx};

use crate::answer::{Answer, Answered};
use crate::gateway::{Announcement, Gateway};
use crate::records::{RecordContext, anomaly_record, payment_record, payout_record};

/// Reason why a notification could not be queued.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum OutboxError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
}

impl Answered for OutboxError {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::Store(error) => error.answer(),
            Self::Entropy(_) => Answer::internal(),
        }
    }
}

/// A transaction in which notifications can be queued.
pub struct Outbox<'a> {
    pub tx: &'a Tx<'a>,
    /// The gateway that owns the database.
    pub gateway: &'a Arc<Gateway>,
    /// The time when the transaction began.
    pub now: Timestamp,
    pages_base: String,
    /// Height of the best block, from which confirmations are counted.
    tip_height: u32,
    /// Whether this is a resend of an unchanged record.
    is_resend: bool,
    /// Whether a notification was queued so far.
    has_queued: Cell<bool>,
}

/// The only way to commit a change with notifications: runs `change` in one transaction. After the
/// commit it wakes the panel and payment pages, and the notifier if a notification was queued, even
/// if the caller was cancelled. `tip_height` is the height of the best block in the look that
/// caused the change; `None` means the last stored look.
///
/// # Errors
/// The error of `change`, or a failed commit.
pub async fn commit<T, E>(
    gateway: &Arc<Gateway>,
    tip_height: Option<u32>,
    change: impl FnOnce(&Outbox<'_>) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    commit_as(gateway, tip_height, false, change).await
}

/// Like [`commit`], for a resend of an unchanged record that its merchant requested.
///
/// # Errors
/// As in [`commit`].
pub async fn commit_resend<T, E>(
    gateway: &Arc<Gateway>,
    resend: impl FnOnce(&Outbox<'_>) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    commit_as(gateway, None, true, resend).await
}

async fn commit_as<T, E>(
    gateway: &Arc<Gateway>,
    tip_height: Option<u32>,
    is_resend: bool,
    change: impl FnOnce(&Outbox<'_>) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let there = Arc::clone(gateway);
    let write = move |tx: &Tx<'_>| {
        let tip_height = tip_height.map_or_else(|| tx.tip_height(), Ok)?;
        let (pages_base, now) = (there.pages_base(), there.time.now());
        let outbox = Outbox {
            tx,
            gateway: &there,
            now,
            pages_base,
            tip_height,
            is_resend,
            has_queued: Cell::new(false),
        };
        let changed = change(&outbox)?;
        let has_queued = outbox.has_queued.get();
        Ok::<_, E>((changed, Announcement::of_outbox(Arc::downgrade(&there), has_queued)))
    };
    let (changed, _announcement) = gateway.store.write(write).await?;
    Ok(changed)
}

impl Outbox<'_> {
    /// The gateway, for work after the transaction.
    pub fn gateway_weak(&self) -> Weak<Gateway> {
        Arc::downgrade(self.gateway)
    }

    /// Queues a payment's record. Returns whether it had a URL. `row` and `receipts` must equal the
    /// rows in the transaction.
    pub fn queue_payment(
        &self,
        row: &PaymentRow,
        receipts: &[Receipt],
    ) -> Result<bool, OutboxError> {
        let Some(url) = &row.notification_url else { return Ok(false) };
        let body = payment_record(row, receipts, &self.record_context());
        self.queue(SubjectKind::Payment, row.payment.id, row.key_id, url, body)
    }

    /// Queues an anomaly's record. Returns whether it had a URL.
    pub fn queue_anomaly(&self, row: &AnomalyRow) -> Result<bool, OutboxError> {
        let Some(url) = &row.notification_url else { return Ok(false) };
        let receipts = self.tx.receipts_of(row.payment_seq, &row.anomaly.txids)?;
        let body = anomaly_record(row, &receipts, &self.record_context());
        self.queue(SubjectKind::Anomaly, row.anomaly.id, row.key_id, url, body)
    }

    /// Queues a payout's record. Returns whether it had a URL.
    pub fn queue_payout(&self, row: &PayoutRow) -> Result<bool, OutboxError> {
        let Some(url) = &row.notification_url else { return Ok(false) };
        self.queue(SubjectKind::Payout, row.id, row.key_id, url, self.payout_record(row))
    }

    /// The JSON record of a payout.
    pub fn payout_record(&self, row: &PayoutRow) -> String {
        payout_record(row, &self.record_context())
    }

    fn queue(
        &self,
        subject_kind: SubjectKind,
        subject_id: Id,
        key_id: Option<i64>,
        url: &str,
        body: String,
    ) -> Result<bool, OutboxError> {
        self.tx.queue_notification(&NewNotification {
            id: self.gateway.machine.entropy.id()?,
            subject_kind,
            subject_id,
            // 0 means the panel: no API key made the record.
            key_id: key_id.unwrap_or(0),
            url: url.to_owned(),
            body: body.into_bytes(),
            is_resend: self.is_resend,
            at: self.now,
        })?;
        self.has_queued.set(true);
        Ok(true)
    }

    fn record_context(&self) -> RecordContext<'_> {
        RecordContext {
            environment: self.gateway.environment,
            merchant_id: self.gateway.installation.merchant_id,
            pages_base: &self.pages_base,
            tip_height: self.tip_height,
        }
    }
}
