//! The consequences of one look for one payment: the states of section 2 and the anomalies of
//! section 3 of the interface. It is a pure function, reads no clock and remembers nothing. All
//! that a later look needs is in the returned [`Advance`].

mod counting;
mod due;
mod look;
mod misfits;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod warning;

use bitcoin::Txid;

use crate::anomaly::{Anomaly, AnomalyChange, Resolution};
use crate::checked_clock::PUT_OFF_MAX_MS;
use crate::payment::{Payment, PaymentState, TRANSITIONS};
use crate::receipt::Receipt;
use crate::time::Timestamp;

use counting::Evaluated;
pub use due::waits_for_block;
pub use look::{LookFacts, ZeroConf};
pub use warning::Warning;

/// Without a mempool, a block closes a payment only if its time is two hours after the deadline,
/// because a block's time may be two hours ahead of the network's.
const BLOCK_TIME_LEEWAY_MS: i64 = 2 * 3_600_000;

/// The decision of a look on one receipt. The next look takes it as input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The transaction.
    pub txid: Txid,
    /// The part that counts while the transaction is not gone.
    pub eligible_sats: u64,
    /// The part that counts now.
    pub counted_sats: u64,
    /// Whether the transaction is gone.
    pub gone: bool,
    /// Whether the transaction is missing and must be broadcast again: it is in neither mempool nor
    /// chain, and neither gone nor displaced.
    pub missing: bool,
}

/// The consequences of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    /// The state after the look.
    pub state: PaymentState,
    /// The sum of the coins that count.
    pub paid_sats: u64,
    /// One verdict for each receipt, in the same order.
    pub verdicts: Vec<Verdict>,
    /// Set once the closing look has happened.
    pub closed_at: Option<Timestamp>,
    /// Set once the payment was CONFIRMED.
    pub confirmed_at: Option<Timestamp>,
    /// Set once staff accepted.
    pub accepted_sats: Option<u64>,
    /// Whether the payment's change is notified: its state, `paid_sats`, `conflict_seen` or the set
    /// of coins that count has changed.
    pub notify: bool,
    /// Whether a conflict in the mempool takes back coins on which the CONFIRMED payment rests.
    pub conflict_seen: bool,
    /// The changes to its anomalies, in the order to write them.
    pub anomalies: Vec<AnomalyChange>,
    /// Warnings for staff.
    pub warnings: Vec<Warning>,
    /// The next time at which the payment may change without a change of its transactions. After a
    /// reversal the payment is due at once.
    pub next_due_at: Option<Timestamp>,
    /// The next tip height at which the payment may change by confirmations alone.
    pub next_due_height: Option<u32>,
}

/// The consequences of `look` for `payment`, whose address `receipts` paid.
///
/// `receipts` hold the facts of this look and the verdicts of the one before; `anomalies` are all
/// anomalies of the payment.
#[must_use]
pub fn advance(
    payment: &Payment,
    receipts: &[Receipt],
    anomalies: &[Anomaly],
    look: &LookFacts,
) -> Advance {
    let closed_at = payment.closed_at.or_else(|| is_closing(payment, look).then_some(look.at));
    let mut evaluated = counting::evaluate(payment, receipts, look);
    let accepts = look.staff_accepts && is_acceptable(payment.state) && !is_refunding(anomalies);
    let accepted_now = if accepts { counting::accept(&mut evaluated, anomalies) } else { None };
    let after = Payment {
        closed_at,
        accepted_sats: accepted_now.or(payment.accepted_sats),
        paid_sats: counting::paid_sats(&evaluated),
        ..payment.clone()
    };

    let state = state::next(&after, &evaluated, anomalies, accepted_now.is_some());
    debug_assert!(
        state == payment.state || TRANSITIONS.contains(&(payment.state, state)),
        "{} to {state} is not in the transition table",
        payment.state,
    );
    let after = Payment { state, ..after };
    let (changes, changed_decisions) =
        misfits::changes(payment, &after, &evaluated, anomalies, accepted_now.is_some());
    let attacked = if look.has_mempool && after.state == PaymentState::Confirmed {
        counting::attacked(&evaluated, receipts)
    } else {
        Vec::new()
    };
    let conflict_seen = !attacked.is_empty();
    let mut warnings: Vec<Warning> =
        attacked.into_iter().map(|txid| Warning::DoubleSpendAttempt { txid }).collect();
    warnings.extend(changed_decisions);
    let same_set =
        evaluated.iter().all(|one| (one.receipt.counted_sats > 0) == (one.counted_sats > 0));

    Advance {
        state: after.state,
        paid_sats: after.paid_sats,
        verdicts: evaluated.iter().map(verdict).collect(),
        closed_at,
        confirmed_at: payment
            .confirmed_at
            .or_else(|| (after.state == PaymentState::Confirmed).then_some(look.at)),
        accepted_sats: after.accepted_sats,
        notify: after.state != payment.state
            || after.paid_sats != payment.paid_sats
            || conflict_seen != payment.conflict_seen
            || !same_set,
        conflict_seen,
        anomalies: changes,
        warnings,
        next_due_at: due::next_due_at(payment, &after, &evaluated, look),
        next_due_height: due::next_due_height(&after, &evaluated, look),
    }
}

/// Reason why staff cannot accept the coins of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum AcceptRefusal {
    /// Its state needs no acceptance.
    #[error("only an UNDERPAID, EXPIRED or INVALID payment can be accepted")]
    WrongState,
    /// A refund of its coins is under way.
    #[error("a refund of this payment's coins is under way")]
    Refunding,
    /// There are no coins to accept.
    #[error("this payment has no coins to accept")]
    NoCoins,
}

/// The sum that would count if staff accepted the received coins, by the facts of the last look.
/// [`advance`] with `staff_accepts` makes the acceptance.
///
/// # Errors
/// The reason why staff cannot accept them.
pub fn may_accept(
    payment: &Payment,
    receipts: &[Receipt],
    anomalies: &[Anomaly],
) -> Result<u64, AcceptRefusal> {
    if !is_acceptable(payment.state) {
        return Err(AcceptRefusal::WrongState);
    }
    if is_refunding(anomalies) {
        return Err(AcceptRefusal::Refunding);
    }
    match counting::acceptable_sats(receipts, anomalies) {
        0 => Err(AcceptRefusal::NoCoins),
        sats => Ok(sats),
    }
}

fn is_acceptable(state: PaymentState) -> bool {
    match state {
        PaymentState::Underpaid | PaymentState::Expired | PaymentState::Invalid => true,
        PaymentState::New | PaymentState::Unconfirmed | PaymentState::Confirmed => false,
    }
}

fn is_refunding(anomalies: &[Anomaly]) -> bool {
    anomalies.iter().any(|anomaly| anomaly.resolution == Resolution::Refunding)
}

/// Whether this look closes the payment. The look's time must be after the deadline; without a
/// mempool, the time of its best block, or the look's time a day later, because no block may come.
/// A look without `time_decides` closes no payment.
fn is_closing(payment: &Payment, look: &LookFacts) -> bool {
    let is_past = if look.has_mempool {
        look.at > payment.expires_at
    } else {
        look.tip_time > payment.expires_at.plus_ms(BLOCK_TIME_LEEWAY_MS)
            || look.at > payment.expires_at.plus_ms(PUT_OFF_MAX_MS)
    };
    look.time_decides && is_past
}

fn verdict(evaluated: &Evaluated<'_>) -> Verdict {
    Verdict {
        txid: evaluated.receipt.txid,
        eligible_sats: evaluated.eligible_sats,
        counted_sats: evaluated.counted_sats,
        gone: evaluated.gone,
        missing: evaluated.receipt.position.is_absent() && !evaluated.gone && !evaluated.displaced,
    }
}
