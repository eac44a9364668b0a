//! The transition table of section 2, row by row. It judges no receipt and touches no anomaly.

use super::counting::{self, Judged};
use crate::anomaly::Anomaly;
use crate::payment::{Payment, PaymentState};
use crate::policy::Overpayment;

/// What the table says.
pub(super) struct Step {
    /// The state after the look.
    pub state: PaymentState,
    /// The payment is INVALID because one transaction paid too much, and that one is confirmed as wanted.
    pub is_overpaid_invalid: bool,
}

/// The state that follows. `payment` has its state from before the look, and all else from after it.
pub(super) fn next(payment: &Payment, judged: &[Judged<'_>], anomalies: &[Anomaly], accepted_now: bool) -> Step {
    let wanted = payment.policy.confirmations;
    let is_overpaid = is_invalidated_by(payment, judged);
    let confirmed = |confirmations| is_enough(payment, confirmed_sats(judged, confirmations));
    let would_confirm = match payment.state {
        PaymentState::Expired | PaymentState::Invalid if !accepted_now => confirmed(wanted.max(1)),
        PaymentState::Confirmed => true,
        PaymentState::New | PaymentState::Underpaid | PaymentState::Unconfirmed => confirmed(wanted),
        PaymentState::Expired | PaymentState::Invalid => confirmed(wanted),
    };
    let confirm = if is_overpaid { PaymentState::Invalid } else { PaymentState::Confirmed };
    let state = match payment.state {
        PaymentState::Confirmed if is_enough(payment, payment.paid_sats) => PaymentState::Confirmed,
        PaymentState::Confirmed => PaymentState::Invalid,
        PaymentState::Expired | PaymentState::Invalid if !accepted_now => {
            let is_refunded = anomalies.iter().any(|anomaly| anomaly.resolution.is_refund());
            if would_confirm && !is_refunded { confirm } else { payment.state }
        }
        PaymentState::New
        | PaymentState::Underpaid
        | PaymentState::Unconfirmed
        | PaymentState::Expired
        | PaymentState::Invalid => {
            if would_confirm {
                confirm
            } else if is_enough(payment, payment.paid_sats) {
                PaymentState::Unconfirmed
            } else {
                not_enough(payment)
            }
        }
    };
    let is_overpaid_invalid = state == PaymentState::Invalid && is_overpaid && would_confirm;
    Step { state, is_overpaid_invalid }
}

/// Where an open payment goes, or goes back to, that has not enough.
fn not_enough(payment: &Payment) -> PaymentState {
    match (payment.closed_at, payment.paid_sats) {
        (None, 0) => PaymentState::New,
        (None, _) => PaymentState::Underpaid,
        (Some(_), 0) if payment.state != PaymentState::Unconfirmed => PaymentState::Expired,
        (Some(_), _) => PaymentState::Invalid,
    }
}

/// Something counts, and it reaches the amount less the tolerance (or what staff accepted).
pub(super) fn is_enough(payment: &Payment, sats: u64) -> bool {
    sats > 0 && sats >= payment.enough_sats()
}

/// Under `invalidate`: one transaction alone counts for more than the amount, and staff has not accepted.
fn is_invalidated_by(payment: &Payment, judged: &[Judged<'_>]) -> bool {
    payment.policy.overpayment == Overpayment::Invalidate
        && payment.accepted_sats.is_none()
        && judged.iter().any(|one| one.counted_sats > payment.amount_sats)
}

/// The sum of what counts and has at least so many confirmations; with 0, of what has one or may be
/// accepted without.
fn confirmed_sats(judged: &[Judged<'_>], confirmations: u32) -> u64 {
    let is_confirmed = |one: &&Judged<'_>| {
        one.confirmations >= confirmations.max(1) || (confirmations == 0 && one.acceptable_unconfirmed)
    };
    counting::sum(judged.iter().filter(is_confirmed).map(|one| one.counted_sats))
}
