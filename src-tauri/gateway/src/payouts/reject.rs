//! Staff rejects a shop's offer, or withdraws an offer of its own. The offer becomes EXPIRED with a
//! reason.

use std::sync::Arc;

use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_store::StoreError;
use tillgate_told::Told as _;

use super::approve::judge_state;
use super::expire::end_offer;
use crate::gateway::{FailureReason, Gateway};
use crate::notifications::outbox::{self, OutboxError};
use crate::staff_reason::{REASON_MAX, staff_reason};
use crate::wallet::NotReady;

/// Reason why an offer was not rejected. Nothing was changed.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum RejectError {
    #[error("there is no payout {0}")]
    NoSuchPayout(Id),
    #[error("this payout is {0}: only an offer that waits for approval can be rejected")]
    NotPending(PayoutState),
    /// Another copy of the wallet may have sent this payout.
    #[error(transparent)]
    WalletNotReady(NotReady),
    #[error("a reason has at most {REASON_MAX} characters, without line breaks")]
    Reason,
    #[error(transparent)]
    Outbox(#[from] OutboxError),
}

impl From<StoreError> for RejectError {
    fn from(error: StoreError) -> Self {
        Self::Outbox(error.into())
    }
}

/// Rejects an offer on behalf of `actor`, whom the audit names. The anomaly of a refund is OPEN
/// again.
///
/// # Errors
/// [`RejectError`].
pub async fn reject(
    gateway: &Arc<Gateway>,
    id: Id,
    reason: &str,
    actor: &str,
) -> Result<(), RejectError> {
    let reason = staff_reason(reason).ok_or(RejectError::Reason)?;
    let _no_jump = gateway.time.jumps.read().await;
    gateway.follow_clock().await?;
    let actor = actor.to_owned();
    outbox::commit(gateway, None, move |outbox| {
        let (tx, now) = (outbox.tx, outbox.now);
        let mut row = tx.payout(&id)?.ok_or(RejectError::NoSuchPayout(id))?;
        judge_state(&row, now).map_err(|_| match row.state {
            PayoutState::New => RejectError::NotPending(PayoutState::Expired),
            state => RejectError::NotPending(state),
        })?;
        if tx.dangerous_restore()?.is_some() {
            return Err(RejectError::WalletNotReady(NotReady::NotLooked));
        }
        row.expires_at = now.cut_to_second().clamp(row.created_at, row.expires_at);
        row.given_up_by = Some(actor.clone());
        row.failure_reason = Some(ended(row.key_id.is_some(), &reason).telling());
        end_offer(outbox, row)?;
        tx.audit(now, &actor, "payouts reject", &id.to_string())?;
        Ok(())
    })
    .await
}

/// The record's `failureReason`. Staff rejects the request of a shop, and withdraws its own.
fn ended(is_of_shop: bool, reason: &str) -> FailureReason {
    let reason = reason.trim_end_matches('.').to_owned();
    match (is_of_shop, reason.is_empty()) {
        (true, true) => FailureReason::Rejected,
        (true, false) => FailureReason::RejectedFor { reason },
        (false, true) => FailureReason::Withdrawn,
        (false, false) => FailureReason::WithdrawnFor { reason },
    }
}
