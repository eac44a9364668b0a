//! Resends: queues a notification of a record in its present state, for a merchant who missed it.

use std::sync::Arc;
use tillgate_store::Store;

use tillgate_domain::id::Id;
use tillgate_domain::notification::SubjectKind;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::payout::PayoutState;
use tillgate_store::StoreError;
use tillgate_store::anomalies::AnomalyUpdate;

use super::outbox::{self, Outbox, OutboxError};
use crate::access::record_scope::RecordScope;
use crate::gateway::Gateway;

/// Anomalies queued in one commit, so that the writer is not held long.
const ANOMALIES_PER_COMMIT: usize = 200;

/// Queues a payment's notification again. Returns the number queued: 0 without a URL, or if the
/// payment is NEW and was never notified. `None` if there is no such payment that the caller may
/// see.
///
/// # Errors
/// The notification cannot be stored.
pub async fn resend_payment(
    gateway: &Arc<Gateway>,
    id: Id,
    scope: RecordScope,
) -> Result<Option<u32>, OutboxError> {
    outbox::commit_resend(gateway, move |outbox| {
        let tx = outbox.tx;
        let Some(mut row) = tx.payment(&id)?.filter(|row| scope.includes(row.key_id)) else {
            return Ok(None);
        };
        let never_notified =
            row.payment.state == PaymentState::New && tx.payment_history(row.seq)?.is_empty();
        if row.notification_url.is_none() || never_notified {
            return Ok(Some(0));
        }
        row.current_at = row.current_at.moved_on(outbox.now);
        tx.set_payment_current_at(row.seq, row.current_at)?;
        let queued = outbox.queue_payment(&row, &tx.receipts(row.seq)?)?;
        Ok(Some(u32::from(queued)))
    })
    .await
}

/// Queues a payout's notification again. Returns the number queued: 0 without a URL, or if the
/// payout is neither SENT nor FAILED. `None` if there is no such payout that the caller may see.
///
/// # Errors
/// The notification cannot be stored.
pub async fn resend_payout(
    gateway: &Arc<Gateway>,
    id: Id,
    scope: RecordScope,
) -> Result<Option<u32>, OutboxError> {
    outbox::commit_resend(gateway, move |outbox| {
        let Some(mut row) = outbox.tx.payout(&id)?.filter(|row| scope.includes(row.key_id)) else {
            return Ok(None);
        };
        let is_notified = match row.state {
            PayoutState::Sent | PayoutState::Failed => true,
            PayoutState::New | PayoutState::Expired | PayoutState::Queued => false,
        };
        if row.notification_url.is_none() || !is_notified {
            return Ok(Some(0));
        }
        row.current_at = row.current_at.moved_on(outbox.now);
        outbox.tx.update_payout(&row)?;
        Ok(Some(u32::from(outbox.queue_payout(&row)?)))
    })
    .await
}

/// The ids of the anomalies that have a notification URL: the anomaly `id`, or all anomalies of the
/// payment `id`. `None` if there is no such record that the caller may see. Blocks while it reads,
/// because there may be very many.
///
/// # Errors
/// The database cannot be read.
pub fn anomalies_of(
    store: &Store,
    id: &Id,
    scope: RecordScope,
) -> Result<Option<Vec<Id>>, StoreError> {
    store.read(|reader| {
        if let Some(row) = reader.anomaly(id)? {
            let with_url = row.notification_url.iter().map(|_| row.anomaly.id).collect();
            return Ok(scope.includes(row.key_id).then_some(with_url));
        }
        match reader.payment(id)?.filter(|row| scope.includes(row.key_id)) {
            None => Ok(None),
            Some(row) if row.anomaly_notification_url.is_none() => Ok(Some(Vec::new())),
            Some(row) => reader.anomaly_ids_of_payment(row.seq).map(Some),
        }
    })
}

/// Queues the notifications of these anomalies again. Returns the number queued.
///
/// # Errors
/// A notification cannot be stored. Earlier commits of up to `ANOMALIES_PER_COMMIT` each are kept.
pub async fn resend_anomalies(gateway: &Arc<Gateway>, ids: &[Id]) -> Result<u32, OutboxError> {
    let mut queued = 0;
    for ids in ids.chunks(ANOMALIES_PER_COMMIT) {
        let ids = ids.to_vec();
        queued +=
            outbox::commit_resend(gateway, move |outbox| queue_anomalies(outbox, &ids)).await?;
    }
    Ok(queued)
}

/// Queues a record's notification again. `id` names a payment, a payout or an anomaly, or one of
/// its notifications or deliveries. Returns the number queued; `None` if there is no such record.
///
/// # Errors
/// The database cannot be read or written.
pub async fn resend_any(gateway: &Arc<Gateway>, id: Id) -> Result<Option<u32>, OutboxError> {
    match gateway.store.read(|reader| reader.subject_of_delivery(&id))? {
        Some((SubjectKind::Payment, record)) => {
            resend_payment(gateway, record, RecordScope::Everything).await
        }
        Some((SubjectKind::Anomaly, record)) => resend_anomalies_of(gateway, record).await,
        Some((SubjectKind::Payout, record)) => {
            resend_payout(gateway, record, RecordScope::Everything).await
        }
        None => {
            if let Some(queued) = resend_payment(gateway, id, RecordScope::Everything).await? {
                return Ok(Some(queued));
            }
            match resend_payout(gateway, id, RecordScope::Everything).await? {
                Some(queued) => Ok(Some(queued)),
                None => resend_anomalies_of(gateway, id).await,
            }
        }
    }
}

async fn resend_anomalies_of(gateway: &Arc<Gateway>, id: Id) -> Result<Option<u32>, OutboxError> {
    let reading = Arc::clone(gateway);
    let reading = tokio::task::spawn_blocking(move || {
        anomalies_of(&reading.store, &id, RecordScope::Everything)
    });
    match reading.await.map_err(|_| StoreError::Closed)?? {
        Some(ids) => Ok(Some(resend_anomalies(gateway, &ids).await?)),
        None => Ok(None),
    }
}

fn queue_anomalies(outbox: &Outbox<'_>, ids: &[Id]) -> Result<u32, OutboxError> {
    let mut queued = 0;
    for id in ids {
        let mut row = outbox.tx.anomaly(id)?.ok_or(StoreError::BadValue("anomalies.id"))?;
        row.current_at = row.current_at.moved_on(outbox.now);
        outbox.tx.update_anomaly(
            id,
            &AnomalyUpdate { current_at: Some(row.current_at), ..AnomalyUpdate::default() },
        )?;
        queued += u32::from(outbox.queue_anomaly(&row)?);
    }
    Ok(queued)
}
