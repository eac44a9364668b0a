//! Staff cancels a payment that nobody has paid. Its deadline ends at once, and the next look makes it EXPIRED.

use std::sync::Arc;

use tillgate_domain::id::Id;
use tillgate_domain::payment::PaymentState;

use crate::gateway::Gateway;
use crate::store::StoreError;

/// Reason why a payment was not cancelled. The database is unchanged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CancelError {
    /// The id is no payment's.
    #[error("there is no payment {0}")]
    NoSuchPayment(Id),
    /// The payment is paid, or its time is over.
    #[error("this payment is {0}: only a payment that is NEW can be cancelled")]
    NotNew(PaymentState),
    /// A transaction that pays it was seen, even if it is gone now.
    #[error("coins were seen for this payment: wait for its deadline, then decide on the coins")]
    CoinsSeen,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Cancels a payment on behalf of `actor`, whom the audit names.
///
/// # Errors
/// [`CancelError`].
pub(crate) async fn cancel(gateway: &Arc<Gateway>, id: Id, actor: &str) -> Result<(), CancelError> {
    let _no_jump = gateway.clock_jumps.read().await;
    let now = gateway.follow_clock().await?;
    let actor = actor.to_owned();
    gateway
        .store
        .write(move |tx| {
            let row = tx.payment(&id)?.ok_or(CancelError::NoSuchPayment(id))?;
            if row.payment.state != PaymentState::New {
                return Err(CancelError::NotNew(row.payment.state));
            }
            if !tx.receipts(row.seq)?.is_empty() {
                return Err(CancelError::CoinsSeen);
            }
            tx.set_payment_deadline(row.seq, row.payment.deadline_if_cancelled(now))?;
            tx.audit(now, &actor, "payments cancel", &id.to_string())?;
            Ok(())
        })
        .await
}

#[cfg(test)]
mod tests {
    use tillgate_domain::anomaly::AnomalyKind;

    use super::*;
    use crate::testing::World;

    #[tokio::test]
    async fn a_cancelled_payment_expires_at_the_next_look_and_is_notified() {
        let world = World::new().await;
        let payment = world.payment().await;
        world.pass_ms(1_500).await;
        cancel(&world.gateway, payment.payment.id, "panel").await.unwrap();
        world.pass_ms(1_000).await;
        let cancelled = world.reload_payment(&payment.payment.id).payment;
        assert_eq!(cancelled.state, PaymentState::Expired);
        assert!(
            cancelled.expires_at < payment.payment.expires_at && cancelled.expires_at >= payment.payment.created_at
        );
        assert_eq!(world.notified_field(&payment.payment.id, "status"), ["EXPIRED"]);
    }

    #[tokio::test]
    async fn a_payment_cancelled_in_the_second_of_its_creation_expires() {
        let world = World::new().await;
        let payment = world.payment().await;
        cancel(&world.gateway, payment.payment.id, "panel").await.unwrap();
        assert_eq!(world.reload_payment(&payment.payment.id).payment.expires_at, payment.payment.created_at);
        world.pass_ms(1_000).await;
        assert_eq!(world.state(&payment), PaymentState::Expired);
    }

    #[tokio::test]
    async fn coins_for_a_cancelled_payment_are_late() {
        let world = World::new().await;
        let payment = world.payment().await;
        cancel(&world.gateway, payment.payment.id, "panel").await.unwrap();
        world.pass_ms(1_000).await;
        world.pay(&payment, payment.payment.amount_sats).await;
        world.mine(2).await;
        assert_eq!(world.state(&payment), PaymentState::Expired);
        let anomalies = world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
        let types: Vec<_> = anomalies.iter().map(|row| row.anomaly.kind).collect();
        assert_eq!(types, [AnomalyKind::LatePayment]);
    }

    #[tokio::test]
    async fn a_payment_with_coins_or_with_a_final_state_is_not_cancelled() {
        let world = World::new().await;
        let payment = world.payment().await;
        world.pay(&payment, payment.payment.amount_sats / 2).await;
        let refused = cancel(&world.gateway, payment.payment.id, "panel").await;
        assert!(matches!(refused, Err(CancelError::NotNew(PaymentState::Underpaid))), "{refused:?}");
        let unknown = cancel(&world.gateway, Id::from_bytes([7; 20]), "panel").await;
        assert!(matches!(unknown, Err(CancelError::NoSuchPayment(_))), "{unknown:?}");
        let expired = world.payment().await;
        world.pass_ms(4 * crate::testing::HALF_AN_HOUR_MS).await;
        let refused = cancel(&world.gateway, expired.payment.id, "panel").await;
        assert!(matches!(refused, Err(CancelError::NotNew(PaymentState::Expired))), "{refused:?}");
    }
}
