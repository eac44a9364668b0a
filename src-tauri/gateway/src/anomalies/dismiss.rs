//! Dismisses an anomaly.

use std::sync::Arc;

use tillgate_domain::anomaly::Resolution;
use tillgate_domain::id::Id;
use tillgate_store::StoreError;
use tillgate_store::anomalies::AnomalyUpdate;

use crate::gateway::Gateway;
use crate::notifications::outbox::{self, OutboxError};
use crate::staff_reason::{REASON_MAX, staff_reason};

/// Reason why an anomaly was not dismissed. The database is unchanged.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum DismissError {
    #[error("there is no anomaly {0}")]
    NoSuchAnomaly(Id),
    #[error("this anomaly is {} and waits for no decision", .0.as_str())]
    NotOpen(Resolution),
    #[error("a dismissal needs a reason of 1 to {REASON_MAX} characters, without line breaks")]
    Reason,
    #[error(transparent)]
    Outbox(#[from] OutboxError),
}

impl From<StoreError> for DismissError {
    fn from(error: StoreError) -> Self {
        Self::Outbox(error.into())
    }
}

/// Dismisses an OPEN anomaly for good, on behalf of staff, and notifies the shop. The audit log
/// names `actor`.
///
/// # Errors
/// [`DismissError`].
pub async fn dismiss(
    gateway: &Arc<Gateway>,
    id: Id,
    reason: &str,
    actor: &str,
) -> Result<(), DismissError> {
    let reason =
        staff_reason(reason).filter(|reason| !reason.is_empty()).ok_or(DismissError::Reason)?;
    let actor = actor.to_owned();
    outbox::commit(gateway, None, move |outbox| {
        let (tx, now) = (outbox.tx, outbox.now);
        let row = tx.anomaly(&id)?.ok_or(DismissError::NoSuchAnomaly(id))?;
        if row.anomaly.resolution != Resolution::Open {
            return Err(DismissError::NotOpen(row.anomaly.resolution));
        }
        let update = AnomalyUpdate {
            resolution: Some(Resolution::DismissedByStaff),
            dismissal_reason: Some(reason),
            current_at: Some(row.current_at.moved_on(now)),
            ..AnomalyUpdate::default()
        };
        tx.update_anomaly(&id, &update)?;
        tx.audit(now, &actor, "anomalies dismiss", &id.to_string())?;
        let row = tx.anomaly(&id)?.ok_or(DismissError::NoSuchAnomaly(id))?;
        outbox.queue_anomaly(&row)?;
        Ok(())
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HALF_AN_HOUR_MS, World};

    async fn late(world: &World) -> Id {
        let payment = world.payment().await;
        world.pass_ms(4 * HALF_AN_HOUR_MS).await;
        world.pay(&payment, 50_000).await;
        world.mine(2).await;
        world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap()[0]
            .anomaly
            .id
    }

    #[tokio::test]
    async fn a_dismissal_is_notified_and_later_looks_keep_it() {
        let world = World::new().await;
        let id = late(&world).await;
        dismiss(&world.gateway, id, "the customer took goods for it", "panel").await.unwrap();
        world.mine(3).await;
        assert_eq!(world.notified_field(&id, "resolution"), ["OPEN", "DISMISSED"]);
        let again = dismiss(&world.gateway, id, "again", "panel").await;
        assert!(matches!(again, Err(DismissError::NotOpen(Resolution::DismissedByStaff))));
    }

    #[tokio::test]
    async fn a_dismissal_without_a_reason_changes_nothing() {
        let world = World::new().await;
        let id = late(&world).await;
        assert!(matches!(
            dismiss(&world.gateway, id, " ", "panel").await,
            Err(DismissError::Reason)
        ));
        assert_eq!(world.notified_field(&id, "resolution"), ["OPEN"]);
    }
}
