//! When a payment must be looked at again although none of its transactions changed. A closed
//! payment without coins is never due, so that it costs no work.

use super::counting::{Evaluated, GONE_AFTER_MS, quiet_end};
use super::look::{LookFacts, ZeroConf};
use super::state::is_fall;
use crate::checked_clock::PUT_OFF_MAX_MS;
use crate::payment::{Payment, PaymentState};
use crate::receipt::{Position, Receipt};
use crate::time::Timestamp;

/// Interval at which a transaction with too low a fee is compared with the estimate again.
/// Thousands of payments may wait for an estimate, so it is not each look.
const ESTIMATED_AGAIN_MS: i64 = 60_000;

/// Time after the quiet time within which a look accepts coins with a sufficient fee. A slow server
/// answers within it too.
const ACCEPTED_WITHIN_MS: i64 = 15_000;

/// The next time at which the payment may change without a change of its transactions. After a
/// reversal the payment is due at once, because the mempool had no effect while it was CONFIRMED.
pub(super) fn next_due_at(
    before: &Payment,
    after: &Payment,
    evaluated: &[Evaluated<'_>],
    look: &LookFacts,
) -> Option<Timestamp> {
    if is_fall(before, after) {
        return Some(look.at);
    }
    // Without a mempool, blocks close a payment before this time: see [`next_due_height`].
    let put_off_ms = if look.has_mempool { 0 } else { PUT_OFF_MAX_MS };
    let deadline = after.closed_at.is_none().then(|| after.first_due_at().plus_ms(put_off_ms));
    let moments = evaluated.iter().filter_map(|one| match one.receipt.position {
        Position::Absent { since } if !one.gone => Some(since.plus_ms(GONE_AFTER_MS)),
        Position::Block { .. } | Position::Mempool | Position::Absent { .. } => None,
    });
    // If `time_decides` is false, a payment that is due stays due.
    let moments = moments.chain(deadline).filter(|moment| *moment > look.at || !look.time_decides);
    moments.chain(next_acceptance(after, evaluated, look)).min()
}

/// The next time at which a transaction of the payment may be accepted unconfirmed. This is the end
/// of its quiet time, or a minute later, because the fee estimate changes.
fn next_acceptance(
    after: &Payment,
    evaluated: &[Evaluated<'_>],
    look: &LookFacts,
) -> Option<Timestamp> {
    if after.policy.confirmations > 0 || after.state.is_final() {
        return None;
    }
    let may_be_accepted =
        |one: &&Evaluated<'_>| one.counted_sats > 0 && one.receipt.zero_conf_rate.is_some();
    let next = |one: &Evaluated<'_>| {
        let quiet_end = quiet_end(after, one.receipt);
        match look.zero_conf {
            _ if quiet_end > look.at => quiet_end,
            ZeroConf::NotAsked => look.at,
            ZeroConf::Never | ZeroConf::From(_) => look.at.plus_ms(ESTIMATED_AGAIN_MS),
        }
    };
    evaluated.iter().filter(may_be_accepted).map(next).min()
}

/// Whether an UNCONFIRMED payment that needs no confirmation waits for a block all the same,
/// because its coins were not accepted within [`ACCEPTED_WITHIN_MS`] after the quiet time.
#[must_use]
pub fn waits_for_block(payment: &Payment, receipts: &[Receipt], now: Timestamp) -> bool {
    let is_left_over = |receipt: &Receipt| {
        let is_late = now > quiet_end(payment, receipt).plus_ms(ACCEPTED_WITHIN_MS);
        receipt.counted_sats > 0
            && !receipt.is_in_block()
            && (receipt.zero_conf_rate.is_none() || is_late)
    };
    payment.state == PaymentState::Unconfirmed
        && payment.policy.confirmations == 0
        && receipts.iter().any(is_left_over)
}

/// The next height of the best block at which the payment may change by confirmations alone.
pub(super) fn next_due_height(
    after: &Payment,
    evaluated: &[Evaluated<'_>],
    look: &LookFacts,
) -> Option<u32> {
    let closes_by_block = after.closed_at.is_none() && !look.has_mempool;
    // If `time_decides` is false, a payment that is due stays due.
    let next_block =
        closes_by_block.then(|| look.tip_height.saturating_add(u32::from(look.time_decides)));
    let confirming =
        (after.state != PaymentState::Confirmed).then(|| after.policy.confirmations.max(1));
    let heights = evaluated.iter().filter_map(|one| match one.receipt.position {
        Position::Block { height, .. } => Some(height),
        Position::Mempool | Position::Absent { .. } => None,
    });
    let reached = heights.flat_map(|height| {
        let wanted = confirming.into_iter().chain([after.policy.anomaly_confirmations.max(1)]);
        wanted.map(move |confirmations| height.saturating_add(confirmations - 1))
    });
    reached.filter(|height| *height > look.tip_height).chain(next_block).min()
}
