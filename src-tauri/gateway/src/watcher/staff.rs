//! Staff accepts the coins that came for a payment.

use tillgate_domain::advance::{AcceptRefusal, may_accept};
use tillgate_domain::anomaly::Anomaly;
use tillgate_domain::id::Id;

use super::WatchError;
use super::advance::{self, Context, Outcome};
use super::seen::{Cause, Concerned};
use crate::store::{StoreError, Tx};

/// Why the coins of a payment were not accepted. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// There is no such payment.
    #[error("there is no payment {0}")]
    NoSuchPayment(Id),
    /// The rules do not allow it.
    #[error(transparent)]
    Refused(#[from] AcceptRefusal),
    /// Nothing is known of any chain yet.
    #[error("the chain was never watched yet: check the Bitcoin backend and try again")]
    ChainNotWatched,
    /// It could not be stored.
    #[error(transparent)]
    Watch(#[from] WatchError),
}

impl From<StoreError> for AcceptError {
    fn from(error: StoreError) -> Self {
        Self::Watch(error.into())
    }
}

/// Accepts the coins in one transaction with the audit row. `context.look` has `staff_accepts`.
pub(super) fn accept(tx: &Tx<'_>, context: &Context, id: &Id, actor: &str) -> Result<Outcome, AcceptError> {
    let row = tx.payment(id)?.ok_or(AcceptError::NoSuchPayment(*id))?;
    let receipts = tx.receipts(row.seq)?;
    let anomalies: Vec<Anomaly> = tx.anomalies_of_payment(row.seq)?.into_iter().map(|row| row.anomaly).collect();
    may_accept(&row.payment, &receipts, &anomalies)?;
    let mut outcome = Outcome::default();
    let advance = advance::payment(tx, context, row.seq, &Concerned::by(Cause::Chain), "staff", &mut outcome)?;
    if advance.accepted_sats.is_none() {
        return Err(AcceptRefusal::NoCoins.into());
    }
    tx.audit(context.gateway.clock.now(), actor, "payments accept", &id.to_string())?;
    Ok(outcome)
}
