//! The transition table of payments ([`crate::payment::TRANSITIONS`]), row by row. It runs after
//! the counting and before the anomalies.

use super::counting::{self, Evaluated};
use crate::anomaly::Anomaly;
use crate::payment::{Payment, PaymentState};
use crate::policy::OverpaymentRule;

/// The next state. `payment` has the state from before the look, and all other fields from after
/// it.
pub(super) fn next(
    payment: &Payment,
    evaluated: &[Evaluated<'_>],
    anomalies: &[Anomaly],
    accepted_now: bool,
) -> PaymentState {
    let wanted = payment.policy.confirmations;
    let is_confirmed = |confirmations| is_enough(payment, confirmed_sats(evaluated, confirmations));
    let largest_sats = evaluated.iter().map(|one| one.counted_sats).max().unwrap_or(0);
    let confirm = if is_invalidated_by(payment, largest_sats) {
        PaymentState::Invalid
    } else {
        PaymentState::Confirmed
    };
    match payment.state {
        PaymentState::Confirmed if is_enough(payment, payment.paid_sats) => PaymentState::Confirmed,
        PaymentState::Confirmed => PaymentState::Invalid,
        PaymentState::Expired | PaymentState::Invalid if !accepted_now => {
            let is_refunded = anomalies.iter().any(|anomaly| anomaly.resolution.is_refund());
            if is_confirmed(wanted.max(1)) && !is_refunded { confirm } else { payment.state }
        }
        PaymentState::New
        | PaymentState::Underpaid
        | PaymentState::Unconfirmed
        | PaymentState::Expired
        | PaymentState::Invalid => {
            if is_confirmed(wanted) {
                confirm
            } else if is_enough(payment, payment.paid_sats) {
                PaymentState::Unconfirmed
            } else {
                not_enough(payment)
            }
        }
    }
}

/// The state of a payment without enough coins.
fn not_enough(payment: &Payment) -> PaymentState {
    match (payment.closed_at, payment.paid_sats) {
        (None, 0) => PaymentState::New,
        (None, _) => PaymentState::Underpaid,
        (Some(_), 0) if payment.state != PaymentState::Unconfirmed => PaymentState::Expired,
        (Some(_), _) => PaymentState::Invalid,
    }
}

/// Whether some coins count, and reach the amount less the tolerance (or the sum that staff
/// accepted).
pub(super) fn is_enough(payment: &Payment, sats: u64) -> bool {
    sats > 0 && sats >= payment.enough_sats()
}

/// Whether the rule `invalidate` applies: one transaction alone counts for too much, and staff have
/// not accepted. `largest_sats` is the counted sum of the largest transaction.
pub(super) fn is_invalidated_by(payment: &Payment, largest_sats: u64) -> bool {
    payment.policy.overpayment == OverpaymentRule::Invalidate
        && payment.accepted_sats.is_none()
        && largest_sats >= payment.too_much_sats()
}

/// The counted sum with at least so many confirmations. With 0: the sum that is confirmed or may be
/// accepted unconfirmed.
fn confirmed_sats(evaluated: &[Evaluated<'_>], confirmations: u32) -> u64 {
    let is_confirmed = |one: &&Evaluated<'_>| {
        one.confirmations >= confirmations.max(1)
            || (confirmations == 0 && one.acceptable_unconfirmed)
    };
    counting::sum(evaluated.iter().filter(is_confirmed).map(|one| one.counted_sats))
}

/// Whether the chain took a confirmed payment back.
pub(super) fn is_fall(before: &Payment, after: &Payment) -> bool {
    before.state == PaymentState::Confirmed && after.state == PaymentState::Invalid
}
