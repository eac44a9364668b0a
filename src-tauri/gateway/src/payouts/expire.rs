//! Offers that nobody approved in time.

use tillgate_domain::payout::PayoutState;

use crate::notifications::outbox::{Outbox, OutboxError};
use crate::notifications::refunds;

/// Offers that expire in one commit, so that the writer is not held long.
const EXPIRED_AT_ONCE: u32 = 200;

/// Makes offers EXPIRED that are valid no more, 200 at most, and has their anomalies wait for a decision again. Answers how
/// many there were: ask again where it was the most. An expiry is notified of anomalies alone.
///
/// # Errors
/// When it cannot be stored.
pub(crate) fn expire_due(outbox: &Outbox<'_>) -> Result<u32, OutboxError> {
    let mut expired = 0;
    for mut row in outbox.tx.payouts_due_to_expire(outbox.now, EXPIRED_AT_ONCE)? {
        row.state = PayoutState::Expired;
        row.current_at = row.current_at.moved_on(outbox.now);
        outbox.tx.update_payout(&row)?;
        refunds::anomaly_after(outbox, &row)?;
        expired += 1;
    }
    Ok(expired)
}
