//! Staff cancels a payment that nobody has paid. Its deadline ends at once, and the next look makes
//! it EXPIRED.

use tillgate_domain::id::Id;
use tillgate_domain::payment::PaymentState;
use tillgate_store::StoreError;

use super::error::WatchError;
use crate::notifications::outbox::{Outbox, OutboxError};

/// Reason why a payment was not cancelled. Nothing was changed.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum CancelError {
    #[error("there is no payment {0}")]
    NoSuchPayment(Id),
    /// The payment is paid, or its time is over.
    #[error("this payment is {0}: only a payment that is NEW can be cancelled")]
    NotNew(PaymentState),
    /// Its deadline has passed, but the clock is not confirmed, so it is still open.
    #[error(
        "the time of this payment is over: it closes by itself once the chain shows that no coins came, a day after its deadline at the latest"
    )]
    TimeOver,
    /// A transaction that pays it was seen, even if it is gone now.
    #[error("coins were seen for this payment: wait for its deadline, then decide on the coins")]
    CoinsSeen,
    /// The look before the cancellation failed, so coins may have come.
    #[error(transparent)]
    Watch(#[from] WatchError),
}

impl From<StoreError> for CancelError {
    fn from(error: StoreError) -> Self {
        Self::Watch(error.into())
    }
}

impl From<OutboxError> for CancelError {
    fn from(error: OutboxError) -> Self {
        Self::Watch(error.into())
    }
}

/// Ends the time to pay, and writes the audit row. A look was taken just before.
pub fn cancel(outbox: &Outbox<'_>, id: &Id, actor: &str) -> Result<(), CancelError> {
    let tx = outbox.tx;
    let row = tx.payment(id)?.ok_or(CancelError::NoSuchPayment(*id))?;
    if row.payment.state != PaymentState::New {
        return Err(CancelError::NotNew(row.payment.state));
    }
    if outbox.now >= row.payment.expires_at {
        return Err(CancelError::TimeOver);
    }
    if !tx.receipts(row.seq)?.is_empty() {
        return Err(CancelError::CoinsSeen);
    }
    tx.set_payment_deadline(row.seq, row.payment.deadline_if_cancelled(outbox.now))?;
    tx.audit(outbox.now, actor, "payments cancel", &id.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tillgate_domain::anomaly::AnomalyKind;
    use tillgate_domain::payment::Cause;
    use tillgate_sandbox::FaultsPatch;

    use super::*;
    use crate::testing::World;

    impl World {
        async fn cancel(&self, id: Id) -> Result<(), CancelError> {
            self.app.watcher.cancel(id, "panel:ann").await
        }
    }

    #[tokio::test]
    async fn a_cancelled_payment_expires_at_once_and_is_notified() {
        let world = World::new().await;
        let payment = world.payment().await;
        world.pass_ms(1_500).await;
        world.cancel(payment.payment.id).await.unwrap();
        world.pass_ms(1_000).await;
        let cancelled = world.reload_payment(&payment.payment.id).payment;
        assert_eq!(cancelled.state, PaymentState::Expired);
        assert!(cancelled.expires_at < payment.payment.expires_at);
        assert!(cancelled.expires_at >= payment.payment.created_at);
        assert_eq!(world.notified_field(&payment.payment.id, "status"), ["EXPIRED"]);
        let history =
            world.gateway.store.read(|reader| reader.payment_history(payment.seq)).unwrap();
        assert_eq!(history.last().unwrap().cause, Cause::Staff, "the history blames the clock");
        let refused = world.cancel(payment.payment.id).await;
        assert!(matches!(refused, Err(CancelError::NotNew(PaymentState::Expired))), "{refused:?}");
    }

    #[tokio::test]
    async fn a_payment_cancelled_in_the_second_of_its_creation_expires() {
        let world = World::new().await;
        let payment = world.payment().await;
        world.cancel(payment.payment.id).await.unwrap();
        assert!(
            world.reload_payment(&payment.payment.id).payment.expires_at
                < payment.payment.expires_at
        );
        world.pass_ms(1_000).await;
        assert_eq!(world.state(&payment), PaymentState::Expired);
    }

    #[tokio::test]
    async fn coins_for_a_cancelled_payment_are_late() {
        let world = World::new().await;
        let payment = world.payment().await;
        world.cancel(payment.payment.id).await.unwrap();
        world.pass_ms(1_000).await;
        world.pay(&payment, payment.payment.amount_sats).await;
        world.mine(2).await;
        assert_eq!(world.state(&payment), PaymentState::Expired);
        let anomalies =
            world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
        let kinds: Vec<_> = anomalies.iter().map(|row| row.anomaly.kind).collect();
        assert_eq!(kinds, [AnomalyKind::LatePayment]);
    }

    #[tokio::test]
    async fn coins_of_a_silent_chain_are_late_for_a_cancelled_payment() {
        let world = World::new().await;
        let payment = world.payment().await;
        world.cancel(payment.payment.id).await.unwrap();
        let chain_down = |down| FaultsPatch { chain_down: Some(down), ..FaultsPatch::default() };
        world.sandbox().set_faults(chain_down(true)).unwrap();
        world.advance_clock_ms(20 * 60_000);
        world.customer_pays(&payment, payment.payment.amount_sats);
        world.sandbox().set_faults(chain_down(false)).unwrap();
        world.look().await;
        world.mine(2).await;
        assert_eq!(world.state(&payment), PaymentState::Expired);
    }

    #[tokio::test]
    async fn coins_that_no_look_has_seen_yet_prevent_the_cancellation() {
        let world = World::new().await;
        let payment = world.payment().await;
        world.customer_pays(&payment, payment.payment.amount_sats);
        let refused = world.cancel(payment.payment.id).await;
        assert!(
            matches!(refused, Err(CancelError::NotNew(PaymentState::Unconfirmed))),
            "{refused:?}"
        );
        let unknown = world.cancel(Id::from_bytes([7; 20])).await;
        assert!(matches!(unknown, Err(CancelError::NoSuchPayment(_))), "{unknown:?}");
    }

    #[tokio::test]
    async fn a_payment_is_not_cancelled_while_the_chain_is_silent() {
        let world = World::new().await;
        let payment = world.payment().await;
        let silent = FaultsPatch { chain_down: Some(true), ..FaultsPatch::default() };
        world.sandbox().set_faults(silent).unwrap();
        let refused = world.cancel(payment.payment.id).await;
        assert!(matches!(refused, Err(CancelError::Watch(WatchError::Chain(_)))), "{refused:?}");
        assert_eq!(
            world.reload_payment(&payment.payment.id).payment.expires_at,
            payment.payment.expires_at
        );
    }
}
