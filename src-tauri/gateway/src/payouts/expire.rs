//! Expires offers that were not approved in time.

use tillgate_domain::checked_clock::latest_stored;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;
use tillgate_store::payouts::PayoutRow;

use crate::notifications::outbox::{Outbox, OutboxError};
use crate::notifications::refunds;

/// Most offers that expire in one commit, so that the writer is not held long.
const EXPIRED_AT_ONCE: u32 = 200;

/// Sets up to 200 offers whose time has passed at `now` to EXPIRED, and reopens their anomalies.
/// Returns their number; if it is 200, the caller calls again. Only the anomalies are notified.
pub fn expire_due(outbox: &Outbox<'_>, now: Timestamp) -> Result<u32, OutboxError> {
    expire(outbox, outbox.tx.payouts_due_to_expire(now, EXPIRED_AT_ONCE)?)
}

/// Sets offers that were created in the future, by an earlier clock that was ahead, to EXPIRED. A
/// restored copy does so only after its scan.
pub fn expire_of_clock_ahead(outbox: &Outbox<'_>) -> Result<u32, OutboxError> {
    if outbox.tx.dangerous_restore()?.is_some() {
        return Ok(0);
    }
    expire(outbox, outbox.tx.offers_made_after(latest_stored(outbox.now), EXPIRED_AT_ONCE)?)
}

fn expire(outbox: &Outbox<'_>, rows: Vec<PayoutRow>) -> Result<u32, OutboxError> {
    let mut expired = 0;
    for row in rows {
        end_offer(outbox, row)?;
        expired += 1;
    }
    Ok(expired)
}

/// Sets an offer to EXPIRED. The anomaly of a refund is OPEN again.
pub fn end_offer(outbox: &Outbox<'_>, mut row: PayoutRow) -> Result<(), OutboxError> {
    row.state = PayoutState::Expired;
    row.current_at = row.current_at.moved_on(outbox.now);
    outbox.tx.update_payout(&row)?;
    refunds::anomaly_after(outbox, &row)
}
