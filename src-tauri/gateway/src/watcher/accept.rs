//! Staff accepts the coins received for a payment.

use tillgate_domain::advance::{AcceptRefusal, may_accept};
use tillgate_domain::anomaly::Anomaly;
use tillgate_domain::id::Id;
use tillgate_domain::money::format_btc;
use tillgate_domain::payment::Cause;
use tillgate_store::StoreError;
use tillgate_told::Sum;

use super::error::WatchError;
use crate::gateway::StaffWarning;
use crate::notifications::outbox::Outbox;
use crate::settlement::payment::{self, AffectedPayment, Context};

/// Why the coins of a payment were not accepted. Nothing was changed.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum AcceptError {
    #[error("there is no payment {0}")]
    NoSuchPayment(Id),
    /// The domain rules refuse the acceptance.
    #[error(transparent)]
    Refused(#[from] AcceptRefusal),
    /// Less would be accepted than the deciding person saw.
    #[error(
        "only {would} BTC would be accepted now, less than the {shown} BTC that you saw: look at the payment again"
    )]
    Less {
        /// The sum that would be accepted now, in BTC.
        would: Sum,
        /// The sum that was shown, in BTC.
        shown: Sum,
    },
    /// No chain was ever watched.
    #[error("the chain has not been watched yet: check the Bitcoin backend and try again")]
    ChainNotWatched,
    /// The acceptance could not be stored.
    #[error(transparent)]
    Watch(#[from] WatchError),
}

impl From<StoreError> for AcceptError {
    fn from(error: StoreError) -> Self {
        Self::Watch(error.into())
    }
}

/// Accepts the coins and writes the audit row. Returns warnings for staff.
/// `context.look.staff_accepts` must be true. `agreed_sats` is the sum that staff saw: a customer
/// may have replaced the transaction since.
pub fn accept(
    outbox: &Outbox<'_>,
    context: &Context,
    id: &Id,
    agreed_sats: Option<u64>,
    actor: &str,
) -> Result<Vec<StaffWarning>, AcceptError> {
    let tx = outbox.tx;
    let row = tx.payment(id)?.ok_or(AcceptError::NoSuchPayment(*id))?;
    let receipts = tx.receipts(row.seq)?;
    let anomalies: Vec<Anomaly> =
        tx.anomalies_of_payment(row.seq)?.into_iter().map(|row| row.anomaly).collect();
    let acceptable_sats = may_accept(&row.payment, &receipts, &anomalies)?;
    if let Some(agreed_sats) = agreed_sats.filter(|agreed_sats| acceptable_sats < *agreed_sats) {
        return Err(AcceptError::Less {
            would: Sum(format_btc(acceptable_sats)),
            shown: Sum(format_btc(agreed_sats)),
        });
    }
    let (advance, warnings) =
        payment::settle(outbox, context, row.seq, &AffectedPayment::by(Cause::Staff))
            .map_err(WatchError::from)?;
    if advance.accepted_sats.is_none() {
        return Err(AcceptRefusal::NoCoins.into());
    }
    tx.audit(outbox.now, actor, "payments accept", &id.to_string())?;
    Ok(warnings)
}
