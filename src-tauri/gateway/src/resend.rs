//! Queueing the notification of a record again, as it stands now, for a merchant who missed it.

use std::sync::Arc;

use tillgate_domain::id::Id;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::time::Timestamp;

use crate::gateway::Gateway;
use crate::outbox::{Outbox, OutboxError};
use crate::store::anomalies::{AnomalyRow, AnomalyUpdate};
use crate::store::notifications::SubjectKind;
use crate::store::{StoreError, Tx};

/// Queues a payment's notification again. Answers how many were queued: none where there is no URL, or
/// nothing to tell (NEW and never notified); `None` where there is no such payment.
///
/// # Errors
/// When nothing could be stored.
pub async fn resend_payment(gateway: &Arc<Gateway>, id: Id) -> Result<Option<u32>, OutboxError> {
    in_outbox(gateway, move |outbox| {
        let tx = outbox.tx;
        let Some(mut row) = tx.payment(&id)? else { return Ok(None) };
        let never_notified = row.payment.state == PaymentState::New && tx.payment_history(row.seq)?.is_empty();
        if row.notification_url.is_none() || never_notified {
            return Ok(Some(0));
        }
        row.current_at = next_current_at(row.current_at, outbox.now);
        tx.set_payment_current_at(row.seq, row.current_at)?;
        let queued = outbox.queue_payment(&row, &tx.receipts(row.seq)?)?;
        Ok(Some(u32::from(queued)))
    })
    .await
}

/// Queues the notifications of an anomaly, or of all anomalies of a payment, again. Answers how many
/// were queued; `None` where `id` is neither's.
///
/// # Errors
/// When nothing could be stored.
pub async fn resend_anomalies(gateway: &Arc<Gateway>, id: Id) -> Result<Option<u32>, OutboxError> {
    in_outbox(gateway, move |outbox| {
        let Some(rows) = anomalies_of(outbox.tx, &id)? else { return Ok(None) };
        let mut queued = 0;
        for row in rows {
            if row.notification_url.is_none() {
                continue;
            }
            // An empty update fixes a new `currentTime` and nothing else.
            outbox.tx.update_anomaly(&row.anomaly.id, &AnomalyUpdate::default(), outbox.now)?;
            let Some(row) = outbox.tx.anomaly(&row.anomaly.id)? else { continue };
            queued += u32::from(outbox.queue_anomaly(&row, &outbox.tx.receipts(row.payment_seq)?)?);
        }
        Ok(Some(queued))
    })
    .await
}

/// Queues again what `id` stands for: the record that a delivery or notification told of, a payment, or an
/// anomaly. Answers how many were queued; `None` where it is none of these.
///
/// # Errors
/// When nothing could be read or stored.
pub async fn resend_any(gateway: &Arc<Gateway>, id: Id) -> Result<Option<u32>, OutboxError> {
    match gateway.store.read(|reader| reader.subject_of_delivery(&id))? {
        Some((SubjectKind::Payment, record)) => resend_payment(gateway, record).await,
        Some((SubjectKind::Anomaly, record)) => resend_anomalies(gateway, record).await,
        // No payout exists that could be told of.
        Some((SubjectKind::Payout, _)) => Ok(None),
        None => match resend_payment(gateway, id).await? {
            Some(queued) => Ok(Some(queued)),
            None => resend_anomalies(gateway, id).await,
        },
    }
}

fn anomalies_of(tx: &Tx<'_>, id: &Id) -> Result<Option<Vec<AnomalyRow>>, StoreError> {
    if let Some(row) = tx.anomaly(id)? {
        return Ok(Some(vec![row]));
    }
    tx.payment(id)?.map(|payment| tx.anomalies_of_payment(payment.seq)).transpose()
}

/// A record's `currentTime` always moves on.
fn next_current_at(last: Timestamp, now: Timestamp) -> Timestamp {
    now.max(last.plus_ms(1))
}

/// Runs `queue` in a transaction and wakes the notifier when something was queued.
async fn in_outbox(
    gateway: &Arc<Gateway>,
    queue: impl FnOnce(&Outbox<'_>) -> Result<Option<u32>, OutboxError> + Send + 'static,
) -> Result<Option<u32>, OutboxError> {
    let now = gateway.clock.now();
    let (pages_base, environment) = (gateway.pages_base(), gateway.environment);
    let entropy = Arc::clone(&gateway.entropy);
    let queued = gateway
        .store
        .write(move |tx| {
            let tip_height = tx.tip_height()?;
            let entropy = entropy.as_ref();
            queue(&Outbox { tx, entropy, environment, pages_base: &pages_base, tip_height, now })
        })
        .await?;
    if queued.is_some_and(|count| count > 0) {
        gateway.note_change();
        gateway.notifier_wake.notify_one();
    }
    Ok(queued)
}
