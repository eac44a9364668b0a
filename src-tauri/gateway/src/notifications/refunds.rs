//! Updates an anomaly when the payout of its refund changes, in the transaction of that change.

use tillgate_domain::anomaly::Resolution;
use tillgate_domain::payout::PayoutState;
use tillgate_store::StoreError;
use tillgate_store::anomalies::{AnomalyRow, AnomalyUpdate};
use tillgate_store::payouts::PayoutRow;

use super::outbox::{Outbox, OutboxError};

/// Updates the anomaly that a payout refunds: REFUNDED when the payout is SENT, OPEN again when it
/// is EXPIRED or FAILED. Queues the anomaly's notification, and makes its payment due for the next
/// look. Does nothing if the payout is no refund, or if the anomaly was decided otherwise or has
/// another payout now.
///
/// # Errors
/// The change cannot be stored.
pub fn anomaly_after(outbox: &Outbox<'_>, payout: &PayoutRow) -> Result<(), OutboxError> {
    let Some((_, id)) = payout.anomaly else { return Ok(()) };
    let row = outbox.tx.anomaly(&id)?.ok_or(StoreError::BadValue("payouts.anomaly_seq"))?;
    let resolution = match payout.state {
        PayoutState::New | PayoutState::Queued => Resolution::Refunding,
        PayoutState::Sent => Resolution::Refunded,
        PayoutState::Expired | PayoutState::Failed => Resolution::Open,
    };
    if row.anomaly.resolution == resolution {
        return Ok(());
    }
    // Whether this payout decides the anomaly. After FAILED the anomaly has no payout, but the
    // payout may still become SENT.
    let is_its_own = match row.anomaly.resolution {
        Resolution::Refunding | Resolution::Refunded => row.payout_id == Some(payout.id),
        Resolution::Open | Resolution::DismissedBySystem => {
            matches!(resolution, Resolution::Refunding | Resolution::Refunded)
        }
        Resolution::Accepted | Resolution::DismissedByStaff => false,
    };
    if !is_its_own {
        tracing::error!(
            payout = %payout.id, anomaly = %id, state = payout.state.as_str(),
            "a refund changed after its anomaly was decided otherwise: check whether the customer was paid twice"
        );
        return Ok(());
    }
    let payout_id = resolution.is_refund().then_some(payout.id);
    let update = AnomalyUpdate {
        resolution: Some(resolution),
        payout_id: Some(payout_id),
        current_at: Some(row.current_at.moved_on(outbox.now)),
        ..AnomalyUpdate::default()
    };
    outbox.tx.update_anomaly(&id, &update)?;
    outbox.tx.set_payment_due(row.payment_seq, outbox.now)?;
    let after = AnomalyRow {
        payout_id,
        current_at: row.current_at.moved_on(outbox.now),
        anomaly: tillgate_domain::anomaly::Anomaly { resolution, ..row.anomaly },
        ..row
    };
    outbox.queue_anomaly(&after)?;
    Ok(())
}
