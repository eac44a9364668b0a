//! One look's consequences for one payment: the state machine of section 2 and the anomalies of
//! section 3, as one pure function of facts.

use bitcoin::Txid;

use crate::anomaly::{Anomaly, AnomalyChange};
use crate::payment::{Payment, PaymentState};
use crate::receipt::Receipt;
use crate::time::Timestamp;

/// One successful view of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// When it started.
    pub at: Timestamp,
    /// Height of the best block.
    pub tip_height: u32,
    /// Header time of the best block.
    pub tip_time: Timestamp,
    /// Whether the backend shows a mempool; without one a payment closes by block time.
    pub has_mempool: bool,
    /// Staff accepts, with this look, the coins that came.
    pub staff_accepts: bool,
}

/// What is kept of one receipt after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The transaction.
    pub txid: Txid,
    /// How much of it counts while it is not gone.
    pub eligible_sats: u64,
    /// How much of it counts now.
    pub counted_sats: u64,
    /// Whether it is gone.
    pub gone: bool,
    /// In neither mempool nor chain, and not gone nor displaced: to be broadcast again.
    pub missing: bool,
}

/// Something the panel tells at once, without a change of the payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// The mempool holds a conflict with a transaction that a CONFIRMED payment rests on.
    DoubleSpendAttempt {
        /// The transaction under attack.
        txid: Txid,
    },
    /// The ground of an anomaly that people decided on has changed.
    DecidedAnomalyChanged {
        /// Which.
        id: crate::id::Id,
    },
}

/// The consequences of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    /// The state after the look.
    pub state: PaymentState,
    /// The sum of what counts.
    pub paid_sats: u64,
    /// One for each receipt given, in their order.
    pub verdicts: Vec<Verdict>,
    /// Set once the closing look was.
    pub closed_at: Option<Timestamp>,
    /// Set once it was CONFIRMED.
    pub confirmed_at: Option<Timestamp>,
    /// Set once staff accepted.
    pub accepted_sats: Option<u64>,
    /// Whether the payment's change is notified: its state, `paid_sats` or the set of what counts changed.
    pub notify: bool,
    /// What becomes of its anomalies, in the order to write them.
    pub anomalies: Vec<AnomalyChange>,
    /// What to tell the panel.
    pub warnings: Vec<Warning>,
    /// The next moment at which time alone could change something.
    pub next_due_at: Option<Timestamp>,
    /// The next tip height at which confirmations alone could change something.
    pub next_due_height: Option<u32>,
}

/// Computes the consequences of `look` for `payment`, whose address `receipts` paid.
#[must_use]
pub fn advance(payment: &Payment, receipts: &[Receipt], anomalies: &[Anomaly], look: &Look) -> Advance {
    let _ = (payment, receipts, anomalies, look);
    unimplemented!()
}

/// Why staff cannot accept the coins of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AcceptRefusal {
    /// Its state needs no acceptance.
    #[error("only an UNDERPAID, EXPIRED or INVALID payment can be accepted")]
    WrongState,
    /// A refund of its coins is under way.
    #[error("a refund of this payment's coins is under way")]
    Refunding,
    /// Nothing is there to accept.
    #[error("no coins came that could be accepted")]
    NoCoins,
}

/// Whether staff may accept the coins that came (then call [`advance`] with `staff_accepts`).
///
/// # Errors
/// The reason why not.
pub fn may_accept(payment: &Payment, receipts: &[Receipt], anomalies: &[Anomaly]) -> Result<(), AcceptRefusal> {
    let _ = (payment, receipts, anomalies);
    unimplemented!()
}
